// Package lifecycle is how things of a process end that have goroutines, files or calls at work. Any goroutine may
// close them, at any time and again: each Close returns when the end has come, with the same error where it has one,
// and calls after it return one error. The suite in package lifecycletest checks that. Start at [End].
package lifecycle

import (
	"sync"
	"sync/atomic"
)

// End is the end of something, which comes once. Its zero value is ready.
type End struct {
	once  sync.Once
	begun atomic.Bool
	err   error
}

// Do does what ends it in the first call, as [sync.Once.Do]. Each call returns when that is done, with its error.
func (e *End) Do(end func() error) error {
	e.once.Do(func() {
		e.begun.Store(true)
		e.err = end()
	})
	return e.err
}

// Begun says whether Do was called.
func (e *End) Begun() bool { return e.begun.Load() }

// Pool lends things to calls, one to each; further calls wait. Any number of goroutines may use it.
type Pool[T any] struct {
	mu     sync.Mutex
	freed  *sync.Cond
	all    []T
	free   []T // the one that was used last is the last
	closed bool
}

// NewPool returns a pool of these things, which belong to it until Close has returned.
func NewPool[T any](all []T) *Pool[T] {
	p := &Pool[T]{all: all, free: append([]T(nil), all...)}
	p.freed = sync.NewCond(&p.mu)
	return p
}

// All are the things, lent or not.
func (p *Pool[T]) All() []T { return p.all }

// Take waits for a thing that is free; ok is false once the pool is closed. The caller gives it back.
func (p *Pool[T]) Take() (t T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.free) == 0 && !p.closed {
		p.freed.Wait()
	}
	if p.closed {
		return t, false
	}
	last := len(p.free) - 1
	t = p.free[last]
	p.free = p.free[:last]
	return t, true
}

// Give gives a thing back.
func (p *Pool[T]) Give(t T) {
	p.mu.Lock()
	p.free = append(p.free, t)
	p.mu.Unlock()
	p.freed.Broadcast()
}

// Closed says whether Close was called.
func (p *Pool[T]) Closed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Close ends the calls that wait, and returns when all that was lent is back.
func (p *Pool[T]) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.freed.Broadcast()
	for len(p.free) < len(p.all) {
		p.freed.Wait()
	}
}
