package main

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/memory"
	"ocl/learn/method"
	"ocl/learn/method/methodtest"
	"ocl/learn/optim"
	"ocl/nn/arch"
	"ocl/rng"
)

// golden is a file of testdata/golden.py.
type golden struct {
	LR                           float64
	Batch, Side, Hidden, Classes int
	Projected                    int
	Alpha, Beta, Tau             float64
	Start                        []float32
	Steps                        []struct {
		Labels []ocl.Label
		Pixels []byte
		Slots  [][]int
		Loss   float64
		Params []float32
	}
	Predicted []ocl.Label
}

// read reads a golden file.
func read(t *testing.T, name string) (g golden) {
	t.Helper()
	file, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(file, &g)
	}
	if err != nil || len(g.Steps) != 10 {
		t.Fatalf("%s: %d steps (%v), want 10. Run testdata/golden.py", name, len(g.Steps), err)
	}
	return g
}

// build makes a learner of a method on a perceptron for images of a shape, with so many classes of which from are
// inherited.
func build(t *testing.T, name string, shape [3]int, from, classes int, seed uint64,
	change func(*method.Setup)) ocl.Learner {
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
	c := arch.Config{Channels: shape[0], Height: shape[1], Width: shape[2], Classes: classes, Hidden: []int{8}}
	if info.Head != nil {
		c.Head = info.Head(s)
	}
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

// start makes the learner of a golden file, before its first step.
func (g golden) start(t *testing.T, name string, options map[string]any) ocl.Learner {
	t.Helper()
	l := build(t, name, [3]int{1, g.Side, g.Side}, 0, g.Classes, 1, func(s *method.Setup) {
		s.Opt, s.Memory, s.Options = optim.SGD{LR: g.LR}, g.Batch*len(g.Steps), options
	})
	return l
}

// batch is the incoming batch of a step.
func (g golden) batch(step int) ocl.Batch {
	s := g.Steps[step]
	return ocl.NewBatch([3]int{1, g.Side, g.Side}, s.Pixels, s.Labels, ocl.NewPixelValues(1, nil, nil))
}

// given retrieves the slots that a golden file says, one list a draw.
type given struct{ draws [][]int }

// Retrieve implements [memory.Retriever].
func (g *given) Retrieve(dst []int, _ *memory.Store, _ ocl.Batch, _ memory.Env) ([]int, error) {
	dst = append(dst, g.draws[0]...)
	g.draws = g.draws[1:]
	return dst, nil
}

// follow observes the ten steps and compares losses and parameters with those of PyTorch in float64.
func (g golden) follow(t *testing.T, l ocl.Learner, r *learner.Replay) {
	t.Helper()
	net := r.Net
	if len(net.Params()) != len(g.Start) {
		t.Fatalf("%d parameters, want %d", len(net.Params()), len(g.Start))
	}
	for _, p := range net.Info().Named {
		p.FromTorch(net.Params()[p.Offset:][:p.Len()], g.Start[p.Offset:][:p.Len()])
	}
	net.Changed()
	got := make([]float32, len(g.Start))
	for i, want := range g.Steps {
		retrieve := &given{}
		if i > 0 {
			retrieve.draws = slices.Clone(want.Slots)
		}
		r.Retrieve = retrieve
		stats, err := l.Observe(context.Background(), g.batch(i))
		if err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
		if !(math.Abs(stats.Loss-want.Loss) <= 1e-5) {
			t.Errorf("step %d: loss %v, want %v", i+1, stats.Loss, want.Loss)
		}
		if len(retrieve.draws) > 0 {
			t.Errorf("step %d: %d draws were not made", i+1, len(retrieve.draws))
		}
		for _, p := range net.Info().Named {
			p.ToTorch(got[p.Offset:][:p.Len()], net.Params()[p.Offset:][:p.Len()])
		}
		for k, v := range got {
			if !(math.Abs(float64(v-want.Params[k])) <= 5e-6) {
				t.Fatalf("step %d: parameter %d is %v, want %v", i+1, k, v, want.Params[k])
			}
		}
	}
}

// contract runs the contract of learners on a method, with every named setting or option changed once.
func contract(t *testing.T, name string, vary map[string]func(*method.Setup)) {
	t.Helper()
	shape := [3]int{3, 5, 4}
	c := learnertest.Case{
		Shape: shape, Classes: 6, Capacity: 12, Vary: map[string]func(*testing.T, uint64) ocl.Learner{},
		New: func(t *testing.T, seed uint64) ocl.Learner {
			t.Helper()
			return build(t, name, shape, 0, 6, seed, nil)
		},
		Heir: func(t *testing.T, seed uint64, classes int) ocl.Learner {
			t.Helper()
			return build(t, name, shape, 6, classes, seed, nil)
		},
	}
	with := func(change func(*method.Setup)) func(*testing.T, uint64) ocl.Learner {
		return func(t *testing.T, seed uint64) ocl.Learner {
			t.Helper()
			return build(t, name, shape, 0, 6, seed, change)
		}
	}
	for of, change := range vary {
		c.Vary[of] = with(change)
	}
	methodtest.Tricks(t, name, c.Vary, with)
	info, err := method.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range append(slices.Clone(info.Settings), names(info.Options)...) {
		if vary[of] == nil {
			t.Errorf("the contract does not change %s", of)
		}
	}
	learnertest.Run(t, c)
}

func names(options []method.Option) (all []string) {
	for _, o := range options {
		all = append(all, o.Name)
	}
	return all
}

// settings are other values of the settings that all three methods have.
func settings() map[string]func(*method.Setup) {
	return map[string]func(*method.Setup){
		"memory":            func(s *method.Setup) { s.Memory = 3 },
		"replay.batch":      func(s *method.Setup) { s.ReplayBatch = 7 },
		"replay.iterations": func(s *method.Setup) { s.Iterations = 2 },
	}
}

// option sets an option.
func option(name string, value any) func(*method.Setup) {
	return func(s *method.Setup) { s.Options[name] = value }
}

// checkAllocations fails if a step with a memory allocates anything, once buffers are there.
func checkAllocations(t *testing.T, name string) {
	t.Helper()
	shape := [3]int{3, 5, 4}
	l := build(t, name, shape, 0, 6, 1, nil)
	b := learnertest.Case{Shape: shape, Classes: 6}.Batches(1, 1, 5)[0]
	learnertest.Observe(t, l, []ocl.Batch{b, b, b, b, b, b})
	if n := testing.AllocsPerRun(20, func() {
		if _, err := l.Observe(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// checkCost fails if a step with a full memory counts other work than the passes that the catalogue names.
func checkCost(t *testing.T, name string) {
	t.Helper()
	shape := [3]int{3, 5, 4}
	var setup method.Setup
	l := build(t, name, shape, 0, 6, 1, func(s *method.Setup) { setup = *s })
	learnertest.Observe(t, l, learnertest.Case{Shape: shape, Classes: 6}.Batches(1, 6, 5))
	info, err := method.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	forwards := 0
	for _, p := range info.StepPasses(setup, 5) {
		forwards += p.Forwards()
	}
	if c := l.Cost(); forwards == 0 || c.StepFLOPs != int64(forwards)*c.ImageFLOPs {
		t.Errorf("a step counts %v forward passes of an image, want %d", float64(c.StepFLOPs)/float64(c.ImageFLOPs), forwards)
	}
}
