package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestCollectorFollowsWhatIsInUse: with half a gigabyte in use the target is a few per cent, and when it is gone, the first
// one again.
func TestCollectorFollowsWhatIsInUse(t *testing.T) {
	before, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer func() { debug.SetGCPercent(before); debug.SetMemoryLimit(limit) }()
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
	if got := debug.SetMemoryLimit(-1); got < 512<<20+kept || got > 600<<20 {
		t.Errorf("with half a gigabyte in use the collector may hold %d bytes", got)
	}
	runtime.KeepAlive(large)
	if got := measure(); got != heapGrowth {
		t.Errorf("%d %% with little in use, want %d", got, heapGrowth)
	}
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("with little in use the collector may hold %d bytes, want no limit", got)
	}
}
