package learner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/calibrate"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// surely are the learners of sums by what changes their closed forms, for inputs of d values.
func surely(t testing.TB, name string, d, hidden int) (ocl.Learner, *solved) {
	t.Helper()
	c := arch.Config{Channels: d, Height: 1, Width: 1, Classes: 5}
	build := arch.Linear
	if hidden > 0 {
		c.Hidden, build = []int{hidden}, arch.MLP
	}
	net, err := build(c, rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	ws := net.NewWorkspace(1)
	t.Cleanup(ws.Close)
	switch name {
	case "ncm", "ncm normalised":
		l := NewClassMeans(net, ws)
		l.Normalise = name != "ncm"
		return l, &l.solved
	case "slda":
		l := NewSLDA(net, ws)
		return l, &l.solved
	}
	l := NewRanPAC(net, ws)
	l.Ridge, l.Recursive, l.Seed = 2, name == "recursive", 1
	return l, &l.solved
}

// clusters draws n samples of 4 classes around means of their own.
func clusters(seed uint64, n, d int) ocl.Batch {
	of, src := rng.New(1, "clusters"), rng.New(seed, "clusters/samples")
	means := make([]float64, 4*d)
	for i := range means {
		means[i] = of.NormFloat64()
	}
	b := ocl.Batch{X: tensor.New(n, d, 1, 1), Y: make([]ocl.Label, n)}
	for i := range n {
		b.Y[i] = ocl.Label(i % 4)
		for j := range d {
			b.X.Row(i)[j] = float32(means[i%4*d+j] + 1.5*src.NormFloat64())
		}
	}
	return b
}

func rows(b ocl.Batch, keep func(i int) bool) ocl.Batch {
	one := ocl.Batch{X: tensor.New(0, b.X.Dim(1), 1, 1)}
	for i, y := range b.Y {
		if keep(i) {
			one.Y, one.X.Data = append(one.Y, y), append(one.X.Data, b.X.Row(i)...)
		}
	}
	one.X.Shape[0] = len(one.Y)
	return one
}

// learned observes a batch and prepares.
func learned(t testing.TB, l ocl.Learner, b ocl.Batch) {
	t.Helper()
	if _, err := l.Observe(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := l.(ocl.Preparer).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
}

var sure = []string{"ncm", "ncm normalised", "slda", "ranpac", "recursive"}

// TestLeaveOneOut: the scores and the familiarity of a sample that is left out by the closed forms are those of a
// learner that never saw it, with the same ridge. One that came several times is left out as often.
func TestLeaveOneOut(t *testing.T) {
	once := func(int) int { return 1 }
	t.Run("once", func(t *testing.T) { leaveOneOut(t, once) })
	t.Run("several times", func(t *testing.T) { leaveOneOut(t, func(i int) int { return 1 + i%3 }) })
}

// often is a batch in which the rows that are kept come so often.
func often(b ocl.Batch, times func(i int) int, keep func(i int) bool) ocl.Batch {
	all := rows(b, keep)
	for again := 2; again < 4; again++ {
		more := rows(b, func(i int) bool { return keep(i) && times(i) >= again })
		all.Y, all.X.Data = append(all.Y, more.Y...), append(all.X.Data, more.X.Data...)
	}
	all.X.Shape[0] = len(all.Y)
	return all
}

func leaveOneOut(t *testing.T, times func(i int) int) {
	const n, d = 24, 6
	b := clusters(1, n, d)
	for _, name := range sure {
		for _, hidden := range []int{0, 9} {
			if hidden > 0 && name != "ranpac" && name != "recursive" {
				continue
			}
			l, s := surely(t, name, d, hidden)
			learned(t, l, often(b, times, func(int) bool { return true }))
			made, err := l.(Calibrated).Calibrate(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var of calibrate.Samples
			for i, y := range b.Y {
				other, so := surely(t, name, d, hidden)
				if _, err := other.Observe(t.Context(), often(b, times, func(j int) bool { return j != i })); err != nil {
					t.Fatal(err)
				}
				if slda, is := other.(*SLDA); is { // its own ridge would be another one
					so.ridge = s.ridge
					a, err := slda.factorise(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					so.head, so.ready = headOf(slda, a.N), true
					so.show()
				} else if err := other.(ocl.Preparer).Prepare(t.Context()); err != nil {
					t.Fatal(err)
				}
				sees, err := other.(Calibrated).Calibrate(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				o := so.net.Predict(so.ws, rows(b, func(j int) bool { return j == i }).X)
				scores := make([]float64, so.net.Info().Classes)
				sees.Scores(scores, o.Logits.Row(0), o.Features.Row(0))
				of.Scores, of.Labels = append(of.Scores, scores[:4]...), append(of.Labels, int(y))
				familiar := make([]float64, 1)
				sees.Likeness.Of(familiar, o.Features)
				of.Known = append(of.Known, familiar[0])
			}
			want, err := calibrate.Fit(of)
			if err != nil {
				t.Fatal(err)
			}
			for what, pair := range map[string][2][]float32{
				"known": {made.Known, want.Known}, "doubt": {made.Doubt, want.Doubt},
				"temperature": {{float32(made.Temperature)}, {float32(want.Temperature)}},
			} {
				if len(pair[0]) != len(pair[1]) {
					t.Fatalf("%s, %d hidden: %s: %d numbers, want %d", name, hidden, what, len(pair[0]), len(pair[1]))
				}
				for i, v := range pair[0] {
					if w := pair[1][i]; math.Abs(float64(v-w)) > 2e-4*(1+math.Abs(float64(w))) {
						t.Errorf("%s, %d hidden: %s %d is %v, want %v", name, hidden, what, i, v, w)
						break
					}
				}
			}
		}
	}
}

// headOf is the head of the present factor of an SLDA.
func headOf(l *SLDA, d int) (head []float32) {
	w := l.means()
	l.factor.Solve(w, 1)
	for k, means := 0, l.means(); k < len(l.labels); k++ {
		bias := 0.0
		for j := range d {
			head = append(head, float32(w[k*d+j]))
			bias -= w[k*d+j] * means[k*d+j] / 2
		}
		head = append(head, float32(bias))
	}
	return head
}

// TestKept: what is kept does not depend on the order of the samples, is bounded, is shared equally, and has nothing of
// a sample that was unlearned.
func TestKept(t *testing.T) {
	const d = 3000
	b := clusters(1, 8*keptOfClass, d)
	l, s := surely(t, "ncm", d, 0)
	learned(t, l, b)
	other, so := surely(t, "ncm", d, 0)
	for from := len(b.Y); from > 0; from -= 100 {
		part := rows(b, func(i int) bool { return i < from && i >= from-100 })
		if _, err := other.Observe(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(s.kept.labels, so.kept.labels) || !slices.Equal(s.kept.rows, so.kept.rows) {
		t.Error("another order of the samples keeps others")
	}
	share := shareKept(d, 4)
	for y := range ocl.Label(4) {
		if first, last := s.kept.of(y); last-first != share {
			t.Errorf("class %d keeps %d of %d", y, last-first, share)
		}
	}
	before := len(s.kept.labels)
	gone := rows(b, func(i int) bool {
		return b.Y[i] == 2 && slices.ContainsFunc(s.kept.marks, func(m uint64) bool { return m == mark(b.X.Row(i)) })
	})
	for i := range gone.X.Data { // as other kernels may round
		gone.X.Data[i] *= 1 + 1e-6
	}
	if err := l.(Unlearning).Unlearn(gone); err != nil {
		t.Fatal(err)
	}
	again := rows(b, func(i int) bool { return b.Y[i] == 1 })
	learned(t, l, again)
	if err := l.(Unlearning).Unlearn(again); err != nil {
		t.Fatal(err)
	}
	if first, last := s.kept.of(1); last-first != share {
		t.Errorf("of class 1 %d samples are kept after they came again and were unlearned once, want %d", last-first, share)
	}
	if first, last := s.kept.of(2); first != last || len(s.kept.labels) != before-share {
		t.Errorf("of class 2 %d samples are kept after they were unlearned, of %d", last-first, len(s.kept.labels))
	}
}

// stateFor is a state in memory.
func stateFor(t testing.TB, of checkpoint.State) *checkpoint.Container {
	t.Helper()
	c := checkpoint.NewContainer()
	if err := of.SaveState(c.Encoder()); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCalibrationState: a whole state calibrates as before; weights hold no sample that was kept, and calibrate as
// before too; and a state does not say whether a calibration was asked for before.
func TestCalibrationState(t *testing.T) {
	b := clusters(1, 40, 6)
	for _, name := range sure {
		l, s := surely(t, name, 6, 0)
		learned(t, l, b)
		s.Unprepare()
		bare := stateFor(t, l)
		if err := l.(ocl.Preparer).Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		want, err := l.(Calibrated).Calibrate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		whole, weights := stateFor(t, l), stateFor(t, l.(Weighted).Weights())
		for _, section := range weights.Names() {
			if section == "kept/samples" || section == "kept/classes" {
				t.Errorf("%s: the weights have the section %s", name, section)
			}
		}
		for what, state := range map[string]*checkpoint.Container{"whole": whole, "weights": weights, "unprepared": bare} {
			o, so := surely(t, name, 6, 0)
			if err := o.LoadState(state.Decoder()); err != nil {
				t.Fatalf("%s, %s: %v", name, what, err)
			}
			if err := o.(ocl.Preparer).Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := o.(Calibrated).Calibrate(t.Context())
			if err != nil {
				t.Fatalf("%s, %s: %v", name, what, err)
			}
			if got.Temperature != want.Temperature || !slices.Equal(got.Known, want.Known) ||
				!slices.Equal(got.Likeness.Means, want.Likeness.Means) {
				t.Errorf("%s, %s: calibrated otherwise", name, what)
			}
			if so.Unprepare(); what != "weights" {
				same(t, name+", "+what, stateFor(t, o), bare)
			}
		}
	}
}

func same(t testing.TB, what string, got, want *checkpoint.Container) {
	t.Helper()
	if !slices.Equal(got.Names(), want.Names()) {
		t.Errorf("%s: sections %v, want %v", what, got.Names(), want.Names())
		return
	}
	for _, name := range want.Names() {
		a, _ := got.Decoder().Bytes(name)
		b, _ := want.Decoder().Bytes(name)
		if !slices.Equal(a, b) {
			t.Errorf("%s: section %s is another one", what, name)
		}
	}
}

// TestTooFewToCalibrate: with one class, or few samples, the learner says so, and goes on.
func TestTooFewToCalibrate(t *testing.T) {
	for _, name := range sure {
		for what, b := range map[string]ocl.Batch{
			"three samples": clusters(1, 3, 6),
			"one class":     rows(clusters(1, 60, 6), func(i int) bool { return i%4 == 0 }),
		} {
			l, _ := surely(t, name, 6, 0)
			learned(t, l, b)
			if _, err := l.(Calibrated).Calibrate(t.Context()); !errors.Is(err, calibrate.ErrFew) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
			if err := l.Predict(make([]ocl.Label, b.Len()), b.X); err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			learned(t, l, clusters(2, 40, 6))
			if _, err := l.(Calibrated).Calibrate(ended); name != "ncm" && !errors.Is(err, context.Canceled) && err != nil {
				t.Errorf("%s: ended: %v", name, err)
			}
			if _, err := l.(Calibrated).Calibrate(t.Context()); err != nil {
				t.Errorf("%s: after it ended: %v", name, err)
			}
		}
	}
}

// TestWhitening: the matrix that is exported whitens as the factor does.
func TestWhitening(t *testing.T) {
	const d = 6
	l, s := surely(t, "slda", d, 0)
	learned(t, l, clusters(1, 40, d))
	c, err := l.(Calibrated).Calibrate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, x := c.Likeness.Whitening(), clusters(2, 4, d)
	for i := range 4 {
		z, by := make([]float64, d), make([]float64, d)
		for j := range d {
			z[j] = float64(x.X.Row(i)[j])
			for k := range d {
				by[j] += float64(m[j*d+k]) * float64(x.X.Row(i)[k])
			}
		}
		s.factor.Forward(z, 1)
		for j := range d {
			if math.Abs(z[j]-by[j]) > 1e-5*(1+math.Abs(z[j])) {
				t.Fatal(fmt.Sprint(z, by))
			}
		}
	}
}

// TestEnergy: the calibration of a network ranks its own samples above those of others.
func TestEnergy(t *testing.T) {
	src := rng.New(1, "energy")
	var scores []float64
	var labels []int
	for i := range 100 {
		labels = append(labels, i%4)
		for k := range 4 {
			v := src.NormFloat64()
			if k == i%4 {
				v += 6
			}
			scores = append(scores, v)
		}
	}
	c, err := EnergyCalibration(scores, labels)
	if err != nil {
		t.Fatal(err)
	}
	if known, foreign := c.Energy([]float64{6, 0, 0, 0}), c.Energy(make([]float64, 4)); c.Rank(known) < 0.3 ||
		c.Rank(foreign) > 0.05 {
		t.Errorf("ranks %v and %v", c.Rank(known), c.Rank(foreign))
	}
}

// BenchmarkSure measures what calibration costs beside the classifier itself, at 1,280 features and four classes of 257
// samples: Prepare, Calibrate after it, and the familiarity of one sample.
func BenchmarkSure(b *testing.B) {
	const d = 1280
	batch := clusters(1, 1030, d)
	l, s := surely(b, "slda", d, 0)
	learned(b, l, batch)
	b.Run("prepare", func(b *testing.B) {
		for b.Loop() {
			s.Unprepare()
			if err := l.(ocl.Preparer).Prepare(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("calibrate", func(b *testing.B) {
		for b.Loop() {
			s.sure, s.fitted = nil, nil
			if _, err := l.(Calibrated).Calibrate(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	c, err := l.(Calibrated).Calibrate(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	x := &tensor.Tensor{Shape: []int{1, d}, Data: batch.X.Row(0)}
	b.Run("familiarity", func(b *testing.B) {
		for b.Loop() {
			c.Likeness.Of(make([]float64, 1), x)
		}
	})
}
