package build_test

import (
	"slices"
	"testing"

	"ocl/config"
	"ocl/learn/optim"
	"ocl/run/build"
)

// TestOptimizers: each value of optimizer.name is an optimiser of its own, and another name is none.
func TestOptimizers(t *testing.T) {
	at := slices.IndexFunc(config.Keys(), func(k config.Key) bool { return k.Name == "optimizer.name" })
	c := config.Default()
	c.Optimizer.LR, c.Optimizer.WeightDecay, c.Optimizer.Momentum = 0.5, 0.25, 0.125
	want := map[string]optim.Settings{
		"sgd":  optim.SGD{LR: 0.5, WeightDecay: 0.25, Momentum: 0.125},
		"adam": optim.Adam{LR: 0.5, WeightDecay: 0.25},
	}
	vectors := map[string]int{"sgd": 1, "adam": 2}
	names := config.Keys()[at].Choices
	if len(names) != len(want) {
		t.Errorf("optimizer.name may be %q, and the test knows %d", names, len(want))
	}
	for _, name := range names {
		c.Optimizer.Name = name
		if got := build.Setup(c).Opt; got != want[name] || build.OptimizerVectors(c.Optimizer) != vectors[name] {
			t.Errorf("%s is %+v; want %+v and %d vectors", name, got, want[name], vectors[name])
		}
	}
	for _, name := range []string{"", "adamw", "SGD"} {
		c.Optimizer.Name = name
		if got := build.Setup(c).Opt; got != nil {
			t.Errorf("%q is the optimiser %+v", name, got)
		}
		if err := build.Schema().Validate(c); err == nil {
			t.Errorf("%q is a valid optimiser", name)
		}
	}
}
