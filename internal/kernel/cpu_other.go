//go:build !amd64 || purego

package kernel

func supported(i isa) bool { return i == generic }
