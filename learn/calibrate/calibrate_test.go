package calibrate_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"ocl/checkpoint"
	"ocl/internal/fuzztest"
	"ocl/learn/calibrate"
	"ocl/rng"
)

// drawn makes n samples of k classes whose labels follow the softmax of their scores divided by t.
func drawn(seed uint64, n, k int, t float64) calibrate.Samples {
	src := rng.New(seed, "calibrate/samples")
	s := calibrate.Samples{}
	p := make([]float64, k)
	for range n {
		sum := 0.0
		for c := range p {
			score := t * 3 * src.NormFloat64()
			s.Scores = append(s.Scores, score)
			p[c] = math.Exp(score / t)
			sum += p[c]
		}
		u, y := src.Float64()*sum, 0
		for u -= p[0]; u > 0 && y < k-1; u -= p[y] {
			y++
		}
		s.Labels = append(s.Labels, y)
		s.Known = append(s.Known, src.NormFloat64())
	}
	return s
}

// TestFit: the temperature of labels that follow a softmax is that of the softmax, whatever its size, and more samples
// find it better.
func TestFit(t *testing.T) {
	for _, want := range []float64{1e-3, 1, 500} {
		for _, k := range []int{2, 10} {
			c, err := calibrate.Fit(drawn(1, 4000, k, want))
			if err != nil {
				t.Fatal(err)
			}
			if r := c.Temperature / want; r < 0.85 || r > 1.15 || c.Slope < 0.9 {
				t.Errorf("%d classes: temperature %v and slope %v, want %v and 1", k, c.Temperature, c.Slope, want)
			}
		}
	}
}

// TestAllRight: samples that are all right leave some doubt, the less the more they are.
func TestAllRight(t *testing.T) {
	last := 0.0
	for _, n := range []int{10, 100, 1000} {
		s := calibrate.Samples{Known: make([]float64, n)}
		for i := range n {
			s.Labels = append(s.Labels, i%2)
			s.Scores = append(s.Scores, float64(1-i%2), float64(i%2))
		}
		c, err := calibrate.Fit(s)
		if err != nil {
			t.Fatal(err)
		}
		p := []float64{1, 0}
		if c.Probabilities(p, p); p[0] <= last || p[0] >= 1 || p[0]+p[1] != 1 {
			t.Errorf("after %d: %v", n, p)
		}
		last = p[0]
	}
}

// TestOrder: probabilities add up to 1 and have the order of the scores, whatever the temperature and the slope.
func TestOrder(t *testing.T) {
	src := rng.New(1, "order")
	for range 2000 {
		c := calibrate.Calibration{Temperature: math.Exp(src.NormFloat64()), Slope: 0.3 + 0.7*src.Float64()}
		scores := make([]float64, 2+src.IntN(9))
		for k := range scores {
			scores[k] = 3 * src.NormFloat64()
		}
		p, sum := make([]float64, len(scores)), 0.0
		c.Probabilities(p, scores)
		for k := range p {
			sum += p[k]
			for j := range p {
				if scores[k] > scores[j] && p[k] < p[j] {
					t.Fatalf("%+v: scores %v, probabilities %v", c, scores, p)
				}
			}
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("%v add up to %v", p, sum)
		}
	}
}

// TestRank: at most a share Q of new known samples has a rank of Q or less, and Refused tells the share of foreign
// ones.
func TestRank(t *testing.T) {
	c, err := calibrate.Fit(drawn(1, 4000, 4, 1))
	if err != nil {
		t.Fatal(err)
	}
	other := drawn(2, 20000, 4, 1)
	for _, q := range []float64{0.02, 0.05, 0.2} {
		known := 0.0
		for i := range other.Labels {
			if c.Rank(other.Known[i]) <= q {
				known += 1 / 20000.0
			}
		}
		if known > q+0.02 || known < q-0.02 {
			t.Errorf("at %v: %.3f of the known are unknown", q, known)
		}
	}
	if r := c.Rank(math.Inf(-1)); r != c.Resolution() || c.Rank(math.Inf(1)) != 1 {
		t.Errorf("ranks from %v, resolution %v", r, c.Resolution())
	}
}

