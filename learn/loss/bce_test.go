package loss_test

import (
	"math"
	"testing"

	"ocl/learn/loss"
	"ocl/nn/tensor"
	"ocl/rng"
)

// bce is the definition in float64, on the first columns of the logits.
func bce(logits, targets *tensor.Tensor) float64 {
	sum := 0.0
	for i := range targets.Dim(0) {
		for j, t := range targets.Row(i) {
			p := 1 / (1 + math.Exp(-float64(logits.Row(i)[j])))
			sum -= float64(t)*math.Log(p) + (1-float64(t))*math.Log(1-p)
		}
	}
	return sum / float64(targets.Dim(0))
}

// TestBCE compares loss and gradient with the definition and its central differences; columns without a target get no
// gradient, and the gradient may take the place of the logits.
func TestBCE(t *testing.T) {
	src := rng.New(1, "bce")
	z, targets := tensor.New(4, 7), tensor.New(4, 5)
	for i := range z.Data {
		z.Data[i] = float32(6*src.Float64() - 3)
	}
	for i := range targets.Data {
		targets.Data[i] = float32(src.IntN(5)) / 4
	}
	d := tensor.New(4, 7)
	for i := range d.Data {
		d.Data[i] = 9
	}
	if got, want := loss.BCE(d, z, targets), bce(z, targets); !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("loss %v, want %v", got, want)
	}
	for i := range z.Data {
		const h = 1.0 / 256
		up, down := z.Clone(), z.Clone()
		up.Data[i] += h
		down.Data[i] -= h
		want := (bce(up, targets) - bce(down, targets)) / float64(up.Data[i]-down.Data[i])
		if !(math.Abs(float64(d.Data[i])-want) <= 1e-5) || i%7 >= 5 && d.Data[i] != 0 {
			t.Errorf("gradient %d: %v, want %v", i, d.Data[i], want)
		}
	}
	loss.BCE(z, z, targets)
	for i, v := range z.Data {
		if v != d.Data[i] {
			t.Fatalf("in place: gradient %d is %v, want %v", i, v, d.Data[i])
		}
	}
}

// TestBCEExtremes: large logits neither overflow nor lose the loss; a NaN shows.
func TestBCEExtremes(t *testing.T) {
	z, targets, d := tensor.Of([]float32{1000, -1000}, 1, 2), tensor.Of([]float32{0, 0}, 1, 2), tensor.New(1, 2)
	if got := loss.BCE(d, z, targets); got != 1000 || d.Data[0] != 1 || d.Data[1] != 0 {
		t.Errorf("loss %v and gradient %v, want 1000 and [1 0]", got, d.Data)
	}
	z.Data[1] = float32(math.NaN())
	if got := loss.BCE(d, z, targets); !math.IsNaN(got) {
		t.Errorf("a logit of NaN: loss %v", got)
	}
}
