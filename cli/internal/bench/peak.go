package bench

import (
	"sync"
	"time"

	"ocl/internal/kernel"
	"ocl/nn"
)

// peakRounds are the rounds of the peak loop between two looks at the clock: some tens of microseconds.
const peakRounds = 20_000

// peakFor is how long one measurement of the peak lasts: long enough to reach the clock that steps run at.
const peakFor = 30 * time.Millisecond

// fmaPeak measures the fused multiply-adds that so many threads do together, in GFLOP/s: the sum of their own rates
// while all of them run. It is 0 where the kernels have no peak loop.
func fmaPeak(threads int) float64 {
	set, err := kernel.Find(nn.DefaultEngine().Kernel)
	if err != nil {
		panic(err) // it was found before
	}
	rates := make([]float64, threads)
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			begin, flops := time.Now(), int64(0)
			for {
				flops += set.FMAPeakLoop(peakRounds)
				if d := time.Since(begin); d >= peakFor {
					rates[i] = float64(flops) / d.Seconds() / 1e9
					return
				}
			}
		})
	}
	wg.Wait()
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum
}

// shareOf is part/peak, or 0 where the peak is not known.
func shareOf(part, peak float64) float64 {
	if peak == 0 {
		return 0
	}
	return part / peak
}
