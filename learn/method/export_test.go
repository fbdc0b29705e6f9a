package method

import (
	"testing"

	"ocl/learn/augment"
	"ocl/learn/learner"
)

// ShowViews sets what changes the second view of the images of SCR and PCR.
func ShowViews(r *learner.Replay, views augment.Transform) {
	switch s := r.Step.(type) {
	case *contrast:
		s.views = views
	case *proxies:
		s.views = views
	}
}

// Restore takes what a test registers out of the catalogue at its end.
func Restore(t *testing.T) {
	before := *catalogue
	t.Cleanup(func() { *catalogue = before })
}

// Fault is what [Register] would say of an entry.
func (i Info) Fault() error { return i.fault() }

// AddTrick puts a trick into the catalogue for the length of a test.
func AddTrick(t *testing.T, trick Trick) {
	t.Helper()
	before := *tricks
	t.Cleanup(func() { *tricks = before })
	tricks.Register("method", trick)
}
