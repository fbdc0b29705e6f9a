package experiment

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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
// measured to be 1.80 and 1.87 times as fast; this is 1.8 if a ninth of the work is not shared.
func speed(workers int) float64 {
	const alone = 1.0 / 9
	return 1 / (alone + (1-alone)/float64(workers))
}

// ShareMemory is [Share] for runs, with their plans, that must fit the memory of the process at once. If concurrency is
// 0, as many run at once as fit; otherwise it is an error if not even those fit that need least.
func ShareMemory(costs []float64, plans []Plan, workers, concurrency int) (w, c int, err error) {
	cores := runtime.GOMAXPROCS(0)
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

// Turn is a run among others on this machine.
type Turn struct {
	Plan   Plan
	Cost   float64 // work that is left, 0 of one that is done
	Folder string  // where another process may be at work on it; "" is nowhere
	Events Events  // are told that it waits for that process
	Do     func(workers, concurrency int) error
}

// Waiting is the note about a run that another process is at work on, when nothing else is left to do.
const Waiting = "another ocl is at work on this run. Waiting for it to end"

// RunAll does runs in their order, several at a time if the last one then ends sooner. Those that another process is at
// work on ([ErrBusy]) are tried again when no other is left, until ctx ends; who waits then knows of it already. errs
// are those of the runs.
func RunAll(ctx context.Context, turns []Turn, workers, concurrency int) (errs []error, err error) {
	costs, plans := make([]float64, len(turns)), make([]Plan, len(turns))
	for i, t := range turns {
		costs[i], plans[i] = t.Cost, t.Plan
	}
	if workers, concurrency, err = ShareMemory(costs, plans, workers, concurrency); err != nil {
		return nil, err
	}
	errs = make([]error, len(turns))
	isBusy := func(err error) bool { return errors.Is(err, ErrBusy) }
	run := func(wanted func(i int) bool) {
		next := make(chan int)
		var places sync.WaitGroup
		for range concurrency {
			places.Go(func() {
				for i := range next {
					if ctx.Err() == nil && wanted(i) {
						errs[i] = turns[i].Do(workers, concurrency)
					}
				}
			})
		}
		for i := range turns {
			next <- i
		}
		close(next)
		places.Wait()
	}
	run(func(int) bool { return true })
	run(func(i int) bool { return isBusy(errs[i]) }) // other processes may have ended them
	for ctx.Err() == nil && slices.ContainsFunc(errs, isBusy) {
		run(func(i int) bool {
			if !isBusy(errs[i]) {
				return false
			}
			if note := turns[i].Events.Note; note != nil {
				note(Waiting)
			}
			return train.Await(ctx, turns[i].Folder)
		})
	}
	if ctx.Err() != nil {
		errs = slices.DeleteFunc(errs, isBusy)
	}
	return errs, nil
}
