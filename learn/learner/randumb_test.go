package learner_test

import (
	"math"
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// dumb is a RanDumb with so many features of inputs of d values.
func dumb(t *testing.T, d, features, classes int, gamma float64) *learner.RanDumb {
	t.Helper()
	net, err := arch.MLP(arch.Config{Channels: d, Height: 1, Width: 1, Classes: classes, Hidden: []int{features},
		Waves: true}, rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	ws := net.NewWorkspace(2)
	t.Cleanup(ws.Close)
	l := learner.NewRanDumb(net, ws)
	l.Gamma, l.Seed = gamma, 1
	return l
}

// TestRanDumbIsAKernel: 2/D times the product of the features of two inputs comes near exp(−γ·‖x−y‖²).
func TestRanDumbIsAKernel(t *testing.T) {
	const features, gamma = 20_000, 0.3
	l := dumb(t, 3, features, 2, gamma)
	x := tensor.Of([]float32{0, 0, 0, 1, 0, 0, 1, 1, -1, 3, -2, 0.5}, 4, 3, 1, 1)
	p := l.Parts()
	h := p.Net.Predict(p.WS, x).Features
	for i := range 4 {
		for j := range 4 {
			product, distance := 0.0, 0.0
			for k, v := range h.Row(i) {
				product += float64(v) * float64(h.Row(j)[k])
			}
			for k, v := range x.Row(i) {
				distance += math.Pow(float64(v-x.Row(j)[k]), 2)
			}
			// the deviation of a mean of 20,000 products of cosines is below 1/√20,000
			if want := math.Exp(-gamma * distance); !(math.Abs(2*product/features-want) <= 4*2/math.Sqrt(features)) {
				t.Errorf("inputs %d and %d: %v, want %v", i, j, 2*product/features, want)
			}
		}
	}
}

// TestRanDumbTellsRingsApart, which no line does: half of a class lies on either side of the other one.
func TestRanDumbTellsRingsApart(t *testing.T) {
	src := rng.New(1, "rings")
	b := ocl.Batch{X: tensor.New(600, 2, 1, 1), Y: make([]ocl.Label, 600)}
	for i := range b.Y {
		b.Y[i] = ocl.Label(src.IntN(2))
		angle, radius := 2*math.Pi*src.Float64(), 1+float64(b.Y[i])+0.2*src.NormFloat64()
		b.X.Row(i)[0], b.X.Row(i)[1] = float32(radius*math.Cos(angle)), float32(radius*math.Sin(angle))
	}
	train, test := b.Rows(0, 400), b.Rows(400, 600)
	right := func(l ocl.Learner) (n int) {
		observeAll(t, l, train, 50)
		for i, y := range learnertest.Predict(t, l, test.X) {
			if y == test.Y[i] {
				n++
			}
		}
		return n
	}
	lines, waves := right(computing(t, "slda", 2, 2, 1)), right(dumb(t, 2, 60, 2, 0.5))
	if waves < 190 || lines > 140 {
		t.Errorf("%d of 200 are right, and %d of a line; want 190 and at most 140", waves, lines)
	}
}

// TestRanDumbFromAState: features are drawn from the seed and γ of the state, and not from those of the learner.
func TestRanDumbFromAState(t *testing.T) {
	b := gaussians(1, 60, 4, 3, 1)
	first, second := dumb(t, 4, 9, 3, 0.2), dumb(t, 4, 9, 3, 0.7)
	second.Seed = 5
	observeAll(t, first, b, 20)
	before := params(second)
	if err := second.LoadState(learnertest.State(t, first).Decoder()); err != nil {
		t.Fatal(err)
	}
	if d := apart(params(second), params(first)); d != 0 || apart(before, params(first)) == 0 {
		t.Errorf("weights are %v apart", d)
	}
}
