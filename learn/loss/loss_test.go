package loss_test

import (
	"math"
	"testing"

	"ocl"
	"ocl/learn/loss"
	"ocl/nn/tensor"
	"ocl/rng"
)

func random(rows, classes int, scale float64) (*tensor.Tensor, []ocl.Label) {
	src := rng.New(1, "loss")
	z, y := tensor.New(rows, classes), make([]ocl.Label, rows)
	for i := range z.Data {
		z.Data[i] = float32(src.NormFloat64() * scale)
	}
	for i := range y {
		y[i] = ocl.Label(src.IntN(classes))
	}
	return z, y
}

// TestCrossEntropyByHand: logits (ln 1, ln 2, ln 5) have softmax (1/8, 2/8, 5/8).
func TestCrossEntropyByHand(t *testing.T) {
	z := tensor.Of([]float32{0, float32(math.Log(2)), float32(math.Log(5))}, 1, 3)
	d := tensor.New(1, 3)
	got, err := loss.CrossEntropy{}.Eval(d, loss.Input{Logits: z, Y: []ocl.Label{1}})
	if err != nil || !(math.Abs(got-math.Log(4)) <= 1e-7) {
		t.Errorf("loss %v (%v), want ln 4 = %v", got, err, math.Log(4))
	}
	for k, want := range []float64{1. / 8, 2./8 - 1, 5. / 8} {
		if !(math.Abs(float64(d.Data[k])-want) <= 1e-7) {
			t.Errorf("gradient %d: %v, want %v", k, d.Data[k], want)
		}
	}
}

// TestCrossEntropyGradient compares the gradient with central differences of the loss. The step is a power of two, so
// that z ± h is exact for the logits used; the loss is float64, so the error is h² times the third derivative (≤ 1).
func TestCrossEntropyGradient(t *testing.T) {
	const h = 1.0 / (1 << 10)
	for _, shape := range [][2]int{{1, 1}, {1, 2}, {7, 5}, {10, 100}} {
		z, y := random(shape[0], shape[1], 3)
		for i, v := range z.Data {
			z.Data[i] = float32(math.Round(float64(v)*1024) / 1024)
		}
		d, scratch := tensor.New(shape[0], shape[1]), tensor.New(shape[0], shape[1])
		eval := func(dst *tensor.Tensor) float64 {
			l, err := loss.CrossEntropy{}.Eval(dst, loss.Input{Logits: z, Y: y})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		eval(d)
		for i, v := range z.Data {
			z.Data[i] = v + h
			up := eval(scratch)
			z.Data[i] = v - h
			down := eval(scratch)
			z.Data[i] = v
			if want := (up - down) / (2 * h); !(math.Abs(float64(d.Data[i])-want) <= 1e-6) {
				t.Errorf("shape %v: gradient %d: %v, central difference %v", shape, i, d.Data[i], want)
			}
		}
	}
}

func TestCrossEntropyLargeLogits(t *testing.T) {
	z := tensor.Of([]float32{1e30, -1e30, 3e38, -3e38}, 2, 2)
	d := tensor.New(2, 2)
	got, err := loss.CrossEntropy{}.Eval(d, loss.Input{Logits: z, Y: []ocl.Label{0, 0}})
	if err != nil || got != 0 {
		t.Errorf("loss %v (%v), want 0: both rows are right and certain", got, err)
	}
	for i, v := range d.Data {
		if v != 0 {
			t.Errorf("gradient %d: %v, want 0", i, v)
		}
	}
}

func TestCrossEntropyNotFinite(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		z := tensor.Of([]float32{0, bad, 1}, 1, 3)
		got, err := loss.CrossEntropy{}.Eval(tensor.New(1, 3), loss.Input{Logits: z, Y: []ocl.Label{0}})
		if err != nil || !(math.IsNaN(got) || math.IsInf(got, 0)) {
			t.Errorf("logit %v: loss %v (%v), want one that is not finite", bad, got, err)
		}
	}
}

func TestCrossEntropyInPlace(t *testing.T) {
	z, y := random(7, 5, 3)
	d := tensor.New(7, 5)
	want, _ := loss.CrossEntropy{}.Eval(d, loss.Input{Logits: z, Y: y})
	got, _ := loss.CrossEntropy{}.Eval(z, loss.Input{Logits: z, Y: y})
	if got != want {
		t.Errorf("in place: loss %v, want %v", got, want)
	}
	for i := range z.Data {
		if z.Data[i] != d.Data[i] {
			t.Fatalf("in place: gradient %d: %v, want %v", i, z.Data[i], d.Data[i])
		}
	}
}

func TestCrossEntropyLabelOutOfRange(t *testing.T) {
	for _, y := range []ocl.Label{-1, 3} {
		_, err := loss.CrossEntropy{}.Eval(tensor.New(1, 3), loss.Input{Logits: tensor.New(1, 3), Y: []ocl.Label{y}})
		if err == nil {
			t.Errorf("label %d of 3 classes: no error", y)
		}
	}
}
