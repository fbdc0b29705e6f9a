package compare

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// of are values of seeds from 1 on, of one engine; NaN is a seed without a run.
func of(step float64, values ...float64) []Value {
	var all []Value
	for i, v := range values {
		all = append(all, Value{Seed: uint64(i + 1), Engine: Engine{"avx2", "winograd"}, Value: v, Step: step})
	}
	return all
}

// one is a comparison that is a family of its own.
func one(first, second []Value) Comparison {
	return Family([]Question{{First: first, Second: second}})[0]
}

// same says whether two results are the same, NaN as NaN.
func same(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	switch x.Kind() {
	case reflect.Struct:
		for i := range x.NumField() {
			if !same(x.Field(i).Interface(), y.Field(i).Interface()) {
				return false
			}
		}
		return true
	case reflect.Float64:
		return x.Float() == y.Float() || math.IsNaN(x.Float()) && math.IsNaN(y.Float())
	}
	return reflect.DeepEqual(a, b)
}

// near says whether two values agree to twelve digits; NaN agrees with nothing.
func near(got, want float64) bool {
	return math.Abs(got-want) <= 1e-12*math.Max(1, math.Abs(want))
}

// TestGolden compares with SciPy (testdata/paired.py).
func TestGolden(t *testing.T) {
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
		got := one(of(0, c.A...), of(0, c.B...))
		// gonum's and SciPy's incomplete beta functions agree to ten digits.
		if got.N() != len(c.A) || !near(got.Mean, c.Mean) || !(math.Abs(got.Half-c.Half) <= 1e-9*c.Half) ||
			!near(got.SignFlip, c.SignFlip) {
			t.Errorf("%v and %v give %+v, want %+v", c.A, c.B, got, c)
		}
		if tested := len(c.A) >= LeastSeeds; tested != (near(got.T, c.T) && math.Abs(got.P-c.P) <= 1e-10) ||
			tested == math.IsNaN(got.P) {
			t.Errorf("%v and %v give t = %g, p = %g, want %g, %g", c.A, c.B, got.T, got.P, c.T, c.P)
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

// TestEngineOf: kernel sets of the same bits are one engine, that of the studies.
func TestEngineOf(t *testing.T) {
	if EngineOf("neon", "winograd") != StudyEngine || EngineOf("avx2", "winograd") != StudyEngine ||
		EngineOf("avx512", "winograd") == StudyEngine || EngineOf("neon", "direct") == StudyEngine {
		t.Error("the wrong engines are that of the studies")
	}
}

// TestVerdicts: each verdict, and each reason for none.
func TestVerdicts(t *testing.T) {
	nan := math.NaN()
	other := of(0, 3, 5, 4)
	for i := range other {
		other[i].Engine.Kernel = "avx512"
	}
	base := of(1e-4, .10, .12, .11)
	for _, c := range []struct {
		name          string
		first, second []Value
		margin        float64
		verdict       Verdict
		reason        Reason
		n             int
	}{
		{"higher", of(1e-4, .301, .322, .313), base, 0, FirstHigher, "", 3},
		{"lower", base, of(1e-4, .301, .322, .313), 0, SecondHigher, "", 3},
		{"too close", of(1e-4, .10, .13, .10), base, 0, Undecided, NotSignificant, 3},
		{"nothing", nil, base, 0, Undecided, FewSeeds, 0},
		{"one seed", of(1e-4, .3), base, 0, Undecided, FewSeeds, 1},
		{"two seeds", of(1e-4, .3, .33), base, 0, Undecided, FewSeeds, 2},
		{"two equal differences", of(1e-4, .125, .145), base, 0, Undecided, FewSeeds, 2}, // was p < 0.001, first is higher
		{"three equal differences", of(1e-4, .125, .145, .135), base, 0, Undecided, NoSpread, 3},
		{"equal differences of values without step", of(0, .125, .145, .135), base, 0, Undecided, NoSpread, 3},
		{"no difference", base, base, 0, Undecided, NoSpread, 3},
		{"NaN is no run", of(1e-4, .3, nan, .33), base, 0, Undecided, FewSeeds, 2},
		{"other kernels", other, base, 0, Undecided, OtherEngines, 0},
		{"alike", of(1e-4, .101, .1212, .1109), base, .01, Alike, "", 3},
		{"apart", of(1e-4, .301, .322, .313), base, .01, Apart, "", 3},
		{"neither", of(1e-4, .10, .13, .10), base, .01, Undecided, NotSignificant, 3},
		{"too few to be alike", of(1e-4, .101, .1212), base, .01, Undecided, FewSeeds, 2},
		{"too equal to be alike", base, base, .01, Undecided, NoSpread, 3},
	} {
		got := Family([]Question{{c.first, c.second, c.margin}})[0]
		if got.Verdict != c.verdict || got.Reason != c.reason || got.N() != c.n {
			t.Errorf("%s: %q because of %q over %d seeds, want %q, %q, %d: %+v", c.name, got.Verdict, got.Reason, got.N(),
				c.verdict, c.reason, c.n, got)
		}
		back := Family([]Question{{c.second, c.first, c.margin}})[0]
		if !same(got.Reversed(), back) {
			t.Errorf("%s: reversed it is %+v, and the reversed question gives %+v", c.name, got.Reversed(), back)
		}
	}
}

// TestSpreadOfOneImage: the border of the rule on spread is the standard deviation of the rounding of both values,
// √((a²+b²)/12).
func TestSpreadOfOneImage(t *testing.T) {
	const step = 1e-3
	at := func(sd float64) Comparison { // differences of -sd, 0 and sd around 0.1 have the standard deviation sd
		return one(of(step, .3-sd, .3, .3+sd), of(2*step, .2, .2, .2))
	}
	border := math.Sqrt((1 + 4) * step * step / 12)
	if c := at(border * .999); c.Reason != NoSpread || !math.IsNaN(c.Half) {
		t.Errorf("a spread below the border gives %+v", c)
	}
	if c := at(border * 1.001); c.Verdict != FirstHigher || math.IsNaN(c.Half) {
		t.Errorf("a spread above the border gives %+v", c)
	}
}

// TestOnlyEqualEnginesArePaired: of a seed, values of the same kernels and convolutions are compared, and repeats count
// as their mean.
func TestOnlyEqualEnginesArePaired(t *testing.T) {
	avx2, avx512, direct := Engine{"avx2", "winograd"}, Engine{"avx512", "winograd"}, Engine{"avx2", "direct"}
	first := []Value{{1, avx2, 20, 0}, {1, avx512, 90, 0}, {2, avx2, 22, 0}, {2, avx2, 24, 0}, {3, avx512, 21, 0},
		{4, avx2, 23, 0}, {5, avx512, 20, 0}, {5, avx2, 30, 0}}
	second := []Value{{1, avx2, 10, 0}, {2, avx2, 11, 0}, {3, avx2, 12, 0}, {4, direct, 13, 0}, {5, avx512, 9, 0},
		{5, avx2, 10, 0}, {6, avx2, 10, 0}}
	c := one(first, second)
	// Seed 1: 10. Seed 2: 23−11 = 12. Seeds 3 and 4 have other kernels or convolutions. Seed 5: 20 by avx2, 11 by avx512.
	if !slices.Equal(c.Seeds, []uint64{1, 2, 5}) || c.Others != 2 || !slices.Equal(c.Engines, []Engine{avx2}) ||
		!near(c.Mean, (10+12+20)/3.) {
		t.Errorf("got %+v", c)
	}
	if c := one(append(first, Value{6, avx512, 7, 0}), append(second, Value{6, avx512, 1, 0})); !slices.Equal(c.Engines,
		[]Engine{avx2, avx512}) {
		t.Errorf("the engines are %v", c.Engines)
	}
}

// TestTheOrderOfValuesChangesNothing: not a bit, and of no result.
func TestTheOrderOfValuesChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var arms [][]Value
	for range 4 {
		var a []Value
		for i := range 60 {
			for range 1 + i%3 {
				a = append(a, Value{uint64(i), Engine{[]string{"avx2", "avx512"}[r.IntN(2)], ""}, r.Float64(), 1e-4})
			}
		}
		arms = append(arms, a)
	}
	want := All(arms)
	for range 20 {
		for i := range arms {
			arms[i] = slices.Clone(arms[i])
			r.Shuffle(len(arms[i]), func(j, k int) { arms[i][j], arms[i][k] = arms[i][k], arms[i][j] })
		}
		got := All(arms)
		for i := range want {
			if !same(got[i], want[i]) {
				t.Fatalf("in another order, %+v becomes %+v", want[i], got[i])
			}
		}
	}
}

// TestManySeeds: more than 40 common seeds made Paired panic.
func TestManySeeds(t *testing.T) {
	for _, n := range []int{30, 31, 41, 500} {
		r := rand.New(rand.NewPCG(5, 6))
		a, b, c := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			a[i], b[i] = .3+.01*r.NormFloat64(), .3+.01*r.NormFloat64()
			c[i] = a[i] + .01 + .005*r.NormFloat64()
		}
		null, real := one(of(1e-4, a...), of(1e-4, b...)), one(of(1e-4, c...), of(1e-4, a...))
		if null.N() != n || null.Verdict != Undecided || real.Verdict != FirstHigher {
			t.Errorf("%d seeds: %+v and %+v", n, null, real)
		}
		// Of so many seeds both tests are nearly the same.
		if !(math.Abs(null.SignFlip-null.P) < .02) || !(real.SignFlip <= 1./20000) || !(real.SignFlip > 0) {
			t.Errorf("%d seeds: sign flips give %g and %g, the t-test %g and %g", n, null.SignFlip, real.SignFlip, null.P,
				real.P)
		}
		if again := one(of(1e-4, a...), of(1e-4, b...)); !same(again, null) {
			t.Errorf("%d seeds: %+v, and again %+v", n, null, again)
		}
	}
}

