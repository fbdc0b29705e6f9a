package cache

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// progressEvery is the time between two reports of progress.
const progressEvery = 200 * time.Millisecond

// Each calls do for every i in [0, n), in ascending order by several workers (0 is GOMAXPROCS), each with its own
// buffer of size bytes. It ends at the first error, or when ctx ends, after the calls of do have returned. progress may
// be nil and is called by the goroutine that calls Each.
func Each(ctx context.Context, n, workers, size int, progress func(done, total int),
	do func(i int, buf []uint8) error) error {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if progress == nil {
		progress = func(int, int) {}
	}
	var next, done atomic.Int64
	var group sync.WaitGroup
	for range min(workers, n) {
		group.Go(func() {
			buf := make([]uint8, size)
			for inner.Err() == nil {
				i := next.Add(1) - 1
				if i >= int64(n) {
					return
				}
				if err := do(int(i), buf); err != nil {
					stop(err)
					return
				}
				done.Add(1)
			}
		})
	}
	ended := make(chan struct{})
	go func() { group.Wait(); close(ended) }()
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	progress(0, n)
	for {
		select {
		case <-ticker.C:
			if d := int(done.Load()); d < n {
				progress(d, n)
			}
			continue
		case <-ended:
		}
		switch {
		case done.Load() == int64(n):
			progress(n, n)
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		return context.Cause(inner)
	}
}
