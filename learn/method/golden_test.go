package method_test

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
	"ocl/learn/optim"
	"ocl/nn/arch"
)

// golden is a file of testdata/golden.py.
type golden struct {
	LR                           float64
	Batch, Side, Hidden, Classes int
	Projected                    int
	Alpha, Beta, Tau, Rho        float64
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

// start makes the learner of a golden file, before its first step.
func (g golden) start(t *testing.T, name string, options map[string]any) ocl.Learner {
	t.Helper()
	return g.with(t, name, func(s *method.Setup) { s.Options = options })
}

// with is start with another setup.
func (g golden) with(t *testing.T, name string, change func(*method.Setup)) ocl.Learner {
	t.Helper()
	network := arch.Config{Channels: 1, Height: g.Side, Width: g.Side, Classes: g.Classes, Hidden: []int{g.Hidden}}
	return build(name, network, func(s *method.Setup) {
		s.Opt, s.Memory = optim.SGD{LR: g.LR}, g.Batch*len(g.Steps)
		change(s)
	})(t, 1)
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

// checkAllocations fails if a step with a memory allocates anything, once buffers are there.
func checkAllocations(t *testing.T, name string) {
	t.Helper()
	l := build(name, perceptron, nil)(t, 1)
	b := learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6}.Batches(1, 1, 5)[0]
	learnertest.Observe(t, l, []ocl.Batch{b, b, b, b, b, b})
	if n := testing.AllocsPerRun(20, func() {
		if _, err := l.Observe(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// TestTricksGolden follows ten steps of ER with a trick whose options are not the defaults.
func TestTricksGolden(t *testing.T) {
	for trick, options := range map[string]func(golden) map[string]any{
		"las":  func(g golden) map[string]any { return map[string]any{"tau": g.Tau, "steps": 2} },
		"lode": func(g golden) map[string]any { return map[string]any{"rho": g.Rho} },
	} {
		t.Run(trick, func(t *testing.T) {
			g := read(t, trick+".json")
			l := g.with(t, "er", func(s *method.Setup) {
				s.Tricks, s.TrickOptions = []string{trick}, map[string]map[string]any{trick: options(g)}
			})
			g.follow(t, l, l.(*learner.Replay))
		})
	}
}

// TestTricksAtTheirEnds: a trick whose options take its effect away is ER, to the bit.
func TestTricksAtTheirEnds(t *testing.T) {
	batches := learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6}.Batches(1, 8, 5)
	er := build("er", perceptron, nil)(t, 1)
	want := learnertest.Observe(t, er, batches)
	for trick, options := range map[string]map[string]any{"ema": {"momentum": 0.0}, "rar": {"operations": 0}} {
		l := build("er", perceptron, func(s *method.Setup) {
			s.Tricks, s.TrickOptions = []string{trick}, map[string]map[string]any{trick: options}
		})(t, 1)
		r := l.(*learner.Replay)
		r.Iterations = 1
		if got := learnertest.Observe(t, l, batches); !slices.Equal(got, want) {
			t.Errorf("%s: steps %+v, and ER has %+v", trick, got, want)
		}
		if shown := r.Parts().Net.Params(); !slices.Equal(shown, er.(*learner.Replay).Net.Params()) {
			t.Errorf("%s: the network that predicts is not that of ER", trick)
		}
	}
}

// TestMeanNetwork: the network that predicts is the mean of those after each step, by hand.
func TestMeanNetwork(t *testing.T) {
	l := build("er", perceptron, func(s *method.Setup) {
		s.Tricks, s.TrickOptions = []string{"ema"}, map[string]map[string]any{"ema": {"momentum": 0.75}}
	})(t, 1)
	r := l.(*learner.Replay)
	mean := slices.Clone(r.Net.Params())
	for _, b := range (learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6}).Batches(1, 6, 5) {
		learnertest.Observe(t, l, []ocl.Batch{b})
		for i, v := range r.Net.Params() {
			mean[i] = float32(0.75*mean[i]) + float32(0.25*v)
		}
	}
	if !slices.Equal(mean, r.Parts().Net.Params()) {
		t.Error("the network that predicts is no mean of those of the steps")
	}
}
