package method_test

import (
	"slices"
	"testing"

	"ocl"
	"ocl/learn/augment"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/method"
	"ocl/learn/optim"
	"ocl/nn/tensor"
)

// TestSCRGolden follows ten steps with mirrored views, and the class means after them.
func TestSCRGolden(t *testing.T) {
	g := read(t, "scr.json")
	l := g.start(t, "scr", map[string]any{"temperature": g.Tau, "projection": g.Projected})
	r := l.(*learner.Nearest).Replay
	method.ShowViews(r, &augment.Flip{P: 1})
	g.follow(t, l, r)
	var all []ocl.Batch
	var pixels []float32
	for i := range g.Steps {
		all = append(all, g.batch(i))
		pixels = append(pixels, all[i].X.Data...)
	}
	x := tensor.Of(pixels, g.Batch*len(g.Steps), 1, g.Side, g.Side)
	if got := learnertest.Predict(t, l, x); !slices.Equal(got, g.Predicted) {
		t.Errorf("predicts %v, want %v", got, g.Predicted)
	}
}

// TestSCRViews: each choice of views makes other ones.
func TestSCRViews(t *testing.T) {
	shape := [3]int{3, 5, 4}
	batches := learnertest.Case{Shape: shape, Classes: 6}.Batches(1, 3, 6)
	losses := map[float64]string{}
	for _, name := range []string{"scr", "crop", "rand"} {
		l := build("scr", perceptron, with("views", name))(t, 1)
		loss := learnertest.Observe(t, l, batches)[1].Loss
		if other, same := losses[loss]; same {
			t.Errorf("views %s and %s have the same loss %v", name, other, loss)
		}
		losses[loss] = name
	}
}

// TestSCRNeedsMemory: without memory there is nothing to learn from.
func TestSCRNeedsMemory(t *testing.T) {
	info, err := method.Lookup("scr")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := info.New(method.Setup{ReplayBatch: 1, Iterations: 1}); err == nil {
		t.Error("scr without memory was made")
	}
}

// TestSCRWaitsForMemory: the first batch is stored and moves no parameter, not even by weight decay. No step predicts.
func TestSCRWaitsForMemory(t *testing.T) {
	shape := [3]int{3, 5, 4}
	l := build("scr", perceptron, func(s *method.Setup) { s.Opt = optim.SGD{LR: 0.1, WeightDecay: 0.1} })(t, 1)
	net := l.(*learner.Nearest).Net
	before := slices.Clone(net.Params())
	for i, b := range (learnertest.Case{Shape: shape, Classes: 6}).Batches(1, 2, 5) {
		stats := learnertest.Observe(t, l, []ocl.Batch{b})[0]
		if same := slices.Equal(net.Params(), before); same != (i == 0) || stats.Correct != -1 ||
			stats.Replay != min(5*i, 4) {
			t.Errorf("batch %d: parameters unmoved: %v, %+v", i+1, same, stats)
		}
	}
}
