#!/usr/bin/env bash
# check.sh PROGRAM [METHOD,...] uses a program of this module as people do, on a few images: it runs methods, kills a run and
# resumes it, sweeps with two workers of which one is killed, tunes, verifies, and reports. It ends with an error if anything fails.
set -euo pipefail
program=$(realpath "$1")
methods=${2:-der}
small=(data.train_per_class=4 data.test_per_class=2 --tasks 5 --memory 50 --network mlp)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# has FILE TEXT... ends the check unless the file has each text.
has() {
	local file=$1 text
	shift
	for text in "$@"; do
		grep -qF -- "$text" "$file" || { echo "$file does not have: $text"; head -c 2000 "$file"; exit 1; }
	done
}

# killed COMMAND... kills the command with SIGKILL as soon as a run below out has evaluated a task, unless it ends before.
killed() {
	local pid
	"$@" &
	pid=$!
	until grep -qs '"event":"evaluation"' out/*/events.jsonl || ! kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
	kill -9 "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}

echo "== help"
"$program" methods >list
for name in ${methods//,/ }; do
	has list "$name"
	"$program" methods "$name" >page
done

echo "== run, kill, resume"
killed "$program" run --method "$methods" "${small[@]}" --out out --quiet --checkpoint-every -1
"$program" run --resume out --quiet
has out/report.html DER
results=(out/*/result.json)
[ "${#results[@]}" = "$(wc -w <<<"${methods//,/ }")" ] || { echo "there are results: ${results[*]}"; exit 1; }
has "${results[0]}" example.com/outside

echo "== verify: the killed run has the bits of one that nobody disturbed"
for result in "${results[@]}"; do
	"$program" verify "$result" --quiet
done

echo "== sweep by two workers, one is killed"
rm -rf out
cat >study.yaml <<END
study: 1
data: {name: glyphs, train_per_class: 4, test_per_class: 2}
stream: {tasks: 5}
network: {name: mlp, hidden: [16]}
methods: [${methods}, er]
memory: [20, 50]
END
killed "$program" sweep study.yaml --out out --concurrency 1 --quiet --no-report
"$program" sweep study.yaml --out out --concurrency 1 --quiet &
"$program" sweep join out --concurrency 1 --quiet
wait $!
"$program" sweep status out | tee status
jobs=$((2 * ${#results[@]} + 2))
has status "$jobs of $jobs jobs done"
has out/report.html DER

echo "== tune"
echo 'optimizer.lr: [0.01, 0.1]' >grid.yaml
"$program" tune --grid grid.yaml --method "${methods%%,*}" "${small[@]}" --out tuned --quiet

echo "== report"
"$program" report out
