package cli

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// How far the heap may grow before it is collected: by so many bytes, whatever is in use. A training step allocates
// nothing, so collecting often costs nothing there, and the peak stays near what the data and the network need. What
// reports and tables allocate is small and short-lived, and a round for each of their megabytes would take half of
// their time.
const (
	garbage     = 8 << 20 // bytes
	leastGrowth = 2       // per cent, where much is in use
	mostGrowth  = 200     // per cent, with which the runtime's least target of 4 MiB becomes 8

	// The collector keeps a tenth of the heap's size in freed memory for later. Where much is in use, it keeps no more
	// than this, with its own tables and the stacks.
	much = 256 << 20
	kept = 32 << 20
)

// collectEarly sets the collector's target, and again after each of its rounds.
func collectEarly() {
	debug.SetGCPercent(mostGrowth)
	(&collector{growth: mostGrowth}).set()
}

// collector is dead as soon as it is made, so its finalizer runs after the next round.
type collector struct {
	growth int
	live   [1]metrics.Sample
}

func (c *collector) set() {
	c.live[0].Name = "/gc/heap/live:bytes"
	metrics.Read(c.live[:])
	live := c.live[0].Value.Uint64()
	if growth := growthFor(live); growth != c.growth {
		c.growth = growth
		debug.SetGCPercent(growth)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limitFor(live))
	}
	runtime.SetFinalizer(c, (*collector).set)
}

// growthFor is the target for so many bytes in use.
func growthFor(live uint64) int {
	return int(max(leastGrowth, min(mostGrowth, 100*garbage/max(1, live))))
}

// limitFor is the memory that the collector may hold with so many bytes in use, beyond which it gives freed memory back
// at once.
func limitFor(live uint64) int64 {
	if live < much {
		return math.MaxInt64
	}
	return int64(live) + kept
}
