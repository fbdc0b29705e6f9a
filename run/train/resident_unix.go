//go:build unix

package train

import (
	"runtime"
	"syscall"
)

// systemPeak is the most memory the process has had resident, in bytes, as getrusage says. 0 is unknown.
func systemPeak() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss) //nolint:unconvert // bytes there, KiB elsewhere; an int32 on some machines
	}
	return int64(u.Maxrss) << 10 //nolint:unconvert // an int32 on some machines
}
