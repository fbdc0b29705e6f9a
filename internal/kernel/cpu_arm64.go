//go:build arm64 && !purego

package kernel

// supported needs no look at the machine: all of arm64 have NEON and its fused multiply-add.
func supported(i isa) bool { return i == neon || i == generic }

// noVectors is what the declarations of kernels of other sets panic with.
const noVectors = "kernel: this kernel belongs to another set"
