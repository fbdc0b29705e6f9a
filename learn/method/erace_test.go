package method_test

import (
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
)

func TestERACEGolden(t *testing.T) {
	g := read(t, "erace.json")
	l := g.start(t, "er-ace", nil)
	g.follow(t, l, l.(*learner.Replay))
}

// TestERACEIsERWhereNothingIsOld: as long as no class of an earlier batch is absent, the loss is that of ER.
func TestERACEIsERWhereNothingIsOld(t *testing.T) {
	shape := [3]int{3, 5, 4}
	batches := learnertest.Case{Shape: shape, Classes: 6}.Batches(1, 3, 6)
	for _, b := range batches {
		copy(b.Y, []ocl.Label{0, 1, 2, 0, 1, 2})
	}
	ace := learnertest.Observe(t, build("er-ace", perceptron, nil)(t, 1), batches)
	er := learnertest.Observe(t, build("er", perceptron, nil)(t, 1), batches)
	for i := range ace {
		if ace[i] != er[i] {
			t.Errorf("step %d: %+v, and ER has %+v", i+1, ace[i], er[i])
		}
	}
}
