//go:build !linux

package budget

import "math"

// addresses is the limit of the address space; only Linux enforces one.
func addresses() (uint64, error) { return math.MaxInt64, nil }
