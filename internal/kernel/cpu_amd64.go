//go:build amd64 && !purego

package kernel

import "golang.org/x/sys/cpu"

func supported(i isa) bool {
	switch i {
	case avx512:
		return cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX2 && cpu.X86.HasFMA
	case avx2:
		return cpu.X86.HasAVX2 && cpu.X86.HasFMA
	}
	return i == generic
}
