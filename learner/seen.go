package learner

import (
	"slices"

	"ocl"
	"ocl/checkpoint"
)

// Seen are the classes that a learner has observed. The zero value has observed none.
type Seen struct{ classes []ocl.Label }

// Classes are those of all batches before the one that is being observed, rising. It is never nil. The caller does not change
// it.
func (s *Seen) Classes() []ocl.Label {
	if s.classes == nil {
		return []ocl.Label{}
	}
	return s.classes
}

// add notes the classes of a batch.
func (s *Seen) add(y []ocl.Label) {
	for _, y := range y {
		if at, found := slices.BinarySearch(s.classes, y); !found {
			s.classes = slices.Insert(s.classes, at, y)
		}
	}
}

// parts is the state, of so many classes in all.
func (s *Seen) parts(classes int) checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.Int32List("classes", &s.classes),
		checkpoint.Then(func() error { return checkRising(classes, s.classes) }),
	}
}
