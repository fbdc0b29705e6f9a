package metric_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ocl/run/metric"
)

var nan = math.NaN()

// example is the worked 3×3 example of the docstrings.
var example = metric.Matrix{Rows: [][]float64{{0.9, 0.1, 0.2}, {0.6, 0.8, 0.3}, {0.5, 0.7, 0.85}}}

// seen is what --eval seen leaves of a matrix.
func seen(m metric.Matrix) metric.Matrix {
	s := make([][]float64, len(m.Rows))
	for i, row := range m.Rows {
		for j, v := range row {
			if j > i {
				v = nan
			}
			s[i] = append(s[i], v)
		}
	}
	return metric.Matrix{Rows: s}
}

// of is the matrix with these rows, and a test set for each task.
func of(rows ...[]float64) metric.Matrix { return metric.Matrix{Rows: rows} }

// common is the matrix of these accuracies on a common test set.
func common(column ...float64) metric.Matrix {
	m := metric.Matrix{Common: true}
	for _, v := range column {
		m.Rows = append(m.Rows, []float64{v})
	}
	return m
}

type summary struct{ a, f, fAll, bwt, fwt, la, aia float64 }

func summarise(m metric.Matrix) summary {
	last := len(m.Rows) - 1
	return summary{
		metric.AverageAccuracy(m, last), metric.AverageForgetting(m, last), metric.ForgettingAllTasks(m),
		metric.BWTPlus(m), metric.FWT(m), metric.LearningAccuracy(m), metric.AverageIncrementalAccuracy(m),
	}
}

func same(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-12
}

func (s summary) equal(o summary) bool {
	return same(s.a, o.a) && same(s.f, o.f) && same(s.fAll, o.fAll) && same(s.bwt, o.bwt) && same(s.fwt, o.fwt) &&
		same(s.la, o.la) && same(s.aia, o.aia)
}

func TestByHand(t *testing.T) {
	aia := (0.9 + 0.7 + 2.05/3) / 3
	for _, c := range []struct {
		name string
		m    metric.Matrix
		want summary
	}{
		{"example", example, summary{2.05 / 3, 0.25, 0.5 / 3, 0, 0.2, 0.85, aia}},
		{"seen", seen(example), summary{2.05 / 3, 0.25, 0.5 / 3, 0, nan, 0.85, aia}},
		{"final", of([]float64{nan, nan, nan}, []float64{nan, nan, nan}, []float64{0.5, 0.7, 0.85}),
			summary{2.05 / 3, nan, nan, nan, nan, nan, nan}},
		{"one task", of([]float64{0.9}), summary{0.9, nan, nan, nan, nan, 0.9, 0.9}},
		{"one task of three", of([]float64{0.9, 0.1, 0.2}), summary{0.9, nan, nan, nan, nan, 0.9, 0.9}},
		{"no task", of(), summary{nan, nan, nan, nan, nan, nan, nan}},
		{"stopped after the second task", of(seen(example).Rows[:2]...), summary{0.7, 0.3, 0.15, 0, nan, 0.85, 0.8}},
		{"old tasks improve", of([]float64{0.4, nan}, []float64{0.7, 0.6}),
			summary{0.65, -0.3, 0, 0.3, nan, 0.5, (0.4 + 0.65) / 2}},
		{"better before it was learned", of([]float64{0.5, 0.9, 0}, []float64{0.5, 0.2, 0}, []float64{0.5, 0.1, 0.3}),
			summary{0.3, 0.4, 0.8 / 3, 0, 0.3, 1. / 3, (0.5 + 0.35 + 0.3) / 3}},
		// More test sets than tasks learned: those of later tasks count for nothing, however well they do.
		{"wide", of([]float64{0.9, 0.1, 0.99}, []float64{0.6, 0.8, 0.99}), summary{0.7, 0.3, 0.15, 0, 0.1, 0.85, 0.8}},
		// Rows that end with the task just learned are those of evaluations that saw no more.
		{"triangular", of([]float64{0.9}, []float64{0.6, 0.8}, []float64{0.5, 0.7, 0.85}), summarise(seen(example))},
		// Fewer test sets than tasks: what needs that of the last task is undefined, what looks at earlier tasks is
		// not. F_2 = ((0.5 − 0.7) + (0.6 − 0.7))/2, and all of BWT's pairs are there: (−0.1 + 0.2 + 0.1)/3.
		{"narrow", of([]float64{0.5, 0.1}, []float64{0.4, 0.6}, []float64{0.7, 0.7}),
			summary{nan, -0.15, nan, 0.2 / 3, nan, nan, nan}},
		// One column of a stream in which each task has its own test set is that of the first task.
		{"one column", of([]float64{0.2}, []float64{0.5}), summary{nan, -0.3, nan, 0.3, nan, nan, nan}},
		{"common test set", common(0.2, 0.5, 0.4), summary{0.4, 0.1, 0.1, nan, nan, nan, 1.1 / 3}},
		{"common test set, rising", common(0.2, 0.5), summary{0.5, -0.3, 0, nan, nan, nan, 0.35}},
		{"common test set, final", common(nan, nan, 0.4), summary{0.4, nan, nan, nan, nan, nan, nan}},
		{"common test set, one task", common(0.2), summary{0.2, nan, nan, nan, nan, nan, 0.2}},
		{"common test set, no task", common(), summary{nan, nan, nan, nan, nan, nan, nan}},
	} {
		if got := summarise(c.m); !got.equal(c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestTransferUnclipped: forgetting shows in the transfer that is not clipped, and the clipped one has the same value
// where that is positive.
func TestTransferUnclipped(t *testing.T) {
	for _, c := range []struct {
		name          string
		m             metric.Matrix
		want, clipped float64
	}{
		{"example", example, -0.8 / 3, 0},
		{"seen", seen(example), -0.8 / 3, 0},
		{"old tasks improve", of([]float64{0.4, nan}, []float64{0.7, 0.6}), 0.3, 0.3},
		{"one task", of([]float64{0.9}), nan, nan},
		{"common test set", common(0.2, 0.5), nan, nan},
	} {
		if got, clipped := metric.BWT(c.m), metric.BWTPlus(c.m); !same(got, c.want) || !same(clipped, c.clipped) {
			t.Errorf("%s: got %v, clipped %v; want %v, clipped %v", c.name, got, clipped, c.want, c.clipped)
		}
	}
}

// TestTwoForgettings shows where the text's definition and the authors' differ (docs/deviations.md).
func TestTwoForgettings(t *testing.T) {
	text, code := metric.AverageForgetting(example, 2), metric.ForgettingAllTasks(example)
	if !same(text, 0.25) || !same(code, 0.5/3) {
		t.Errorf("text %v, code %v; want 0.25 and 0.1667", text, code)
	}
}

func matrices() *rapid.Generator[metric.Matrix] {
	return rapid.Custom(func(t *rapid.T) metric.Matrix {
		n := rapid.IntRange(2, 6).Draw(t, "T")
		m := metric.Matrix{Rows: make([][]float64, n)}
		for i := range m.Rows {
			m.Rows[i] = rapid.SliceOfN(rapid.Float64Range(0, 1), n, n).Draw(t, "row")
		}
		return m
	})
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := matrices().Draw(t, "m")
		got := summarise(m)
		for name, v := range map[string]float64{"A": got.a, "F all": got.fAll, "BWT+": got.bwt, "FWT": got.fwt, "LA": got.la,
			"AIA": got.aia} {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("%s = %v, want in [0,1]", name, v)
			}
		}
		if !(got.f >= -1 && got.f <= 1) {
			t.Fatalf("F = %v, want in [-1,1]", got.f)
		}
		// All but forward transfer and the rows before a task was learned are the same where only learned tasks are
		// seen.
		s := summarise(seen(m))
		if !same(s.a, got.a) || !same(s.bwt, got.bwt) || !same(s.la, got.la) || !same(s.aia, got.aia) ||
			!(s.f <= got.f+1e-12) || !math.IsNaN(s.fwt) {
			t.Fatalf("seen %+v, all %+v", s, got)
		}
		// A learner that never changes forgets nothing and transfers what it knows.
		flat := metric.Matrix{}
		for range m.Rows {
			flat.Rows = append(flat.Rows, m.Rows[0])
		}
		if c := summarise(flat); !same(c.f, 0) || !same(c.fAll, 0) || !same(c.bwt, 0) || !same(c.a, c.la) {
			t.Fatalf("constant rows: %+v", c)
		}
		// Columns beyond the last row are ignored.
		wide := metric.Matrix{}
		for _, row := range m.Rows {
			wide.Rows = append(wide.Rows, append(slices.Clone(row), 0.5, nan))
		}
		if w := summarise(wide); !w.equal(got) {
			t.Fatalf("with more columns %+v, want %+v", w, got)
		}
	})
}

