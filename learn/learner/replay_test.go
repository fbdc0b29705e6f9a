package learner_test

import (
	"context"
	"errors"
	"fmt"
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

var (
	shape = [3]int{3, 5, 4}
	made  = learnertest.Case{Shape: shape, Classes: 6}
)

// perceptron is a learner without memory on a small network.
func perceptron(t *testing.T, lr float64) *learner.Replay {
	t.Helper()
	net, err := arch.MLP(arch.Config{Channels: 3, Height: 5, Width: 4, Classes: 6, Hidden: []int{16}},
		rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	return learnerOf(t, net, lr)
}

func residual(t *testing.T) *learner.Replay {
	t.Helper()
	net, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 6, NF: 2},
		rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	return learnerOf(t, net, 0.1)
}

func learnerOf(t *testing.T, net *nn.Network, lr float64) *learner.Replay {
	ws := net.NewWorkspace(1)
	t.Cleanup(ws.Close)
	return &learner.Replay{Net: net, WS: ws, Opt: optim.SGD{LR: lr}.New(), Seed: 1}
}

// TestNoCapacityIsFinetune: ER with capacity 0 is Finetune, whatever the stepper.
func TestNoCapacityIsFinetune(t *testing.T) {
	for _, step := range []learner.Stepper{learner.Summed{}, learner.Joint{}} {
		er, finetune := residual(t), residual(t)
		er.Memory = memory.NewStore(0, [3]int{3, 32, 32}, nil)
		er.Step = step
		batches := learnertest.Case{Shape: [3]int{3, 32, 32}, Classes: 6}.Batches(1, 4, 5)
		a, b := learnertest.Observe(t, er, batches), learnertest.Observe(t, finetune, batches)
		if !slices.Equal(a, b) || !slices.Equal(er.Net.Params(), finetune.Net.Params()) ||
			!slices.Equal(er.Net.Running(), finetune.Net.Running()) {
			t.Errorf("%T: ER with capacity 0 gives %v, Finetune %v", step, a, b)
		}
	}
}

// gradient is that of the mean cross entropy of a batch on a copy of the network, found apart from the learner.
func gradient(t *testing.T, net *nn.Network, b ocl.Batch) ([]float32, float64) {
	t.Helper()
	net = net.Clone()
	ws := net.NewWorkspace(1)
	defer ws.Close()
	clear(net.Grads())
	logits := net.Forward(ws, b.X, nn.Train)
	d := tensor.New(b.Len(), net.Info().Classes)
	mean, err := loss.CrossEntropy{}.Eval(d, loss.Input{Logits: logits, Y: b.Y})
	if err != nil {
		t.Fatal(err)
	}
	ws.Backward(d)
	return slices.Clone(net.Grads()), mean
}

// TestTwoPasses: by default a step goes along the sum of the gradients of two mean losses, each batch with its own
// batch-norm statistics; joint takes one mean over both (docs/deviations.md: model update).
func TestTwoPasses(t *testing.T) {
	c := learnertest.Case{Shape: [3]int{3, 32, 32}, Classes: 6}
	batches := c.Batches(1, 2, 5)
	for name, step := range map[string]learner.Stepper{"summed": nil, "joint": learner.Joint{}} {
		r := residual(t)
		r.Memory = memory.NewStore(5, c.Shape, nil) // the replay batch is the whole memory: the first batch
		r.Step = step
		first := learnertest.Observe(t, r, batches[:1])[0]
		if first.Replay != 0 {
			t.Fatalf("%s: %d rows replayed from an empty memory", name, first.Replay)
		}
		in, stored := batches[1], batches[0]
		want := slices.Clone(r.Net.Params())
		var grads []float32
		var mean float64
		if step == nil {
			g, m := gradient(t, r.Net, in)
			h, n := gradient(t, r.Net, stored)
			for i := range g {
				g[i] += h[i]
			}
			grads, mean = g, m+n
		} else {
			x := tensor.Of(slices.Concat(in.X.Data, stored.X.Data), 10, 3, 32, 32)
			grads, mean = gradient(t, r.Net, ocl.Batch{X: x, Y: slices.Concat(in.Y, stored.Y)})
		}
		for i, g := range grads {
			want[i] -= 0.1 * g
		}
		stats := learnertest.Observe(t, r, batches[1:])[0]
		if stats.Replay != 5 || !(math.Abs(stats.Loss-mean) <= 1e-5) {
			t.Errorf("%s: %d rows replayed at loss %v, want 5 at %v", name, stats.Replay, stats.Loss, mean)
		}
		// The replayed rows come in another order, so sums round differently: a few ulps of gradients below 10.
		for i, v := range r.Net.Params() {
			if !(math.Abs(float64(v-want[i])) <= 2e-5) {
				t.Fatalf("%s: parameter %d is %v, want %v", name, i, v, want[i])
			}
		}
	}
}

// TestMemoryIsUpdatedOnce: iterations take further steps on a batch, each with a replay batch of its own, but the
// memory sees its samples once.
func TestMemoryIsUpdatedOnce(t *testing.T) {
	r := perceptron(t, 0.1)
	r.Memory = memory.NewStore(100, shape, nil)
	r.Iterations = 3
	stats := learnertest.Observe(t, r, made.Batches(1, 2, 5))
	if r.Memory.Seen() != 10 || stats[0].Replay != 0 || stats[1].Replay != 15 {
		t.Errorf("%d samples seen, %d and %d rows replayed; want 10, 0 and 3 times 5", r.Memory.Seen(), stats[0].Replay,
			stats[1].Replay)
	}
}

// TestCorrectIsBeforeTheStep: Correct counts what the network knew when the batch came, not after the first iteration.
func TestCorrectIsBeforeTheStep(t *testing.T) {
	r, once := perceptron(t, 1), perceptron(t, 1)
	r.Iterations = 20
	batches := made.Batches(1, 4, 5)
	for i, b := range batches {
		before := perceptron(t, 1)
		copy(before.Net.Params(), r.Net.Params())
		before.Net.Changed()
		want := 0
		for k, y := range learnertest.Predict(t, before, b.X) {
			if y == b.Y[k] {
				want++
			}
		}
		if got := learnertest.Observe(t, r, []ocl.Batch{b})[0].Correct; got != want {
			t.Errorf("batch %d: %d correct, want %d", i, got, want)
		}
	}
	a, b := learnertest.Observe(t, perceptron(t, 1), batches[:1])[0], learnertest.Observe(t, once, batches[:1])[0]
	if a != b {
		t.Errorf("stats %v and %v", a, b)
	}
}

func TestDiverged(t *testing.T) {
	r := perceptron(t, 1e30)
	var err error
	steps := 0
	for _, b := range made.Batches(1, 50, 5) {
		steps++
		if _, err = r.Observe(context.Background(), b); err != nil {
			break
		}
	}
	if !errors.Is(err, ocl.ErrDiverged) || strings.Contains(err.Error(), "step") { // the run says at which step
		t.Errorf("learning rate 1e30, %d steps: error %v, want ErrDiverged without the step", steps, err)
	}
}

// poisoner is a stepper of somebody else, whose gradients have a NaN once.
type poisoner struct{ step, at int }

func (p *poisoner) Gradient(r *learner.Replay, _ ocl.Batch) (ocl.StepStats, error) {
	stats, err := r.Accumulate(r.Incoming())
	if p.step++; p.step == p.at {
		grads := r.Net.Grads()
		grads[len(grads)-1] = float32(math.NaN())
	}
	return stats, err
}

// TestDivergedByAStepper: the step after the one in which a stepper of somebody else wrote a NaN ends the learner, and
// so does a prediction. Both say who wrote it, and in which step.
func TestDivergedByAStepper(t *testing.T) {
	batches := made.Batches(1, 3, 5)
	for _, c := range []struct{ iterations, at, learned, step int }{{1, 2, 2, 2}, {2, 3, 1, 2}, {2, 4, 2, 2}} {
		r := perceptron(t, 0.1)
		r.Step, r.Iterations = &poisoner{at: c.at}, c.iterations
		learnertest.Observe(t, r, batches[:c.learned])
		want := fmt.Sprintf("*learner_test.poisoner left parameters that are not finite in step %d.", c.step)
		if c.at == c.learned*c.iterations {
			if err := r.Predict(make([]ocl.Label, 5), batches[0].X); !errors.Is(err, ocl.ErrDiverged) ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%+v: a prediction: error %v, want %q", c, err, want)
			}
		}
		if _, err := r.Observe(context.Background(), batches[c.learned]); !errors.Is(err, ocl.ErrDiverged) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%+v: a step: error %v, want %q", c, err, want)
		}
	}
}

