package probe_test

import (
	"math"
	"testing"

	"ocl"
	"ocl/internal/goldentest"
	"ocl/learn/probe"
	"ocl/nn/tensor"
)

// TestIsThatOfScikitLearn: weights and guesses are those of the logistic regression of scikit-learn, which
// testdata/golden.py has fitted to the same samples.
func TestIsThatOfScikitLearn(t *testing.T) {
	var golden struct {
		Weights [][]float64 // [D][K], of standardised features
		Classes []ocl.Label // of the second half of the samples
		Close   []bool      // whose two largest logits are closer than a hundredth
	}
	goldentest.Read(t, "testdata/sklearn.json", &golden)
	const rows, features, classes = 240, 7, 4
	x, y := tensor.Of(goldentest.Signed(1, rows*features, 4), rows, features), make([]ocl.Label, rows)
	for i := range rows {
		row := x.Row(i)
		row[features-1] = 2
		for k := range classes {
			if row[k] > row[y[i]] {
				y[i] = ocl.Label(k)
			}
		}
		if i%5 == 0 {
			y[i] = (y[i] + 1) % classes
		}
	}
	p := fit(t, x.Rows(0, rows/2), y[:rows/2], classes, 1)
	if !p.Converged {
		t.Errorf("no convergence in %d iterations", p.Iterations)
	}
	for i, row := range golden.Weights {
		for k, want := range row {
			if got := float64(probe.Weights(p)[i*classes+k]); !(math.Abs(got-want) < 2e-3) {
				t.Errorf("weight %d of class %d is %.5f, that of scikit-learn is %.5f", i, k, got, want)
			}
		}
	}
	got := make([]ocl.Label, rows/2)
	p.Classify(got, x.Rows(rows/2, rows))
	for i, k := range golden.Classes {
		if !golden.Close[i] && got[i] != k {
			t.Errorf("sample %d is classified as %d, and as %d by scikit-learn", i, got[i], k)
		}
	}
	if len(golden.Weights) != features || len(golden.Classes) != rows/2 {
		t.Errorf("%d weights and %d classes", len(golden.Weights), len(golden.Classes))
	}
}
