package metric

import (
	"math"
	"testing"

	"ocl/internal/rng"
)

// The example of the docstring by hand: the squares of both samples are 2 + 2 with 3 degrees of freedom, so that the difference of 4 has
// the standard error √(4/3 · 5/6) = 1.0541, t is 3.7947, and the quantile is 3.1824.
func TestUnpaired(t *testing.T) {
	for _, c := range []struct {
		a, b                []float64
		difference, half, p float64
	}{
		{[]float64{5, 7}, []float64{1, 2, 3}, 4, 3.3546, 0.0321},
		{[]float64{5}, []float64{1, 2, 3}, 3, 4.9683, 0.1217}, // the prediction interval of three values: 4.3027·√(1 + 1/3)
		{[]float64{2, 2}, []float64{2, 2, 2}, 0, 0, 1},
		{[]float64{2.5, 2.5}, []float64{2, 2, 2}, 0.5, 0, 0},
		{[]float64{1, 3}, []float64{1, 2, 3}, 0, 3.3546, 1},
	} {
		difference, half, p := Unpaired(c.a, c.b)
		if !(math.Abs(difference-c.difference) <= 1e-12 && math.Abs(half-c.half) <= 1e-4 && math.Abs(p-c.p) <= 1e-4) {
			t.Errorf("%v and %v: %g ± %g, p = %g, want %g ± %g, p = %g", c.a, c.b, difference, half, p, c.difference, c.half, c.p)
		}
	}
}

// The probability is exact however few values there are: it is below each level as often as the level says.
func TestUnpairedIsExact(t *testing.T) {
	const tries = 10_000
	src := rng.New(1, "metric/unpaired")
	levels := []float64{0.05, 0.0025}
	for _, n := range [][2]int{{1, 3}, {2, 3}, {3, 3}, {2, 8}, {5, 8}} {
		below := make([]float64, len(levels))
		for range tries {
			a, b := make([]float64, n[0]), make([]float64, n[1])
			for _, sample := range [][]float64{a, b} {
				for i := range sample {
					sample[i] = src.NormFloat64()
				}
			}
			_, _, p := Unpaired(a, b)
			for i, level := range levels {
				if p < level {
					below[i]++
				}
			}
		}
		for i, level := range levels {
			// 4.5 standard deviations: a false alarm in 100,000 seeds.
			if share := below[i] / tries; !(math.Abs(share-level) <= 4.5*math.Sqrt(level*(1-level)/tries)) {
				t.Errorf("%d and %d values: p is below %g in %g of the cases", n[0], n[1], level, share)
			}
		}
	}
}
