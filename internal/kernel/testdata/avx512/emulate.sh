#!/usr/bin/env bash
# Runs the tests of a package with the AVX-512 kernels on a machine without AVX-512: in Bochs, an emulator of a whole PC,
# under a Debian kernel (docs/engine.md, Kernel sets). usage: emulate.sh [PACKAGE=./internal/kernel [TEST FLAG...]]
# Needs: apt-get install bochs isolinux syslinux-common genisoimage cpio; the kernel is downloaded as a package, not installed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../../.." && pwd)
pkg=${1:-./internal/kernel}
shift || true
dir=${OCL_EMULATOR:-${TMPDIR:-/tmp}/ocl-avx512} # the kernel package is kept here
mkdir -p "$dir"
cd "$dir"

if [ ! -f vmlinuz ]; then
	name=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
	apt-get download "$name"
	rm -rf unpacked
	dpkg -x "$name"_*.deb unpacked
	cp unpacked/boot/vmlinuz-* vmlinuz
fi

rm -rf rootfs iso
mkdir -p rootfs/{proc,dev,tmp,dir} iso
(cd "$root" && CGO_ENABLED=0 go build -ldflags='-s -w' -o "$dir/rootfs/init" "$here/init.go")
(cd "$root" && CGO_ENABLED=0 go test -c -ldflags='-s -w' -o "$dir/rootfs/test" "$pkg")
[ ! -d "$root/$pkg/testdata" ] || cp -r "$root/$pkg/testdata" rootfs/dir/
echo "${*:--test.v -test.short -test.timeout=0}" >rootfs/args
(cd rootfs && find . | cpio -o -H newc --quiet | gzip -1 >../iso/initrd.gz)
cp vmlinuz /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 iso/
# Bochs 2.7 reports a size of the compacted XSAVE area that Linux refuses, and Linux then hides AVX: 321 and 323 are the
# features XSAVEC and XSAVES, and without them the plain area is used.
cat >iso/isolinux.cfg <<-END
	default l
	prompt 0
	timeout 1
	label l
	 kernel vmlinuz
	 append initrd=initrd.gz console=ttyS0,115200 quiet panic=-1 mitigations=off tsc=reliable lpj=1000000 noapic clearcpuid=321,323
END
genisoimage -quiet -o boot.iso -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table iso
cat >bochsrc <<-END
	cpu: model=corei7_skylake_x, count=1, ips=20000000, reset_on_triple_fault=0, ignore_bad_msrs=1
	memory: guest=1024, host=1024
	romimage: file=/usr/share/bochs/BIOS-bochs-latest
	vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
	ata0-master: type=cdrom, path=boot.iso, status=inserted
	boot: cdrom
	com1: enabled=1, mode=file, dev=serial.txt
	display_library: rfb, options="timeout=0"
	sound: driver=dummy
	log: bochs.log
	panic: action=fatal
	clock: sync=none
END
echo c >continue # Debian's Bochs has its debugger built in, which waits for a command
rm -f serial.txt ./*.lock
status=0
bochs -q -f bochsrc -rc continue >bochs.out 2>&1 </dev/null || status=$? # powering off ends it with status 1
tr -d '\r' <serial.txt | sed '/^\[ *[0-9.]*\]/d'
grep -aq '^EMULATED <nil>' serial.txt || { echo "the tests failed, or Bochs ended with status $status; see $dir/serial.txt and bochs.log"; exit 1; }
