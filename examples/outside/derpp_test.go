package main

import (
	"testing"

	"ocl/learn/learner"
	"ocl/learn/method"
)

func TestDERPPGolden(t *testing.T) {
	g := read(t, "derpp.json")
	l := g.start(t, "der++", map[string]any{"alpha": g.Alpha, "beta": g.Beta})
	g.follow(t, l, l.(*learner.Replay))
}

func TestDERPPContract(t *testing.T) {
	vary := settings()
	vary["replay.augment"] = func(s *method.Setup) { s.Augment = true }
	vary["alpha"], vary["beta"] = option("alpha", 1.0), option("beta", 0.0)
	contract(t, "der++", vary)
	checkCost(t, "der++")
	checkAllocations(t, "der++")
}
