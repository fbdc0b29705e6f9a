package probe_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"ocl"
	"ocl/learn/probe"
	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/rng"
)

// blobs are n samples of three classes around three points, with a feature that is the same for all.
func blobs(n int) (*tensor.Tensor, []ocl.Label) {
	src := rng.New(3, "blobs")
	x, y := tensor.New(n, 5), make([]ocl.Label, n)
	for i := range n {
		k := src.IntN(3)
		y[i] = ocl.Label(k)
		for j := range 4 {
			x.Row(i)[j] = float32(10 + 3*src.NormFloat64())
		}
		x.Row(i)[k] += 5
		x.Row(i)[4] = 7
	}
	return x, y
}

func fit(t *testing.T, x *tensor.Tensor, y []ocl.Label, classes, workers int) *probe.Probe {
	t.Helper()
	p, err := probe.Fit(t.Context(), x, y, classes, nn.Engine{}, workers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// TestTwoSamplesByHand: the answer of a regression that can be worked out by hand.
func TestTwoSamplesByHand(t *testing.T) {
	// One feature, ±1 after standardising, and two classes. By symmetry the rows of W are ±v, b is 0, and with n = 2 the
	// objective is ln(1 + e^−2v) + v²/2, whose minimum has v = 2/(1 + e^2v).
	x := tensor.Of([]float32{4, 8}, 2, 1)
	p := fit(t, x, []ocl.Label{0, 1}, 2, 1)
	v := 0.5
	for range 200 {
		v = (v + 2/(1+math.Exp(2*v))) / 2
	}
	weights := probe.Weights(p)
	if len(weights) != 4 || !p.Converged {
		t.Fatalf("weights %v, converged %v", weights, p.Converged)
	}
	for i, want := range []float64{-v, v, 0, 0} {
		if math.Abs(float64(weights[i])-want) > 1e-3 {
			t.Errorf("parameter %d is %v, want %v", i, weights[i], want)
		}
	}
}

func TestSeparatesBlobs(t *testing.T) {
	x, y := blobs(1300)
	p := fit(t, x.Rows(0, 1200), y[:1200], 3, 1)
	got := make([]ocl.Label, 1300)
	p.Classify(got, x)
	right := 0
	for i, k := range got[1200:] {
		if k == y[1200+i] {
			right++
		}
	}
	if !p.Converged || p.Iterations < 3 || right < 70 {
		t.Errorf("%d of 100 right after %d iterations, converged %v; want at least 70", right, p.Iterations, p.Converged)
	}
	other := fit(t, x.Rows(0, 1200), y[:1200], 3, 2)
	for i, v := range probe.Weights(p) {
		if w := probe.Weights(other)[i]; v != w {
			t.Fatalf("parameter %d is %v with one worker and %v with two", i, v, w)
		}
	}
}

func TestEnds(t *testing.T) {
	x, y := blobs(20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := probe.Fit(ctx, x, y, 3, nn.Engine{}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that ctx has ended", err)
	}
	x.Data[3] = float32(math.NaN())
	if _, err := probe.Fit(t.Context(), x, y, 3, nn.Engine{}, 1); !errors.Is(err, ocl.ErrDiverged) {
		t.Errorf("%v, want that a feature is no number", err)
	}
}
