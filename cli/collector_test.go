package cli

import (
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestCollectorFollowsWhatIsInUse: with half a gigabyte in use the target is a few per cent, and when it is gone, the
// first one again. The test has a process for itself, because other tests of this package leave large buffers in use.
func TestCollectorFollowsWhatIsInUse(t *testing.T) {
	const alone = "OCL_TEST_ALONE"
	if os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCollectorFollowsWhatIsInUse$", "-test.count=1")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
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
	if got := measure(); got != mostGrowth {
		t.Errorf("%d %% with little in use, want %d", got, mostGrowth)
	}
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("with little in use the collector may hold %d bytes, want no limit", got)
	}
}
