package metric

import (
	"math"
	"testing"
)

// TestWelch compares with SciPy: stats.t.sf and stats.t.ppf with the degrees of freedom of the definition, and stats.ttest_ind of two lists.
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
		for name, v := range map[string][2]float64{"error": {d.Error, tt.err}, "freedom": {d.Freedom, tt.freedom}, "p": {d.P(), tt.p}, "half": {d.Half(0.95), tt.half}} {
			if math.Abs(v[0]-v[1]) > 1e-9*v[1] {
				t.Errorf("%+v: %s %g, want %g", tt, name, v[0], v[1])
			}
		}
	}
	x, y := []float64{17.0, 20.8, 17.2}, []float64{16.1, 17.3, 18.2, 15.9, 17.7}
	m, h := Interval(x)
	n, k := Interval(y)
	if d := Welch(m-n, ErrorOf(h, len(x)), 2, ErrorOf(k, len(y)), 4); math.Abs(d.P()-0.4091185847044775) > 1e-9 || math.Abs(d.Freedom-2.541731214000753) > 1e-9 {
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
