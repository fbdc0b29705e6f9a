//go:build !linux

package budget

import "math"

// addresses is the limit of the address space; only Linux enforces one.
func addresses() (uint64, error) { return math.MaxInt64, nil }

// Check is an error if this process may have too little for any command; only Linux has such limits that are known to
// end it with a trace.
func Check() error { return nil }