// TestInterval checks against tables of Student's t: t(0.975) is 12.706, 4.303 and 2.145 for 1, 2 and 14 degrees.
func TestInterval(t *testing.T) {
	fifteen := make([]float64, 15)
	for i := range fifteen {
		fifteen[i] = float64(i)
	}
	for _, c := range []struct {
		values     []float64
		mean, half float64
	}{
		{[]float64{1, 3}, 2, 12.7062047 * math.Sqrt2 / math.Sqrt2},
		{[]float64{1, 2, 3}, 2, 4.30265273 / math.Sqrt(3)},
		{fifteen, 7, 2.14478669 * math.Sqrt(20) / math.Sqrt(15)},
		{[]float64{4, 4, 4}, 4, 0},
		{[]float64{5}, 5, nan},
		{nil, nan, nan},
	} {
		mean, half := metric.Interval(c.values)
		if !same(mean, c.mean) || !(math.Abs(half-c.half) <= 1e-6 || math.IsNaN(half) && math.IsNaN(c.half)) {
			t.Errorf("%v: %v ± %v, want %v ± %v", c.values, mean, half, c.mean, c.half)
		}
	}
}

func TestAverageAnytimeAccuracy(t *testing.T) {
	for _, c := range []struct {
		name        string
		evaluations [][]float64
		want        float64
	}{
		{"example", [][]float64{{0.4}, {0.8}, {0.6, 0.2}, {0.5, 0.7}}, 0.55},
		{"tasks not yet seen", [][]float64{{0.4, nan}, {0.8, nan}, {0.6, 0.2}, {0.5, 0.7}}, 0.55},
		{"one", [][]float64{{0.25, 0.75}}, 0.5},
		{"none", nil, nan},
		{"one without a test set", [][]float64{{0.4}, {nan}}, nan},
	} {
		if got := metric.AverageAnytimeAccuracy(c.evaluations); !same(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	row := []float64{nan, 0.5}
	if metric.AverageAnytimeAccuracy([][]float64{row}); !math.IsNaN(row[0]) || row[1] != 0.5 {
		t.Errorf("it changed what it was given: %v", row)
	}
}
