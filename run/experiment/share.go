package experiment

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"ocl/internal/cause"
	"ocl/run/train"
)

// Share chooses the goroutines of each run and the number of simultaneous runs, as far as they are not given (0), so
// that the last run ends first. Simultaneous runs on one core each have more throughput than one run on all cores, but
// the longest may leave cores idle at the end. costs are the costs of the runs in the order in which they start; a run
// with cost 0 is done.
func Share(cores int, costs []float64, workers, concurrency int) (w, c int) {
	n := 0 // runs that are not done
	for _, cost := range costs {
		if cost > 0 {
			n++
		}
	}
	n = max(n, 1)
	switch {
	case workers > 0 && concurrency > 0:
	case concurrency > 0:
		workers = max(1, cores/min(concurrency, n))
	case workers > 0:
		concurrency = max(1, min(n, cores/workers))
	default:
		workers, concurrency = cores, 1
		for c := 2; c <= min(n, cores); c++ { // of two equally fast, the one that needs less memory
			if span(costs, c)/speed(cores/c) < span(costs, concurrency)/speed(workers) {
				workers, concurrency = cores/c, c
			}
		}
	}
	return workers, max(1, min(concurrency, n))
}

// span is the time at which the last run ends, in units of cost, if each place takes the next run as soon as it is
// free.
func span(costs []float64, places int) float64 {
	free := make([]float64, places)
	for _, cost := range costs {
		first := slices.Index(free, slices.Min(free))
		free[first] += cost
	}
	return slices.Max(free)
}

// speed is how many times faster a run is with several workers than with one, by Amdahl's law. Two workers were
// measured to be 1.80 and 1.87 times as fast (docs/benchmarks.md); this is 1.8 if a ninth of the work is not shared.
func speed(workers int) float64 {
	const alone = 1.0 / 9
	return 1 / (alone + (1-alone)/float64(workers))
}

// Each calls f with 0 to n-1, so many at a time, until ctx ends. It returns when all calls have.
func Each(ctx context.Context, n, concurrency int, f func(i int)) {
	next := make(chan int)
	var calls sync.WaitGroup
	for range concurrency {
		calls.Go(func() {
			for i := range next {
				if ctx.Err() == nil {
					f(i)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	calls.Wait()
}

// ShareMemory is [Share] for runs, with their plans, that must fit the memory of the process at once. If concurrency is
// 0, as many run at once as fit; otherwise it is an error if not even those fit that need least.
func ShareMemory(cores int, costs []float64, plans []Plan, workers, concurrency int) (w, c int, err error) {
	var open []Plan
	for i, cost := range costs {
		if cost > 0 {
			open = append(open, plans[i])
		}
	}
	if concurrency > 0 {
		if err := train.FitAtOnce(open, concurrency); err != nil {
			return 0, 0, cause.As(fmt.Errorf("experiment: %w", err), ErrUnfit)
		}
	}
	w, c = Share(cores, costs, workers, concurrency)
	if concurrency == 0 {
		if most := train.AtOnce(open, c); most < c {
			w, c = Share(cores, costs, workers, most)
		}
	}
	return w, c, nil
}