func TestLabelOutOfRange(t *testing.T) {
	b := made.Batches(1, 1, 2)[0]
	b.Y[1] = 6
	if _, err := perceptron(t, 0.1).Observe(context.Background(), b); err == nil || errors.Is(err, ocl.ErrDiverged) {
		t.Errorf("label 6 of 6 classes: error %v, want one that names it", err)
	}
}

func TestEmptyBatch(t *testing.T) {
	r := perceptron(t, 0.1)
	before := learnertest.State(t, r)
	learnertest.Observe(t, r, []ocl.Batch{{X: tensor.New(0, 3, 5, 4)}})
	learnertest.CheckSame(t, "after an empty batch", learnertest.State(t, r), before)
}

// TestObserveAllocates pins a steady step at no allocation, with the memory full and the replay batch whole.
func TestObserveAllocates(t *testing.T) {
	for name, step := range map[string]learner.Stepper{"summed": learner.Summed{}, "joint": learner.Joint{},
		"dark": &dark{far: &far{}}, "together": &together{}} {
		c := learnertest.Case{Shape: [3]int{3, 32, 32}, Classes: 6}
		r := residual(t)
		r.Memory = memory.NewStore(12, c.Shape, nil)
		r.Step = step
		if name == "dark" {
			r.Memory.CarryOutputs(6)
		}
		batches := c.Batches(1, 6, 5)
		learnertest.Observe(t, r, batches)
		i, ctx := 0, context.Background()
		var err error
		if n := testing.AllocsPerRun(8, func() {
			_, e := r.Observe(ctx, batches[i%len(batches)])
			err = errors.Join(err, e)
			i++
		}); n != 0 || err != nil {
			t.Errorf("%s: %v allocations a step (%v), want 0", name, n, err)
		}
	}
}

