package main

import (
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/method"
)

func TestERACEGolden(t *testing.T) {
	g := read(t, "erace.json")
	l := g.start(t, "er-ace", nil)
	g.follow(t, l, l.(*learner.Replay))
}

func TestERACEContract(t *testing.T) {
	vary := settings()
	vary["replay.augment"] = func(s *method.Setup) { s.Augment = true }
	contract(t, "er-ace", vary)
	checkCost(t, "er-ace")
	checkAllocations(t, "er-ace")
}

// TestERACEIsERWhereNothingIsOld: as long as no class of an earlier batch is absent, the loss is that of ER.
func TestERACEIsERWhereNothingIsOld(t *testing.T) {
	shape := [3]int{3, 5, 4}
	batches := learnertest.Case{Shape: shape, Classes: 6}.Batches(1, 3, 6)
	for _, b := range batches {
		copy(b.Y, []ocl.Label{0, 1, 2, 0, 1, 2})
	}
	ace := learnertest.Observe(t, build(t, "er-ace", shape, 0, 6, 1, nil), batches)
	er := learnertest.Observe(t, build(t, "er", shape, 0, 6, 1, nil), batches)
	for i := range ace {
		if ace[i] != er[i] {
			t.Errorf("step %d: %+v, and ER has %+v", i+1, ace[i], er[i])
		}
	}
}
