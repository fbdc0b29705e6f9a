package metric

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// near says whether two values agree to twelve digits; NaN agrees with nothing.
func near(got, want float64) bool {
	return math.Abs(got-want) <= 1e-12*math.Max(1, math.Abs(want))
}

// TestPairedGolden compares with SciPy (testdata/paired.py).
func TestPairedGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/paired.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			A, B             []float64
			Mean, Half, T, P float64
			SignFlip         float64 `json:"sign_flip"`
		}
		Families []struct{ P, Holm []float64 }
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) < 18 || len(golden.Families) < 4 {
		t.Fatalf("%d cases and %d families, want 18 and 4", len(golden.Cases), len(golden.Families))
	}
	for _, c := range golden.Cases {
		got := Paired(c.A, c.B)
		// gonum's and SciPy's incomplete beta functions agree to ten digits.
		if got.N != len(c.A) || !near(got.Mean, c.Mean) || !(math.Abs(got.Half-c.Half) <= 1e-9*c.Half) || !near(got.T, c.T) ||
			!(math.Abs(got.P-c.P) <= 1e-10) || !near(got.SignFlip, c.SignFlip) {
			t.Errorf("Paired(%v, %v) = %+v, want %+v", c.A, c.B, got, c)
		}
	}
	for _, f := range golden.Families {
		for i, got := range Holm(f.P) {
			if !near(got, f.Holm[i]) {
				t.Errorf("Holm(%v)[%d] = %g, want %g", f.P, i, got, f.Holm[i])
			}
		}
	}
}

// TestPairedEdges: no pairs, one, equal ones, and lists that do not fit.
func TestPairedEdges(t *testing.T) {
	if c := Paired(nil, nil); c.N != 0 || !math.IsNaN(c.Mean) || !math.IsNaN(c.P) || !math.IsNaN(c.SignFlip) {
		t.Errorf("no pairs give %+v", c)
	}
	if c := Paired([]float64{3}, []float64{1}); c.Mean != 2 || !math.IsNaN(c.Half) || !math.IsNaN(c.P) || c.SignFlip != 1 {
		t.Errorf("one pair gives %+v", c)
	}
	if c := Paired([]float64{1, 2, 3}, []float64{1, 2, 3}); c.Mean != 0 || !math.IsNaN(c.T) || c.P != 1 || c.SignFlip != 1 {
		t.Errorf("equal lists give %+v", c)
	}
	if c := Paired([]float64{2, 3, 4}, []float64{1, 2, 3}); !math.IsInf(c.T, 1) || c.P != 0 || c.SignFlip != 0.25 {
		t.Errorf("equal differences give %+v", c)
	}
	many := make([]float64, MaxPairs)
	for i := range many {
		many[i] = 1
	}
	if c := Paired(many, make([]float64, MaxPairs)); c.SignFlip != math.Exp2(1-MaxPairs) {
		t.Errorf("%d equal differences give %g, want 2/2^%d", MaxPairs, c.SignFlip, MaxPairs)
	}
	if got := Holm([]float64{math.NaN(), 0.02, 0.03}); !math.IsNaN(got[0]) || got[1] != 0.04 || got[2] != 0.04 {
		t.Errorf("Holm with a test that was not made is %v", got)
	}
	for _, f := range []func(){func() { Paired([]float64{1}, nil) }, func() { Paired(make([]float64, MaxPairs+1), make([]float64, MaxPairs+1)) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("lists that do not fit are compared")
				}
			}()
			f()
		}()
	}
}

// TestSignFlipCountsAllSigns compares with counting all signs one by one.
func TestSignFlipCountsAllSigns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SliceOfN(rapid.Map(rapid.IntRange(-9, 9), func(n int) float64 { return float64(n) }), 1, 11).Draw(t, "differences")
		seen := 0.0
		for _, x := range d {
			seen += x
		}
		as := 0
		for signs := range 1 << len(d) {
			sum := 0.0
			for i, x := range d {
				if signs>>i&1 == 1 {
					x = -x
				}
				sum += x
			}
			if math.Abs(sum) >= math.Abs(seen) {
				as++
			}
		}
		if got, want := signFlip(d), float64(as)/math.Exp2(float64(len(d))); got != want {
			t.Errorf("signFlip(%v) = %g, want %g", d, got, want)
		}
	})
}

// TestHolmKeepsOrder: adjusted probabilities have the order of the others, are never smaller, and stay in [0,1].
func TestHolmKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 20).Draw(t, "p")
		slices.Sort(p)
		for i, v := range Holm(p) {
			if !(v >= p[i] && v <= 1) || i > 0 && v < Holm(p)[i-1] {
				t.Errorf("Holm(%v)[%d] = %g", p, i, v)
			}
		}
	})
}