// ExampleReplay builds ER from its parts and learns one batch.
func ExampleReplay() {
	net, err := arch.MLP(arch.Config{Channels: 1, Height: 2, Width: 2, Classes: 3, Hidden: []int{8}},
		rng.New(1, "network/init"))
	if err != nil {
		panic(err)
	}
	ws := net.NewWorkspace(1)
	defer ws.Close()
	er := &learner.Replay{
		Net: net, WS: ws, Opt: optim.SGD{LR: 0.1}.New(),
		Memory:   memory.NewStore(100, [3]int{1, 2, 2}, nil),
		Retrieve: memory.Random{Size: 10}, // line 3 of the survey's algorithm
		Step:     learner.Summed{},        // line 4
		Update:   memory.Reservoir{},      // line 5
		Seed:     1,
	}
	pixels := []byte{0, 0, 255, 255, 255, 255, 0, 0} // two images of 2×2
	batch := ocl.NewBatch([3]int{1, 2, 2}, pixels, []ocl.Label{0, 2}, ocl.NewPixelValues(1, nil, nil))
	for range 50 {
		if _, err := er.Observe(context.Background(), batch); err != nil {
			panic(err)
		}
	}
	labels := make([]ocl.Label, 2)
	if err := er.Predict(labels, batch.X); err != nil {
		panic(err)
	}
	fmt.Println(labels, "learned;", er.Memory.Len(), "samples stored")
	// Output: [0 2] learned; 100 samples stored
}
