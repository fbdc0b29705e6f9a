package learner

import (
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/nn"
)

// Seen are the classes that a learner has observed. The zero value has observed none.
type Seen struct{ classes []ocl.Label }

// Classes returns the classes of all batches before the present one, rising. The list is never nil. The caller does not
// change it; what it appends goes into a copy.
func (s *Seen) Classes() []ocl.Label {
	if s.classes == nil {
		return []ocl.Label{}
	}
	return slices.Clip(s.classes)
}

// add notes the classes of a batch.
func (s *Seen) add(y []ocl.Label) {
	for _, y := range y {
		if at, found := slices.BinarySearch(s.classes, y); !found {
			s.classes = slices.Insert(s.classes, at, y)
		}
	}
}

// parts is the state; net, whose state is loaded before, has the classes.
func (s *Seen) parts(net *nn.Network) checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.Int32List("classes", &s.classes),
		checkpoint.Then(func() error { return checkRising(net.Info().Classes, s.classes) }),
	}
}
