package learner_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// resized is what the residual networks of this file's tests learn.
var resized = learnertest.Case{Shape: [3]int{3, 32, 32}, Classes: 6}

// mir is MIR on a small residual network with as many workers as wanted.
func mir(t *testing.T, workers, capacity, replay, candidates int) *learner.Replay {
	t.Helper()
	net, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 6, NF: 2},
		rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	ws := net.NewWorkspace(workers)
	t.Cleanup(ws.Close)
	return &learner.Replay{
		Net: net, WS: ws, Opt: optim.SGD{LR: 0.1, WeightDecay: 0.05, Momentum: 0.5}.New(), Seed: 1,
		Memory: memory.NewStore(capacity, resized.Shape, nil), Step: learner.LookAhead{},
		Retrieve: &memory.MIR{Size: replay, Candidates: candidates},
	}
}

// asking is a retriever that gets the interference of all stored samples from its probe, and then retrieves the first
// two.
type asking struct {
	t      *testing.T
	scores [][]float64
	before func()
}

func (a *asking) Retrieve(dst []int, m *memory.Store, _ ocl.Batch, env memory.Env) ([]int, error) {
	if a.before != nil {
		a.before()
	}
	all := contents(m)
	scores := make([]float64, all.Len())
	err := env.Probe.Interference(scores, all)
	a.scores = append(a.scores, scores)
	return append(dst, 0, 1), err
}

// contents is a copy of all samples of a memory.
func contents(m *memory.Store) ocl.Batch {
	slots := make([]int, m.Len())
	for i := range slots {
		slots[i] = i
	}
	shape := m.Shape()
	b := ocl.Batch{X: tensor.New(m.Len(), shape[0], shape[1], shape[2]), Y: make([]ocl.Label, m.Len())}
	m.Gather(b.X, b.Y, slots)
	return b
}

// TestInterference: the scores are those of θ^v = θ − α·g with the gradient of the incoming batch alone, no momentum
// and no weight decay, batch norm by the statistics of the candidates; each iteration looks ahead anew, and nothing of
// the network moves but by the step (docs/deviations.md: MIR).
func TestInterference(t *testing.T) {
	r := mir(t, 2, 15, 2, 15)
	a := &asking{t: t}
	r.Retrieve, r.Iterations = a, 3
	batches := resized.Batches(1, 4, 5)
	learnertest.Observe(t, r, batches[:3])
	a.scores = nil
	var want [][]float64
	a.before = func() { // the network as it is between the incoming and the replayed pass
		all := contents(r.Memory)
		g, _ := gradient(t, r.Net, batches[3])
		for i := range g {
			if d := math.Abs(float64(g[i] - r.Net.Grads()[i])); !(d <= 1e-5) {
				t.Fatalf("gradient %d at the retrieval is %v, want that of the incoming batch, %v", i, r.Net.Grads()[i], g[i])
			}
		}
		ahead := r.Net.Clone()
		for i := range g {
			ahead.Params()[i] -= 0.1 * g[i]
		}
		ahead.Changed()
		now, then := losses(t, r.Net, all), losses(t, ahead, all)
		for i := range then {
			then[i] -= now[i]
		}
		want = append(want, then)
	}
	learnertest.Observe(t, r, batches[3:])
	if len(want) != 3 || len(a.scores) != 3 {
		t.Fatalf("%d retrievals, want one in each of 3 iterations", len(a.scores))
	}
	for k := range want {
		for i := range want[k] {
			if d := math.Abs(a.scores[k][i] - want[k][i]); !(d <= 2e-5) { // logits of a few, float32
				t.Errorf("iteration %d: score %d is %v, want %v", k, i, a.scores[k][i], want[k][i])
			}
		}
	}
	if slices.Equal(a.scores[0], a.scores[1]) {
		t.Error("the second iteration did not look ahead anew")
	}
}

// losses are the cross entropies of each row, in BatchOnly mode.
func losses(t *testing.T, net *nn.Network, b ocl.Batch) []float64 {
	t.Helper()
	ws := net.NewWorkspace(1)
	defer ws.Close()
	logits := net.Forward(ws, b.X, nn.BatchOnly)
	out := make([]float64, b.Len())
	for i, y := range b.Y {
		sum := 0.0
		for _, z := range logits.Row(i) {
			sum += math.Exp(float64(z))
		}
		out[i] = math.Log(sum) - float64(logits.Row(i)[y])
	}
	return out
}

// TestMIRRefuses a stepper that does not look ahead, and an optimiser whose step is not the one that θ^v looks ahead
// by.
func TestMIRRefuses(t *testing.T) {
	for want, change := range map[string]func(*learner.Replay){
		"Use the stepper LookAhead": func(r *learner.Replay) { r.Step = learner.Summed{} },
		"Use optim.SGD":             func(r *learner.Replay) { r.Opt = optim.Adam{LR: 0.01}.New() },
	} {
		r := mir(t, 1, 20, 2, 5)
		change(r)
		var err error
		for _, b := range resized.Batches(1, 3, 5) {
			_, e := r.Observe(context.Background(), b)
			err = errors.Join(err, e)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestMIRKeepsItsCriterion: θ^v follows the active criterion, the scores are plain cross entropy.
func TestMIRKeepsItsCriterion(t *testing.T) {
	r := mir(t, 1, 10, 2, 10)
	a := &asking{t: t}
	r.Retrieve, r.Criterion = a, nothing{}
	learnertest.Observe(t, r, resized.Batches(1, 2, 5))
	for i, s := range a.scores[0] {
		if s != 0 {
			t.Errorf("a criterion without gradient: score %d is %v, want 0", i, s)
		}
	}
}

// nothing is a criterion that wants nothing.
type nothing struct{}

func (nothing) Eval(d *tensor.Tensor, _ loss.Input) (float64, error) {
	clear(d.Data)
	return 0, nil
}
