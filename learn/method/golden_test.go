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

// start makes the learner of a golden file, before its first step.
func (g golden) start(t *testing.T, name string, options map[string]any) ocl.Learner {
	t.Helper()
	network := arch.Config{Channels: 1, Height: g.Side, Width: g.Side, Classes: g.Classes, Hidden: []int{g.Hidden}}
	return build(name, network, func(s *method.Setup) {
		s.Opt, s.Memory, s.Options = optim.SGD{LR: g.LR}, g.Batch*len(g.Steps), options
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
