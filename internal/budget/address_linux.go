package budget

import (
	"fmt"
	"math"
	"syscall"

	"ocl/internal/count"
	"ocl/internal/limit"
)

// addresses is the limit of the address space (ulimit -v) of this process, in bytes.
func addresses() (uint64, error) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &r); err != nil {
		return math.MaxInt64, err
	}
	return r.Cur, nil
}

// Check is an error if the shell lets this process have too few addresses or open files for any command. The Go runtime
// would end it with a trace.
func Check() error {
	if n, err := addresses(); err == nil && n < limit.Addresses {
		return fmt.Errorf("the process may use %s of addresses (ulimit -v), but at least %s are needed. Use `ulimit -v unlimited`",
			count.Bytes(int64(n)), count.Bytes(limit.Addresses))
	}
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err == nil && r.Cur < limit.OpenFiles {
		return fmt.Errorf("the process may open %d files (ulimit -n), but at least %d are needed. Use `ulimit -n 1024`",
			r.Cur, limit.OpenFiles)
	}
	return nil
}
