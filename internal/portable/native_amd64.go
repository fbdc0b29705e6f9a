package portable

import "golang.org/x/sys/cpu"

// Package math has these functions in assembly.
var nativeExp = cpu.X86.HasAVX && cpu.X86.HasFMA // without them its Exp rounds more often

const nativeLog = true
