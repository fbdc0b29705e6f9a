package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// How far the heap may grow before it is collected. A training step allocates nothing, so collecting often costs nothing
// there, and the peak stays near what the data and the network need. A run has hundreds of megabytes in a few large
// buffers, which the collector does not look into; then even less may wait.
const (
	heapGrowth  = 25      // per cent
	leastGrowth = 2       // per cent
	garbage     = 8 << 20 // bytes that may wait where that is less than heapGrowth
)

// collectEarly sets the collector's target, and again after each of its rounds.
func collectEarly() {
	debug.SetGCPercent(heapGrowth)
	(&collector{growth: heapGrowth}).set()
}

// collector is dead as soon as it is made, so its finalizer runs after the next round.
type collector struct {
	growth int
	live   [1]metrics.Sample
}

func (c *collector) set() {
	c.live[0].Name = "/gc/heap/live:bytes"
	metrics.Read(c.live[:])
	if growth := growthFor(c.live[0].Value.Uint64()); growth != c.growth {
		c.growth = growth
		debug.SetGCPercent(growth)
	}
	runtime.SetFinalizer(c, (*collector).set)
}

// growthFor is the target for so many bytes in use.
func growthFor(live uint64) int {
	return int(max(leastGrowth, min(heapGrowth, 100*garbage/max(1, live))))
}
