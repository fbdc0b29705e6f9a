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
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/rng"
)

// gdumb is GDumb on the small perceptron.
func gdumb(t *testing.T, capacity int) *learner.GDumb {
	t.Helper()
	r := perceptron(t, 0.1)
	return &learner.GDumb{
		Net: r.Net, WS: r.WS, Opt: optim.SGD{LR: 0.1, WeightDecay: 0.01}, Seed: 1, InitSeed: 2,
		Memory: memory.NewStore(capacity, shape, nil),
	}
}

// TestGDumbTrains compares a training with Finetune on the same samples: a new network, the memory in a random order in
// each epoch, whole batches only (docs/deviations.md: GDumb learner). With a clip that never acts, both give the same
// bits.
func TestGDumbTrains(t *testing.T) {
	g := gdumb(t, 23)
	g.Epochs, g.Batch, g.Clip = 4, 5, 1e30
	var at [][2]int
	g.Watch(func(done, total int) { at = append(at, [2]int{done, total}) })
	learnertest.Observe(t, g, made.Batches(1, 8, 5))
	if err := g.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	if g.Memory.Len() != 23 || len(at) != 16 || at[0] != [2]int{1, 16} || at[15] != [2]int{16, 16} {
		t.Errorf("%d samples stored; watched %v; want 23, and 16 steps of 4 whole batches in 4 epochs", g.Memory.Len(), at)
	}
	twin := perceptron(t, 0.1)
	twin.Opt = optim.SGD{LR: 0.1, WeightDecay: 0.01}.New()
	twin.Net.Init(rng.New(2, "gdumb/init/40"))
	order := rng.New(1, "gdumb/order/40")
	slots := make([]int, 23)
	for i := range slots {
		slots[i] = i
	}
	for range 4 {
		order.Shuffle(23, func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
		for i := range 4 {
			b := made.Batches(1, 1, 5)[0]
			g.Memory.Gather(b.X, b.Y, slots[5*i:5*i+5])
			learnertest.Observe(t, twin, []ocl.Batch{b})
		}
	}
	if !slices.Equal(g.Net.Params(), twin.Net.Params()) {
		t.Error("the trained network is not that of single steps on the memory")
	}
}

// TestGDumbUnasked: to predict before the first batch is an error that says what to do. So is a label that no output
// has.
func TestGDumbUnasked(t *testing.T) {
	g := gdumb(t, 12)
	if err := g.Prepare(context.Background()); err == nil ||
		!strings.Contains(err.Error(), "Observe a batch before a prediction") {
		t.Errorf("error %v", err)
	}
	b := made.Batches(1, 1, 5)[0]
	if err := g.Predict(make([]ocl.Label, 5), b.X); err == nil ||
		!strings.Contains(err.Error(), "Call Prepare after the last batch") {
		t.Errorf("error %v", err)
	}
	if _, err := g.Observe(context.Background(), relabelled(b, 6)); err == nil ||
		!strings.Contains(err.Error(), "label 6") {
		t.Errorf("error %v", err)
	}
}

// TestGDumbStops: a training ends between two steps when ctx does, and starts again whole; a NaN ends it as diverged.
func TestGDumbStops(t *testing.T) {
	g := gdumb(t, 12)
	batches := made.Batches(1, 4, 5)
	learnertest.Observe(t, g, batches)
	ctx, cancel := context.WithCancel(context.Background())
	steps := 0
	g.Watch(func(done, total int) {
		if steps++; done == 7 {
			cancel()
		}
	})
	if err := g.Prepare(ctx); !errors.Is(err, context.Canceled) || steps != 7 {
		t.Errorf("cancelled in step 7: %d steps, error %v", steps, err)
	}
	g.Watch(nil)
	twin := gdumb(t, 12)
	learnertest.Observe(t, twin, batches)
	if a, b := learnertest.Predict(t, g, batches[0].X), learnertest.Predict(t, twin, batches[0].X); !slices.Equal(a, b) ||
		!slices.Equal(g.Net.Params(), twin.Net.Params()) {
		t.Errorf("after an interruption %v, without %v", a, b)
	}
	bad := gdumb(t, 12)
	bad.Opt = optim.SGD{LR: 1e30}
	learnertest.Observe(t, bad, batches)
	if err := bad.Prepare(context.Background()); !errors.Is(err, ocl.ErrDiverged) ||
		!strings.Contains(err.Error(), "epoch ") {
		t.Errorf("learning rate 1e30: error %v", err)
	}
}

// TestCosineRestarts: an epoch at a tenth, then cycles of 1, 2, 4, … epochs that each begin at the top.
func TestCosineRestarts(t *testing.T) {
	rate := learner.CosineRestarts(0.05, 0.0005)
	middle := (0.05 + 0.0005) / 2
	for epoch, want := range map[int]float64{0: 0.005, 1: 0.05, 2: 0.05, 3: middle, 4: 0.05, 6: middle, 8: 0.05,
		12: middle, 16: 0.05, 24: middle} {
		if got := rate(epoch); !(math.Abs(got-want) <= 1e-15) {
			t.Errorf("epoch %d: %v, want %v", epoch, got, want)
		}
	}
	for epoch := range 30 {
		if v := rate(epoch); !(v > 0.0005 && v <= 0.05) {
			t.Errorf("epoch %d: %v", epoch, v)
		}
	}
}
