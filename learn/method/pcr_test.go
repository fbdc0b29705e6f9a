package method_test

import (
	"testing"

	"ocl/learn/augment"
	"ocl/learn/learner"
	"ocl/learn/method"
)

// TestPCRGolden follows ten steps with mirrored views.
func TestPCRGolden(t *testing.T) {
	g := read(t, "pcr.json")
	l := g.start(t, "pcr", map[string]any{"temperature": g.Tau})
	r := l.(*learner.Replay)
	method.ShowViews(r, &augment.Flip{P: 1})
	g.follow(t, l, r)
}

func TestPCRAllocations(t *testing.T) { checkAllocations(t, "pcr") }
