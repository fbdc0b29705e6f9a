package budget

import (
	"math"
	"syscall"
)

// addresses is the limit of the address space (ulimit -v) of this process, in bytes.
func addresses() (uint64, error) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &r); err != nil {
		return math.MaxInt64, err
	}
	return r.Cur, nil
}
