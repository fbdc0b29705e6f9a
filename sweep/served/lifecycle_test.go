package served_test

import (
	"testing"

	"ocl/internal/lifecycle/lifecycletest"
	"ocl/sweep/served"
	"ocl/sweep/studytest"
)

// TestHolderLifecycle: a holder may be closed at any time, and claims nothing then.
func TestHolderLifecycle(t *testing.T) {
	entries := entriesOf(studytest.Results(t, 2))
	lifecycletest.Test(t, func(t *testing.T) lifecycletest.Subject {
		h, _ := serve(t, made(t, entries), entries, "127.0.0.1:0")
		return lifecycletest.Subject{Close: h.Close, Closed: served.ErrClosed, Calls: map[string]func() error{
			"Claim": func() error { _, _, err := h.Store().Claim(entries[0]); return err },
		}}
	})
}

// TestWorkerLifecycle: so may a worker that has joined, whose requests that wait for the holder end.
func TestWorkerLifecycle(t *testing.T) {
	_, entries, _, h, _ := opened(t, 2)
	lifecycletest.Test(t, func(t *testing.T) lifecycletest.Subject {
		w, _ := join(t, h.Join(), t.TempDir())
		return lifecycletest.Subject{Close: func() error { w.Close(); return nil }, Closed: served.ErrClosed,
			Calls: map[string]func() error{
				"Claim":  func() error { _, _, err := w.Store().Claim(entries[0]); return err },
				"Result": func() error { _, err := w.Store().Result(entries[1]); return err },
			}}
	})
}
