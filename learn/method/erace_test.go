package method_test

import (
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/method"
	"ocl/nn"
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

// TestERACEHead: the head is the network's own, or one of cosines with the scale that is asked for.
func TestERACEHead(t *testing.T) {
	info, err := method.Lookup("er-ace")
	if err != nil {
		t.Fatal(err)
	}
	for scale, want := range map[float64]nn.Head{0: {}, 10: {Kind: nn.CosineHead, Scale: 10}} {
		if got := info.Head(method.Setup{Options: map[string]any{"scale": scale}}); got != want {
			t.Errorf("scale %g has the head %+v, want %+v", scale, got, want)
		}
	}
}
