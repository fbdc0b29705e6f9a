package loss_test

import (
	"math"
	"testing"

	"ocl/learn/loss"
	"ocl/nn/tensor"
)

// distillers are the losses against a teacher.
var distillers = map[string]loss.Distillation{"T = 1": {T: 1}, "T = 2": {T: 2}}

// TestDistillationByHand: at T = 2, logits (0, ln 4) have softmax (1/3, 2/3), those of the teacher (ln 9, 0) have (3/4,
// 1/4).
func TestDistillationByHand(t *testing.T) {
	z := tensor.Of([]float32{0, float32(math.Log(4))}, 1, 2)
	teacher := tensor.Of([]float32{float32(math.Log(9)), 0}, 1, 2)
	d := tensor.Of([]float32{10, 20}, 1, 2)
	got := loss.Distillation{T: 2}.AddTo(d, z, teacher, 0.5)
	if want := -4 * (0.75*math.Log(1./3) + 0.25*math.Log(2./3)); !(math.Abs(got-want) <= 1e-7) {
		t.Errorf("loss %v, want %v", got, want)
	}
	for k, want := range []float64{10 + 0.5*2*(1./3-0.75), 20 + 0.5*2*(2./3-0.25)} {
		if !(math.Abs(float64(d.Data[k])-want) <= 2e-6) {
			t.Errorf("gradient %d: %v, want %v", k, d.Data[k], want)
		}
	}
}

// TestDistillationGradient compares with central differences of the loss, as TestCrossEntropyGradient does.
func TestDistillationGradient(t *testing.T) {
	const h, weight = 1.0 / (1 << 10), 0.375
	for name, k := range distillers {
		z, _ := random(7, 5, 3)
		for i, v := range z.Data {
			z.Data[i] = float32(math.Round(float64(v)*1024) / 1024)
		}
		teacher := tensor.New(7, 5)
		for i := range teacher.Data {
			teacher.Data[i] = 2 * z.Data[(i+11)%35]
		}
		d, scratch := tensor.New(7, 5), tensor.New(7, 5)
		k.AddTo(d, z, teacher, weight)
		for i, v := range z.Data {
			z.Data[i] = v + h
			up := k.AddTo(scratch, z, teacher, weight)
			z.Data[i] = v - h
			down := k.AddTo(scratch, z, teacher, weight)
			z.Data[i] = v
			if want := weight * (up - down) / (2 * h); !(math.Abs(float64(d.Data[i])-want) <= 1e-6) {
				t.Errorf("%s: gradient %d: %v, central difference %v", name, i, d.Data[i], want)
			}
		}
	}
}

// TestDistillationFromItself has no gradient, and no other logits give a smaller loss.
func TestDistillationFromItself(t *testing.T) {
	z, _ := random(7, 5, 30) // 30: a softmax that all but excludes classes
	other, _ := random(7, 5, 20)
	for name, k := range distillers {
		d := tensor.New(7, 5)
		least := k.AddTo(d, z, z, 1)
		for i, v := range d.Data {
			if v != 0 {
				t.Errorf("%s: gradient %d is %v, want 0", name, i, v)
			}
		}
		if more := k.AddTo(d, other, z, 1); !(more > least) || !(least >= 0) {
			t.Errorf("%s: loss %v, from other logits %v, want more", name, least, more)
		}
	}
}

func TestDistillationExtremes(t *testing.T) {
	huge := tensor.Of([]float32{3e38, -3e38, 1e5, 0, 88}, 1, 5)
	nan := tensor.Of([]float32{0, float32(math.NaN()), 0, float32(math.NaN()), 0}, 1, 5)
	zero := tensor.New(1, 5)
	for name, k := range distillers {
		d := tensor.New(1, 5)
		if l := k.AddTo(d, zero, huge, 1); math.IsNaN(l) || math.IsInf(l, 0) {
			t.Errorf("%s: loss %v against a teacher that is sure, want a finite one", name, l)
		}
		if l := k.AddTo(d, huge, zero, 1); math.IsNaN(l) || math.IsInf(l, 0) {
			t.Errorf("%s: loss %v of a network that is sure, want a finite one", name, l)
		}
		for i, v := range d.Data {
			if v != v {
				t.Errorf("%s: gradient %d is NaN", name, i)
			}
		}
		if l := k.AddTo(d, nan, zero, 1); !math.IsNaN(l) {
			t.Errorf("%s: loss %v of logits that are NaN, want NaN", name, l)
		}
	}
}
