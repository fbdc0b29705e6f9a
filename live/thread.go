package live

import "ocl/internal/priority"

// thread is a goroutine whose thread has a lower priority, and does work for others. nil is the goroutine that asks.
type thread struct {
	work chan func() error
	done chan error
}

func newThread(nice int) *thread {
	t := &thread{make(chan func() error), make(chan error)}
	go func() {
		priority.Lower(nice)
		for f := range t.work {
			t.done <- f()
		}
	}()
	return t
}

// do does f, which does not panic, and returns its error. One goroutine calls it at a time.
func (t *thread) do(f func() error) error {
	if t == nil {
		return f()
	}
	t.work <- f
	return <-t.done
}

// close ends the goroutine.
func (t *thread) close() {
	if t != nil {
		close(t.work)
	}
}
