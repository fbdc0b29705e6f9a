#!/usr/bin/env bash
# Measures the figures of docs/benchmarks.md, one command after the other, and keeps what each prints in OUT/NAME.txt.
#
# usage: cli/internal/bench/all.sh DATA_DIR OUT [NAME...]
#
# DATA_DIR has the data sets, as shared/data/unpack writes them. A NAME is one of those below; without one all are
# measured. All but the last three take an hour of two cores. What OUT has already is left as it is, so the same command
# continues after a stop. The source must be committed, since OUT/machine.txt names its revision. Run nothing else on
# the machine. Needs Chromium, curl and `pip install torch torchvision timm efficientnet-lite-pytorch onnx onnxruntime
# pillow fastapi uvicorn`; PYTHON names another python3.
set -euo pipefail

if [ $# -lt 2 ]; then
	echo "usage: cli/internal/bench/all.sh DATA_DIR OUT [NAME...]" >&2
	exit 2
fi
self=$(realpath "$0")
data=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
names=" ${*:3} "
python=${PYTHON:-python3}
cd "$(dirname "$0")/../../.."
if [ -n "$(git status --porcelain)" ]; then
	echo "all.sh: the source has changes that are not committed, so nobody could repeat a figure. Commit them first" >&2
	exit 1
fi
revision=$(git rev-parse --short=8 HEAD)
if [ -e "$out/machine.txt" ] && ! grep -q "^revision $revision$" "$out/machine.txt"; then
	echo "all.sh: $out has figures of another revision. Name an empty folder" >&2
	exit 1
fi
go build -buildvcs=true -o "$out/ocl" ./cmd/ocl
{
	echo "revision $revision"
	lscpu | grep -E '^(Model name|CPU\(s\)|L2|L3)' || true
	"$python" -c 'import torch; print("PyTorch", torch.__version__)' || true
	"$out/ocl" --version
} >"$out/machine.txt"
export PATH="$out:$PATH" OCL_DATA=$data
for name in "${@:3}"; do
	if ! grep -qE "^(measure|serve) $name " "$self"; then
		echo "all.sh: it measures no $name. Give names that follow \"measure\" or \"serve\" in $self" >&2
		exit 2
	fi
done
failed=0
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

# measure NAME COMMAND...: a command whose output is kept when it ends well.
measure() {
	local name=$1 to="$out/$1.txt"
	shift
	if [ -e "$to" ] || { [ "$names" != "  " ] && [[ "$names" != *" $name "* ]]; }; then
		return 0
	fi
	echo "$(date +%T) $name: $*"
	if { date -u +%FT%TZ; echo "\$ $*"; "$@"; } >"$to.part" 2>&1; then
		mv "$to.part" "$to"
	else
		echo "all.sh: $name failed; $to.part has what it printed" >&2
		failed=1
	fi
}

# gotest PACKAGE FLAG...: a test or benchmarks of a package, the long ones too. That none ran, or that one was skipped, is an error.
gotest() {
	local printed status=0
	printed=$(OCL_LONG=1 go test "$@" -count 1 -v -timeout 2h 2>&1) || status=1
	echo "$printed"
	[ "$status" = 0 ] && grep -qE 'ns/op|^--- PASS' <<<"$printed" && ! grep -q -e '--- SKIP' <<<"$printed"
}

# gobench PACKAGE PATTERN TIME: benchmarks of a package.
gobench() { gotest "$1" -run '^$' -bench "$2" -benchtime "$3"; }

# serve NAME ROUNDS FLAG...: a load on a daemon, so many times.
serve() {
	measure "$1" bash -ec 'for i in $(seq "$1"); do ocl bench serve --quiet "${@:2}"; done' serve "${@:2}"
}

# scale: a study of many jobs whose workers are killed, on the disk.
scale() {
	rm -rf "$out/scale"
	gotest ./sweep/study -run 'TestScale$' -scale -scaledir "$out/scale"
}

# served: a study of many jobs whose holder and workers are killed, in memory.
served() { TMPDIR=/dev/shm gotest ./sweep/served -run TestKills -scale -placesdir "$out/places"; }

# peer ROUNDS: the same load on FastAPI with PyTorch and on ocl, in turn. The peer ends before ocl's turn, as it still learns.
peer() {
	local failed=0
	for _ in $(seq "$1"); do
		"$python" cli/internal/bench/serve_peer.py --port 8200 --threads 1 &
		until curl -sf --noproxy '*' -o /dev/null http://127.0.0.1:8200/readyz; do
			kill -0 $! || return 1
			sleep 1
		done
		ocl bench serve --quiet --url http://127.0.0.1:8200 || failed=1
		kill $! || failed=1
		wait $! || true
		ocl bench serve --quiet || failed=1
	done
	return "$failed"
}

# trained SIDE DATA: a short run at a size, as ONNX.
trained() {
	[ -e "$out/er$1.onnx" ] && return
	rm -rf "$out/er$1"
	ocl run --data "$2" --data-dir "$data" --tasks 5 data.train_per_class=5 --method er --out "$out/er$1" -q
	ocl export "$out/er$1" --to onnx -o "$out/er$1.onnx"
}

engine=$out/ocl
bench=cli/internal/bench
torch=("$python" "$bench/compare_torch.py" --ocl "$engine" --seconds 4)
measure torch32 "${torch[@]}" --sizes 32 --rounds 5
measure torch84 "${torch[@]}" --sizes 84 --rounds 3
measure torch128 "${torch[@]}" --sizes 128 --rounds 3
measure engine ocl bench engine --seconds 40 --quiet
measure engine-avx2 env OCL_KERNEL=avx2 ocl bench engine --seconds 20 --quiet
measure at-once ocl bench engine --size 32 --at-once 2 --seconds 8 --quiet
measure er32 trained 32 cifar100
measure er84 trained 84 mini-imagenet
measure predict32 "$python" "$bench/compare_predict.py" --ocl "$engine" --sizes 32 --rounds 3 --onnx "$out/er32.onnx"
measure predict84 "$python" "$bench/compare_predict.py" --ocl "$engine" --sizes 84 --rounds 3 --onnx "$out/er84.onnx"
measure backbone "$python" "$bench/compare_backbone.py" --rounds 3 --seconds 1 --networks efficientnet-lite0,torchvision-resnet18,dinov2-vits14
measure methods ocl bench methods --seconds 3 --memory 1000 --quiet
measure tricks ocl bench methods --trick 'lb,ss,kdc,kdc*,ncm,rv' --repeat 9 --quiet
measure tricks-mi ocl bench methods --trick mi --repeat 9 --quiet
measure later ocl bench methods --repeat 5 --memory 1000 --quiet --method er,er-ace,der++,pcr
measure later-scr ocl bench methods --repeat 5 --memory 1000 --quiet --method er,scr replay.batch=100
measure later-tricks ocl bench methods --trick las,lode,ema,rar --repeat 5 --steps 20 --memory 1000 --quiet
measure later-mkd ocl bench methods --trick mkd --workers 1 --steps 30 --repeat 7 --memory 200 --quiet
measure later-slow ocl bench methods --method er,aser,clib --memory 500 --workers 1 --repeat 3 --quiet
measure cndpm "$python" "$bench/compare_cndpm.py" --rounds 3
measure cndpm-memory gotest ./cli/internal/bench -run TestExpertsFootprint
measure batches gobench ./data/stream Batches 1x
measure loader "$python" "$bench/compare_loader.py" --data "$data" --rounds 3 --workers 2
measure cache-open gobench ./data MiniImageNet/open 10x
measure footprint gotest ./cli -run TestFootprint
measure dense gobench ./learn/internal/dense . 0.2s
measure live gobench ./live 'Learn|Predict' 500x
measure live-save gobench ./live Save 20x
mkdir -p "$out/disk" "$out/places"
serve serve 4
serve serve-learn 2 --predictions 0
serve serve-photos 3 --jpeg
serve serve-batches 3 --labels 0 --batch 64 --predictions max
measure predict ocl bench predict --size 32
serve serve-labels 5 --labels 50 --seconds 60 --dir "$out/disk"
measure serve-peer peer 3
measure report-paper gobench ./survey/paper Report 1x
measure report-500 gobench ./view/report FiveHundredRuns 10x
measure killed gotest ./sweep/study -run KilledStudy -kills 8 -killstudy testdata/cifar100.yaml
measure scale scale
measure served served
exit $failed
