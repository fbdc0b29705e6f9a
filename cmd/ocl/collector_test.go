package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestCollectorFollowsWhatIsInUse: with half a gigabyte in use the target is a few per cent, and when it is gone, the first
// one again.
func TestCollectorFollowsWhatIsInUse(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	c := &collector{growth: 100}
	measure := func() int {
		runtime.SetFinalizer(c, nil)
		runtime.GC()
		c.set()
		got := debug.SetGCPercent(100)
		debug.SetGCPercent(got)
		return got
	}
	defer func() { runtime.SetFinalizer(c, nil) }()
	large := make([]byte, 512<<20)
	if got := measure(); got != leastGrowth {
		t.Errorf("%d %% with half a gigabyte in use", got)
	}
	runtime.KeepAlive(large)
	large = nil
	if got := measure(); got != heapGrowth {
		t.Errorf("%d %% with little in use, want %d", got, heapGrowth)
	}
}
