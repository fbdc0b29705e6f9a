package priority

import (
	"runtime"
	"syscall"
)

func lower(n int) {
	runtime.LockOSThread()
	// It refuses where the thread has a lower priority already, which may stay.
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), n)
}
