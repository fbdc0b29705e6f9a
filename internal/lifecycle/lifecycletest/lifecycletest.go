// Package lifecycletest checks how things start and stop, by the rules of package lifecycle. It is a helper of tests.
package lifecycletest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Subject is a thing that was started.
type Subject struct {
	Close  func() error
	Closed error                   // that each of Calls returns after Close
	Calls  map[string]func() error // by their names
	// Hold begins a call for which Close waits, until release; nil where there is none.
	Hold  func() (release func())
	Woken []string // names of Calls that wait while it is held, until Close ends them
}

// Test starts a thing, closes it in several goroutines at the same time and once more, and calls it afterwards.
func Test(t *testing.T, start func(t *testing.T) Subject) {
	t.Helper()
	before := goroutines()
	s := start(t)
	for name, call := range s.Calls {
		if err := call(); errors.Is(err, s.Closed) {
			t.Errorf("%s before Close: %v", name, err)
		}
	}
	var ended atomic.Bool // the call at work
	release := func() {}
	var waiting sync.WaitGroup
	if s.Hold != nil {
		release = s.Hold()
	}
	for _, name := range s.Woken {
		waiting.Go(func() {
			if err := s.Calls[name](); !errors.Is(err, s.Closed) {
				t.Errorf("%s, which waits when Close comes: %v, want %v", name, err, s.Closed)
			}
		})
	}
	const closers = 3
	errs := make([]error, closers+1)
	var closing sync.WaitGroup
	var returned, early atomic.Int64
	for i := range closers {
		closing.Go(func() {
			errs[i] = closes(s.Close)
			if s.Hold != nil && !ended.Load() {
				early.Add(1)
			}
			returned.Add(1)
		})
	}
	settle(closers, &returned)
	waiting.Wait()
	ended.Store(true)
	release()
	closing.Wait()
	if n := early.Load(); n > 0 {
		t.Errorf("Close returns while a call is at work, %d of %d times", n, closers)
	}
	errs[closers] = s.Close()
	for _, err := range errs {
		if err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	for name, call := range s.Calls {
		if err := call(); !errors.Is(err, s.Closed) {
			t.Errorf("%s after Close: %v, want %v", name, err, s.Closed)
		}
	}
	gone(t, before)
}

// closes is a call of Close; [settle] finds its name in the stacks.
func closes(end func() error) error { return end() }

// settle waits until each of so many goroutines has returned from its Close, or waits inside it.
func settle(closers int, returned *atomic.Int64) {
	for ; ; runtime.Gosched() {
		there := int(returned.Load())
		for _, stack := range goroutines() {
			state, frames, _ := strings.Cut(stack, "\n")
			if strings.Contains(frames, "lifecycletest.closes(") && !strings.Contains(state, "[runn") &&
				!strings.Contains(state, "[syscall") {
				there++
			}
		}
		if there >= closers {
			return
		}
	}
}

// Serve runs what serves until its context ends, which it does when serve calls ready, twice. It then has no error.
func Serve(t *testing.T, serve func(ctx context.Context, ready func()) error) {
	t.Helper()
	before := goroutines()
	for range 2 {
		ctx, stop := context.WithCancel(t.Context())
		if err := serve(ctx, stop); err != nil {
			t.Error(err)
		}
		if ctx.Err() == nil {
			t.Error("it returned before its context has ended")
		}
		stop()
	}
	gone(t, before)
}

// goroutines are the stacks of all but that which the runtime keeps once a process has listened for signals.
func goroutines() []string {
	text := make([]byte, 1<<20)
	all := strings.Split(string(text[:runtime.Stack(text, true)]), "\n\n")
	return slices.DeleteFunc(all, func(stack string) bool { return strings.Contains(stack, "os/signal.loop") })
}

// gone fails if more goroutines are left than there were before. One that has told its end takes a moment to go.
func gone(t *testing.T, before []string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
		now := goroutines()
		if len(now) <= len(before) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left, there were %d before:\n%s", len(now), len(before), strings.Join(now, "\n\n"))
		}
	}
}
