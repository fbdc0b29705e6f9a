#!/bin/sh
# Runs the reproduction of docs/reproduction.md, one run a core, and keeps the results beside this script. What is
# finished is kept and what was stopped goes on, so it may be run again at any time.
#
#	results/reproduce.sh DATA_DIR [WORK_DIR]
#
# DATA_DIR holds cifar-100-binary; WORK_DIR (default runs/reproduction) takes the experiments, some 20 MB each.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
data=${1:?"usage: results/reproduce.sh DATA_DIR [WORK_DIR]"}
work=${2:-runs/reproduction}

settings() { # protocol, method, memory (0: none), seed; the most telling settings first
	for seed in 1 2 3; do
		for protocol in standard survey; do
			echo "$protocol er 5000 $seed"
			echo "$protocol finetune 0 $seed"
		done
		for setting in "standard er 2000" "standard er 10000" "survey er 1000" "survey er 10000"; do
			echo "$setting $seed"
		done
	done
}

one() {
	protocol=$1 method=$2 memory=$3 seed=$4
	name=$protocol-$method-m$memory-s$seed
	flags=""
	[ "$memory" = 0 ] || flags="--memory $memory"
	# shellcheck disable=SC2086 # flags are words
	"$work/ocl" run --data cifar100 --data-dir "$data" --method "$method" $flags --tasks 20 --protocol "$protocol" \
		--seed "$seed" --lr 0.1 --weight-decay 0 --eval final --workers 1 --out "$work/$name" >"$work/$name.log" 2>&1 ||
		[ $? = 3 ] # it diverged, which is a result
	results/methods.py store "$work/$name"/*/result.json "results/cifar100/$name.json.gz"
}

if [ $# -ge 6 ]; then # one setting, called by xargs below
	shift 2
	one "$@"
else
	mkdir -p "$work"
	go build -buildvcs=true -o "$work/ocl" ./cmd/ocl
	settings | xargs -P "$(getconf _NPROCESSORS_ONLN)" -L 1 "$here/reproduce.sh" "$data" "$work"
	go run ./results # the lines of results/runs.csv, and the charts
fi
