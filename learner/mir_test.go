package learner_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/internal/rng"
	"ocl/learner"
	"ocl/learner/learnertest"
	"ocl/loss"
	"ocl/memory"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/optim"
	"ocl/tensor"
)

// resized is what the residual networks of this file's tests learn.
var resized = learnertest.Case{Shape: [3]int{3, 32, 32}, Classes: 6}

// mir is MIR on a small residual network with as many workers as wanted.
func mir(t *testing.T, workers, capacity, replay, candidates int) *learner.Replay {
	t.Helper()
	net, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 6, NF: 2}, rng.New(1, "network/init"))
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

// asking is a retriever that gets the interference of all stored samples from its probe, and then retrieves the first two.
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

// TestMIRWithoutChoiceIsER: with C = replay_batch MIR replays exactly the drawn candidates, so it is ER but for
// rounding: the replayed gradient is added to that of the incoming batch, not summed apart first.
func TestMIRWithoutChoiceIsER(t *testing.T) {
	a, b := mir(t, 1, 12, 4, 4), mir(t, 1, 12, 4, 4)
	b.Retrieve, b.Step = memory.Random{Size: 4}, learner.Summed{}
	for i, batch := range resized.Batches(1, 6, 5) {
		batch := []ocl.Batch{batch}
		x, y := learnertest.Observe(t, a, batch)[0], learnertest.Observe(t, b, batch)[0]
		if p, q := contents(a.Memory), contents(b.Memory); !slices.Equal(p.Y, q.Y) || !slices.Equal(p.X.Data, q.X.Data) {
			t.Fatalf("batch %d: the memories differ", i)
		}
		if x.Replay != y.Replay || x.Correct != y.Correct || !(math.Abs(x.Loss-y.Loss) <= 1e-4) {
			t.Fatalf("batch %d: stats %+v, of ER %+v", i, x, y)
		}
		for k, v := range a.Net.Params() {
			if d := math.Abs(float64(v - b.Net.Params()[k])); !(d <= 1e-5) {
				t.Fatalf("batch %d: parameter %d is %v, of ER %v", i, k, v, b.Net.Params()[k])
			}
		}
		if err := b.LoadState(learnertest.State(t, a).Decoder()); err != nil { // or rounding would grow from step to step
			t.Fatal(err)
		}
	}
}

// TestLookAheadIsSummed: the stepper alone, with random retrieval, changes nothing but rounding; running statistics
// move by the incoming batch first.
func TestLookAheadIsSummed(t *testing.T) {
	a, b := mir(t, 2, 12, 4, 4), mir(t, 2, 12, 4, 4)
	a.Retrieve, b.Retrieve, b.Step = memory.Random{Size: 4}, memory.Random{Size: 4}, learner.Summed{}
	batches := resized.Batches(1, 2, 5)
	learnertest.Observe(t, a, batches)
	learnertest.Observe(t, b, batches)
	for k, v := range a.Net.Running() {
		if d := math.Abs(float64(v - b.Net.Running()[k])); !(d <= 1e-5) {
			t.Fatalf("running statistic %d is %v, of Summed %v", k, v, b.Net.Running()[k])
		}
	}
}

// TestMIRMovesStatistics: with Moves a step leaves the same parameters, and running statistics as after one more forward
// pass in training mode, over the candidates and between the two others. Without it they are as without that pass
// (docs/deviations.md: MIR's candidates).
func TestMIRMovesStatistics(t *testing.T) {
	batches := resized.Batches(1, 3, 5)
	var params [][]float32
	for _, moves := range []bool{false, true} {
		r := mir(t, 2, 12, 2, 12)
		learnertest.Observe(t, r, batches[:2])
		ask := &asking{t: t}
		r.Retrieve, r.Step = ask, learner.LookAhead{Moves: moves}
		all := contents(r.Memory)
		shown := []*tensor.Tensor{batches[2].X, all.X, all.X.Rows(0, 2)}
		if !moves {
			shown = slices.Delete(shown, 1, 2)
		}
		byHand := r.Net.Clone()
		ws := byHand.NewWorkspace(1)
		defer ws.Close()
		for _, x := range shown {
			byHand.Forward(ws, x, nn.Train)
		}
		learnertest.Observe(t, r, batches[2:])
		for k, v := range r.Net.Running() {
			if d := math.Abs(float64(v - byHand.Running()[k])); !(d <= 1e-6) {
				t.Fatalf("Moves %v: running statistic %d is %v, want %v", moves, k, v, byHand.Running()[k])
			}
		}
		params = append(params, slices.Clone(r.Net.Params()))
	}
	if !slices.Equal(params[0], params[1]) {
		t.Error("the step depends on Moves")
	}
}

// recording keeps what a retriever chose last.
type recording struct {
	memory.Retriever
	slots []int
}

func (r *recording) Retrieve(dst []int, m *memory.Store, b ocl.Batch, env memory.Env) ([]int, error) {
	dst, err := r.Retriever.Retrieve(dst, m, b, env)
	r.slots = slices.Clone(dst)
	return dst, err
}

func TestMIRNeedsLookAhead(t *testing.T) {
	r := mir(t, 1, 20, 2, 5)
	r.Step = learner.Summed{}
	var err error
	for _, b := range resized.Batches(1, 3, 5) {
		_, e := r.Observe(context.Background(), b)
		err = errors.Join(err, e)
	}
	if err == nil || !strings.Contains(err.Error(), "Use the stepper LookAhead") {
		t.Errorf("MIR with Summed: error %v, want one that names LookAhead", err)
	}
}

// TestMIRNeedsSGD: a step of Adam is not the one that θ^v looks ahead by.
func TestMIRNeedsSGD(t *testing.T) {
	r := mir(t, 1, 20, 2, 5)
	r.Opt = optim.Adam{LR: 0.01}.New()
	var err error
	for _, b := range resized.Batches(1, 3, 5) {
		_, e := r.Observe(context.Background(), b)
		err = errors.Join(err, e)
	}
	if err == nil || !strings.Contains(err.Error(), "Use optim.SGD") {
		t.Errorf("MIR with Adam: error %v, want one that names SGD", err)
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

// variants turn MIR into each learner whose retriever or updater uses a memory.Probe.
var variants = map[string]func(*learner.Replay){
	"mir":                  func(*learner.Replay) {},
	"mir, moved":           func(r *learner.Replay) { r.Step = learner.LookAhead{Moves: true} },
	"gss":                  gssOf(&memory.GSS{Size: 4}),
	"gss, subset: sample":  gssOf(&memory.GSS{Size: 3, PerSample: true}),
	"gss, gate: batch":     gssOf(&memory.GSSBatch{Size: 2}),
	"gss, n beyond memory": gssOf(&memory.GSS{Size: 50}),
}

func gssOf(u memory.Updater) func(*learner.Replay) {
	return func(r *learner.Replay) {
		r.Step, r.Retrieve = learner.Summed{}, memory.Random{Size: 3}
		switch u := u.(type) { // one of its own for each learner
		case *memory.GSS:
			r.Update = &memory.GSS{Size: u.Size, PerSample: u.PerSample}
		case *memory.GSSBatch:
			r.Update = &memory.GSSBatch{Size: u.Size}
		}
	}
}
