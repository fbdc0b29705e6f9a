package metric

import (
	"math"
	"testing"

	"ocl/rng"
)

// TestWelch compares with SciPy: stats.t.sf and stats.t.ppf with the degrees of freedom of the definition, and
// stats.ttest_ind of two lists.
func TestWelch(t *testing.T) {
	for _, tt := range []struct {
		mean, a, freedomA, b, freedomB float64
		err, freedom, p, half          float64
	}{
		{1, 0.5, 2, 0.3, 14, 0.58309518948453, 3.6319569120287247, 0.1687033457920578, 1.280160553279392},
		{-2, 0.1, 4, 0.4, 9, 0.4123105625617661, 10.071636011616654, 0.0006570544630689407, 0.7467578771317017},
		{0.3, 0, 2, 0.5, 14, 0.5, 14, 0.5580935850727566, 0.8806550678874455},
		{5, 0.7, 40, 0.02, 9, 0.7002856560004638, 40.06521411570626, 1.1876630548494149e-08, 1.1791312145045008},
	} {
		d := Welch(tt.mean, tt.a, tt.freedomA, tt.b, tt.freedomB)
		for name, v := range map[string][2]float64{"error": {d.Error, tt.err}, "freedom": {d.Freedom, tt.freedom},
			"p": {d.P(), tt.p}, "half": {d.Half(0.95), tt.half}} {
			if math.Abs(v[0]-v[1]) > 1e-9*v[1] {
				t.Errorf("%+v: %s %g, want %g", tt, name, v[0], v[1])
			}
		}
	}
	x, y := []float64{17.0, 20.8, 17.2}, []float64{16.1, 17.3, 18.2, 15.9, 17.7}
	m, h := Interval(x)
	n, k := Interval(y)
	if d := Welch(m-n, ErrorOf(h, len(x)), 2, ErrorOf(k, len(y)), 4); math.Abs(d.P()-0.4091185847044775) > 1e-9 ||
		math.Abs(d.Freedom-2.541731214000753) > 1e-9 {
		t.Errorf("two lists: p %g with %g degrees of freedom", d.P(), d.Freedom)
	}
	for n, want := range map[int]float64{15: 0.6061208824743605, 10: 0.5746727156622257} {
		if got := ErrorOf(1.3, n); math.Abs(got-want) > 1e-9 {
			t.Errorf("the error behind ± 1.3 of %d runs is %g, want %g", n, got, want)
		}
	}
	if d := Welch(1, 0, 2, 0, 14); !math.IsNaN(d.P()) || !math.IsNaN(d.Half(0.95)) || !math.IsNaN(ErrorOf(1, 1)) {
		t.Errorf("nothing spreads: p %g ± %g", d.P(), d.Half(0.95))
	}
}

// The example of the docstring by hand: the squares of both samples are 2 + 2 with 3 degrees of freedom, so that the
// difference of 4 has the standard error √(4/3 · 5/6) = 1.0541, t is 3.7947, and the quantile is 3.1824.
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
			t.Errorf("%v and %v: %g ± %g, p = %g, want %g ± %g, p = %g", c.a, c.b, difference, half, p, c.difference, c.half,
				c.p)
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