// TestFloor: the classes from the floor on have the right one among them as often as was asked for.
func TestFloor(t *testing.T) {
	c, err := calibrate.Fit(drawn(1, 1000, 6, 1))
	if err != nil {
		t.Fatal(err)
	}
	other := drawn(3, 5000, 6, 1)
	p := make([]float64, 6)
	for _, coverage := range []float64{0.5, 0.9, 0.99} {
		floor, hit := c.Floor(coverage), 0.0
		for i, y := range other.Labels {
			c.Probabilities(p, other.Scores[i*6:][:6])
			if p[y] >= floor {
				hit += 1 / 5000.0
			}
		}
		if math.Abs(hit-coverage) > 0.03 {
			t.Errorf("%v: %v are covered", coverage, hit)
		}
	}
	if f := c.Floor(0.9999); f != 0 {
		t.Errorf("1,000 samples cover 99.99 %% from a floor of %v on, want all classes", f)
	}
}

// TestRefuses: too few samples, one class and numbers that are none are errors.
func TestRefuses(t *testing.T) {
	few := drawn(1, 9, 3, 1)
	if _, err := calibrate.Fit(few); !errors.Is(err, calibrate.ErrFew) {
		t.Errorf("nine samples: %v", err)
	}
	one := drawn(1, 50, 3, 1)
	clear(one.Labels)
	if _, err := calibrate.Fit(one); !errors.Is(err, calibrate.ErrFew) {
		t.Errorf("one class: %v", err)
	}
	bad := drawn(1, 50, 3, 1)
	bad.Scores[7] = math.Inf(1)
	if _, err := calibrate.Fit(bad); err == nil || errors.Is(err, calibrate.ErrFew) {
		t.Errorf("an infinite score: %v", err)
	}
}

// saved is the state of a calibration.
func saved(t testing.TB, c *calibrate.Calibration) *checkpoint.Container {
	t.Helper()
	state := checkpoint.NewContainer()
	if err := (checkpoint.Parts{calibrate.Parts(&c)}).SaveState(state.Encoder()); err != nil {
		t.Fatal(err)
	}
	return state
}

// TestState: a calibration and none are what they were after they were saved and loaded.
func TestState(t *testing.T) {
	c, err := calibrate.Fit(drawn(1, 50, 3, 2))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []*calibrate.Calibration{c, nil} {
		got := &calibrate.Calibration{Temperature: 7}
		if err := (checkpoint.Parts{calibrate.Parts(&got)}).LoadState(saved(t, want).Decoder()); err != nil {
			t.Fatal(err)
		}
		if (got == nil) != (want == nil) || want != nil && (got.Temperature != want.Temperature || got.Slope != want.Slope ||
			!slices.Equal(got.Known, want.Known) || !slices.Equal(got.Doubt, want.Doubt)) {
			t.Errorf("loaded %+v, want %+v", got, want)
		}
	}
}

// FuzzState: sections that were changed are an error, or a calibration that can be used.
func FuzzState(f *testing.F) {
	c, err := calibrate.Fit(drawn(1, 12, 3, 2))
	if err != nil {
		f.Fatal(err)
	}
	names := saved(f, c).Names()
	f.Add([]byte{0, 1, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		choices, state := fuzztest.Of(b), saved(t, c)
		changed := checkpoint.NewContainer()
		pick := choices.Below(len(names))
		for i, name := range names {
			text, err := state.Decoder().Bytes(name)
			if err != nil {
				t.Fatal(err)
			}
			if text = slices.Clone(text); i == pick && len(text) > 0 {
				text[choices.Below(len(text))] ^= byte(1 + choices.Below(255))
			}
			changed.Encoder().Bytes(name, text)
		}
		var got *calibrate.Calibration
		if (checkpoint.Parts{calibrate.Parts(&got)}).LoadState(changed.Decoder()) != nil {
			return
		}
		p := []float64{1, 2, 3}
		got.Probabilities(p, p)
		if r := got.Rank(0); !(r > 0 && r <= 1) || p[2]-p[2] != 0 || !(got.Floor(0.9) <= 1) {
			t.Errorf("%+v: rank %v, probabilities %v", got, r, p)
		}
	})
}
