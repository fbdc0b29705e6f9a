package experiment

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/nn"
)

var errNoState = errors.New("no state today")

// unsaved is a learner whose third state fails after it has given records.
type unsaved struct {
	ocl.Learner
	given, released atomic.Int64
}

func (u *unsaved) SaveState(e *checkpoint.Encoder) error {
	e.Records("given", checkpoint.Records{Size: 1, Release: func() { u.released.Add(1) }})
	if u.given.Add(1) == 3 {
		return errNoState
	}
	return nil
}

// TestFailedStateIsReleased: what a learner gave for a state that could not be saved is released, as that of every other.
func TestFailedStateIsReleased(t *testing.T) {
	t.Parallel()
	u := &unsaved{}
	o := Options{Out: filepath.Join(t.TempDir(), "x"), hooks: hooks{checkpointSteps: 2, learner: func(l ocl.Learner, _ *nn.Network) ocl.Learner {
		u.Learner = l
		return u
	}}}
	if _, err := Run(t.Context(), one("er"), o); !errors.Is(err, errNoState) {
		t.Fatal(err)
	}
	if given, released := u.given.Load(), u.released.Load(); given != 3 || released != given {
		t.Errorf("%d states were given and %d released", given, released)
	}
}
