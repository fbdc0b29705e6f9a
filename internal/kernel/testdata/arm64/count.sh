#!/usr/bin/env bash
# Counts the instructions of a training step, and of them the fused multiply-adds, with kernel sets of arm64 and amd64, in qemu-user: a run of two
# steps less a run of one. usage: count.sh [PIXELS=32 [SET...=avx2 neon generic]]
# Needs gcc, and Debian's qemu-user, the dynamic one, as the static one takes no plugins; where it is not installed, its packages are unpacked.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../../.." && pwd)
size=${1:-32}
shift || true
dir=${OCL_EMULATOR:-${TMPDIR:-/tmp}/ocl-arm64} # the packages are kept here
mkdir -p "$dir"
cd "$dir"
if ! command -v qemu-aarch64 >/dev/null; then
	[ -d unpacked ] || { apt-get download -qq qemu-user libcapstone4 liburing2 && for package in *.deb; do dpkg -x "$package" unpacked; done; }
	export PATH="$dir/unpacked/usr/bin:$PATH" LD_LIBRARY_PATH="$dir/unpacked/usr/lib/x86_64-linux-gnu"
fi
gcc -O2 -shared -fPIC -o count.so "$here/count.c"
for arch in amd64 arm64; do
	(cd "$root" && GOARCH=$arch CGO_ENABLED=0 go build -o "$dir/steps-$arch" "$here/steps.go")
done

# counted prints what so many steps execute: instructions, and fused ones.
counted() {
	local set=$1 emulator="qemu-aarch64" program=steps-arm64
	[ "$set" != avx2 ] || { emulator="qemu-x86_64 -cpu max" program=steps-amd64; }
	# shellcheck disable=SC2086 # an emulator with its flags
	OCL_KERNEL=$set OCL_CONV=table GOMAXPROCS=1 GOGC=off $emulator -plugin ./count.so "./$program" "$2" "$size" 2>&1 |
		sed -n 's/^instructions \([0-9]*\) fused \([0-9]*\)$/\1 \2/p'
}

for set in ${*:-avx2 neon generic}; do
	one=$(counted "$set" 1)
	two=$(counted "$set" 2)
	awk -v set="$set" '{ n = $3 - $1; f = $4 - $2; printf "%-8s %8.1f million instructions a step, of which %.1f (%.1f %%) fused multiply-adds\n", set, n / 1e6, f / 1e6, 100 * f / n }' <<<"$one $two"
done