// TestDrawnSignFlipIsNearTheExactOne on lists for which both can be made.
func TestDrawnSignFlipIsNearTheExactOne(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 40 {
		d := make([]float64, 2+r.IntN(exactFlips-2))
		sum := 0.0
		for i := range d {
			d[i] = r.NormFloat64() + .3
			sum += d[i]
		}
		// Four standard errors of the drawn share.
		exact, drawn := signFlip(d), drawnSignFlip(d, math.Abs(sum)*(1-1e-12))
		if !(math.Abs(exact-drawn) <= 4*math.Sqrt(exact*(1-exact)/drawnFlips)+1./drawnFlips) {
			t.Errorf("%d differences: %g drawn, %g exact", len(d), drawn, exact)
		}
	}
}

// TestSignFlipCountsAllSigns compares with counting all signs one by one.
func TestSignFlipCountsAllSigns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SliceOfN(rapid.Map(rapid.IntRange(-9, 9), func(n int) float64 { return float64(n) }), 1, 11).Draw(t,
			"differences")
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

// TestFamily: the correction is over the pairs that have enough seeds, also over those without spread.
func TestFamily(t *testing.T) {
	base, far := of(1e-4, .10, .12, .11), of(1e-4, .301, .322, .313)
	alone := one(far, base)
	if !(alone.Holm == alone.P) || alone.SignFlipHolm != alone.SignFlip {
		t.Errorf("a family of one is corrected: %+v", alone)
	}
	all := Family([]Question{{far, base, 0}, {of(1e-4, .3, .4), base, 0}, {base, base, 0}, {far, base, .1}})
	if !near(all[0].Holm, 3*alone.P) || !near(all[0].SignFlipHolm, .5) || !math.IsNaN(all[1].Holm) ||
		!math.IsNaN(all[1].SignFlipHolm) ||
		!math.IsNaN(all[2].Holm) || all[2].SignFlipHolm != 1 || !near(all[3].Holm, 2*all[3].P) ||
		!math.IsNaN(all[3].SignFlip) {
		t.Errorf("got %+v", all)
	}
	pairs := All([][]Value{base, far, base})
	if len(pairs) != 3 || pairs[0].First != 0 || pairs[0].Second != 1 || pairs[1].Second != 2 || pairs[2].First != 1 ||
		pairs[2].Verdict != FirstHigher {
		t.Errorf("got %+v", pairs)
	}
}
