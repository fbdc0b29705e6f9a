//go:build (!amd64 && !arm64) || purego

package kernel

func supported(i isa) bool { return i == generic }

// noVectors is what the declarations of vector code panic with: no set of this build calls them.
const noVectors = "kernel: this build has no vector code"
