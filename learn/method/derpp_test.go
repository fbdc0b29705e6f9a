package method_test

import (
	"testing"

	"ocl/learn/learner"
)

func TestDERPPGolden(t *testing.T) {
	g := read(t, "derpp.json")
	l := g.start(t, "der++", map[string]any{"alpha": g.Alpha, "beta": g.Beta})
	g.follow(t, l, l.(*learner.Replay))
}
