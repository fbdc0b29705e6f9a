package live

import (
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/method"
)

// keeping is ER that stores the outputs of the network with each sample.
type keeping struct{ learner.Summed }

// Gradient implements [learner.Stepper].
func (k keeping) Gradient(r *learner.Replay, b ocl.Batch) (ocl.StepStats, error) {
	stats, err := k.Summed.Gradient(r, b)
	if err == nil {
		r.Keep(r.Passes()[0].Outputs)
	}
	return stats, err
}

func init() {
	method.Register(method.Info{
		Name: "keeping", Text: method.Text{Summary: "ER that stores outputs."}, Traits: method.Traits{UsesMemory: true},
		Settings: []string{"memory", "replay.batch", "replay.iterations"},
		Floats:   func(s method.Setup) int { return s.Classes },
		Build: func(s method.Setup) (ocl.Learner, error) {
			r := s.Replay()
			r.Memory, r.Step, r.Seen = s.Store(), keeping{}, &learner.Seen{}
			r.Memory.CarryOutputs(s.Classes)
			return r, nil
		},
	})
}

// TestRegisteredMethod: what a method of somebody else stores and has seen grows with the head, is saved, and counts
// into the bytes.
func TestRegisteredMethod(t *testing.T) {
	t.Parallel()
	o := small("keeping")
	l := made(t, o)
	const number, header = 4, 32
	if got, want := l.Stats().Bytes-made(t, small("er")).Stats().Bytes,
		int64(o.Memory*(o.Capacity*number+header)); got != want {
		t.Errorf("outputs of stored images count as %d bytes, want %d", got, want)
	}
	learn(t, l, 0, 45, 9)
	opened := reopened(t, l)
	learn(t, l, 45, 200, 11)
	learn(t, opened, 45, 200, 11)
	flush(t, l)
	flush(t, opened)
	if s := l.Stats(); s.Capacity != 16 || s.Classes != 11 {
		t.Errorf("%+v", s)
	}
	sameState(t, "opened", l, opened)
	closed(t, opened)
}
