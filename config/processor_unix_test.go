//go:build unix

package config

import (
	"syscall"
	"testing"
	"time"
)

// processorTime is the time that this process has used of processors, which other programs do not change.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
