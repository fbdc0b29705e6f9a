package load

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// senders is how many requests of one kind are under way at most. Further ones wait, and their wait counts.
const senders = 256

// recorder keeps how long each request took.
type recorder struct {
	mu       sync.Mutex
	took     []time.Duration // of the answered ones
	refused  int
	failed   int
	fault    error // the first
	measured time.Time
}

// steadily sends requests at a rate until a time, each at its instant or as soon after it as it can, and returns when
// all are answered.
func (r *recorder) steadily(ctx context.Context, begin, until time.Time, rate float64,
	send func(ctx context.Context, n int) error) {
	if rate <= 0 {
		return
	}
	type request struct {
		n     int
		meant time.Time
	}
	requests := make(chan request)
	var at sync.WaitGroup
	for range senders {
		at.Go(func() {
			for q := range requests {
				err := send(ctx, q.n)
				if !q.meant.Before(r.measured) && ctx.Err() == nil {
					r.record(q.meant, err)
				}
			}
		})
	}
	for n := 0; ; n++ {
		meant := begin.Add(time.Duration(float64(n) / rate * float64(time.Second)))
		if !meant.Before(until) || !sleep(ctx, meant) {
			break
		}
		requests <- request{n, meant}
	}
	close(requests)
	at.Wait()
}

// record keeps how a request ended that was meant for a time.
func (r *recorder) record(meant time.Time, err error) {
	took := time.Since(meant)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.took = append(r.took, took)
	case errors.Is(err, errRefused):
		r.refused++
	default:
		r.failed++
		if r.fault == nil {
			r.fault = err
		}
	}
}

// calls sums up, where the measurement took a time.
func (r *recorder) calls(whole time.Duration) Calls {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := Calls{Answered: len(r.took), Refused: r.refused, Failed: r.failed,
		PerSecond: float64(len(r.took)) / whole.Seconds()}
	c.Sent = c.Answered + c.Refused + c.Failed
	if r.fault != nil {
		c.Fault = r.fault.Error()
	}
	slices.Sort(r.took)
	c.P50, c.P90, c.P99, c.Max = percentile(r.took, 0.5), percentile(r.took, 0.9), percentile(r.took, 0.99),
		percentile(r.took, 1)
	return c
}

// percentile is the least of some sorted times that a share of them does not exceed, in milliseconds; 0 of none.
func percentile(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := int(share * float64(len(sorted)))
	if float64(at) == share*float64(len(sorted)) && at > 0 {
		at--
	}
	return sorted[at].Seconds() * 1000
}

// sleep waits until a time; false says that ctx ended before.
func sleep(ctx context.Context, until time.Time) bool {
	wait := time.Until(until)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
