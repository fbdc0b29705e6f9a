package main

import (
	"slices"
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/method"
	"ocl/learn/method/methodtest"
	"ocl/learn/optim"
	"ocl/nn/arch"
	"ocl/rng"
)

// shape is that of the images of these tests.
var shape = [3]int{3, 5, 4}

// build makes a learner of a method on a perceptron with so many classes, of which from are inherited.
func build(t *testing.T, name string, from, classes int, seed uint64, change func(*method.Setup)) ocl.Learner {
	t.Helper()
	info, err := method.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	s := method.Setup{
		Opt: optim.SGD{LR: 0.1, Momentum: 0.5}, Memory: 12, ReplayBatch: 4, Iterations: 1, Shape: shape, Classes: classes,
		Seed: seed, InitSeed: seed, Options: map[string]any{},
	}
	if change != nil {
		change(&s)
	}
	c := arch.Config{Channels: shape[0], Height: shape[1], Width: shape[2], Classes: classes, Hidden: []int{16}}
	if s.Net, err = arch.MLP(c, rng.New(seed, "network/init")); err != nil {
		t.Fatal(err)
	}
	if from > 0 {
		s.Net.Inherit(from)
	}
	s.WS = s.Net.NewWorkspace(1)
	t.Cleanup(s.WS.Close)
	l, err := info.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestDERContract runs the contract of learners on the method, with every setting and option changed once.
func TestDERContract(t *testing.T) {
	with := func(change func(*method.Setup)) func(*testing.T, uint64) ocl.Learner {
		return func(t *testing.T, seed uint64) ocl.Learner {
			t.Helper()
			return build(t, "der", 0, 6, seed, change)
		}
	}
	c := learnertest.Case{
		Shape: shape, Classes: 6, Capacity: 12, New: with(nil),
		Heir: func(t *testing.T, seed uint64, classes int) ocl.Learner {
			t.Helper()
			return build(t, "der", 6, classes, seed, nil)
		},
		Vary: map[string]func(*testing.T, uint64) ocl.Learner{
			"memory":            with(func(s *method.Setup) { s.Memory = 3 }),
			"replay.batch":      with(func(s *method.Setup) { s.ReplayBatch = 7 }),
			"replay.iterations": with(func(s *method.Setup) { s.Iterations = 2 }),
			"replay.augment":    with(func(s *method.Setup) { s.Augment = true }),
			"alpha":             with(func(s *method.Setup) { s.Options["alpha"] = 1.0 }),
		},
	}
	methodtest.Tricks(t, "der", c.Vary, with)
	info, err := method.Lookup("der")
	if err != nil {
		t.Fatal(err)
	}
	of := slices.Clone(info.Settings)
	for _, o := range info.Options {
		of = append(of, o.Name)
	}
	for _, name := range of {
		if c.Vary[name] == nil {
			t.Errorf("the contract does not change %s", name)
		}
	}
	learnertest.Run(t, c)
}

// TestDERWithoutWeight: where stored outputs do not count, DER learns what Finetune learns.
func TestDERWithoutWeight(t *testing.T) {
	batches := learnertest.Case{Shape: shape, Classes: 6}.Batches(1, 6, 5)
	der := build(t, "der", 0, 6, 1, func(s *method.Setup) { s.Options["alpha"] = 0.0 })
	finetune := build(t, "finetune", 0, 6, 1, nil)
	learnertest.Observe(t, der, batches)
	learnertest.Observe(t, finetune, batches)
	if !slices.Equal(der.(*learner.Replay).Net.Params(), finetune.(*learner.Replay).Net.Params()) {
		t.Error("with alpha 0 the parameters of der are not those of finetune")
	}
}
