package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/metric"
	"ocl/survey"
)

// made is a cell of table:nc on CIFAR-100 with those values, all by the kernels of the studies.
func made(published, half float64, values ...float64) *Cell {
	c := &Cell{Table: survey.ClassIncremental, Spec: er, Known: true,
		Published: survey.Value{Mean: published, Interval: half}, Values: values, Ours: metric.EstimateOf(values)}
	for i := range values {
		c.Runs = append(c.Runs, &Run{Seed: uint64(i + 1), Result: fake(er, uint64(i+1), config.EvalFinal)})
	}
	return c
}

// judged gives verdicts to cells of one table and data set.
func judged(cells ...*Cell) []*Cell {
	(&Study{}).judge(cells)
	return cells
}

// TestVerdicts: agreement is equivalence within a margin, a difference is one by Welch's test, and all else is
// undecided. The numbers of the intervals and tests are SciPy's: with b = half/t(0.975, 14) and a = s/√n, the interval
// is d ± t(0.95, v)·√(a²+b²).
func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		name           string
		values         []float64
		published      float64
		half           float64
		verdict, under Verdict // and by the former rule
	}{
		{"no run", nil, 20, 1, NotRun, NotRun},
		{"near, and known to be", []float64{20.1, 20.4, 20.7}, 20, 1, Agrees, Agrees},
		{"near, but three runs that spread say little", []float64{17.0, 20.8, 17.2}, 17, 1.9, Undecided, Agrees},
		{"near, but not within a fifth of a small value", []float64{3.7, 4.2, 4.0}, 3.6, 0.2, Undecided, Agrees},
		{"within 2 points, which is more than a fifth", []float64{4.2, 4.2, 4.2}, 3.5, 0.8, Undecided, Agrees},
		{"far and sure", []float64{24.0, 24.1, 23.9}, 20, 1, Differs, Differs},
		{"surely another mean, but within the margin", []float64{21.0, 21.05, 21.1}, 20, 0.3, Agrees, Differs},
		{"two runs", []float64{20, 20}, 20, 1, Undecided, Undecided},
		{"one of three diverged", []float64{math.NaN(), 20, 20}, 20, 1, Undecided, Undecided},
		{"all diverged", []float64{math.NaN()}, 20, 1, Undecided, Undecided},
		{"two runs, far and sure", []float64{24.0, 24.1}, 20, 1, Undecided, Undecided},
		// 0.2·6 = 1.2, and SciPy has t(0.95, 14)/t(0.975, 14) = 0.82121
		{"wide as published", []float64{6.1, 6.0, 6.2}, 6, 1.4613, Undecidable, Agrees},
		{"nearly as wide", []float64{6.1, 6.0, 6.2}, 6, 1.4612, Undecided, Agrees},
		{"wide as published, without a run", nil, 6, 1.5, Undecidable, NotRun},
		{"wide as published, far and sure", []float64{16.0, 16.1, 16.2}, 6, 1.5, Differs, Differs},
	} {
		c := judged(made(tt.published, tt.half, tt.values...))[0]
		if c.Verdict != tt.verdict || c.Former != tt.under {
			t.Errorf("%s: %q with [%.2f, %.2f] in ± %.2f and p = %.3g, formerly %q; want %q and %q", tt.name, c.Verdict, c.Low,
				c.High, c.Margin, c.PHolm, c.Former, tt.verdict, tt.under)
		}
	}
	c := judged(made(17, 1.9, 17.0, 20.8, 17.2))[0]
	for name, v := range map[string][2]float64{"low": {c.Low, -1.81946}, "high": {c.High, 4.48613}, "p": {c.P, 0.42536},
		"margin": {c.Margin, 2}} {
		if math.Abs(v[0]-v[1]) > 1e-4 {
			t.Errorf("%s is %.5f, want %.5f", name, v[0], v[1])
		}
	}
	if c := judged(made(20, math.NaN(), 1, 2, 3))[0]; c.Verdict != NoVerdict || c.Former != NoVerdict {
		t.Errorf("without a published interval it is %q", c.Verdict)
	}
}

// TestHolmOverTable: Holm's correction is over the cells of a table on a data set that have runs, those of other data
// sets aside.
func TestHolmOverTable(t *testing.T) {
	near := func() *Cell { return made(20, 1, 21.0, 22.0, 22.3) } // p is 0.0176
	one := judged(near())[0]
	if one.Verdict != Differs || one.PHolm != one.P {
		t.Errorf("alone it is %q with p = %.3g", one.Verdict, one.PHolm)
	}
	family := judged(near(), made(20, 1, 20, 21, 20.5), made(20, 1), made(20, 1, 20.2, 21.3, 20.6),
		made(20, 1, 19, 20, 19.6), made(20, 1, 19.1, 20, 19.8))
	if c := family[0]; c.Verdict != Undecided || math.Abs(c.PHolm-5*c.P) > 1e-12 {
		t.Errorf("among five cells with runs it is %q with p = %.3g, %.3g without correction", c.Verdict, c.PHolm, c.P)
	}
	other := made(20, 1, 20, 21, 20.5)
	other.Spec.Benchmark = survey.MiniImageNet
	if c := judged(near(), other)[0]; c.PHolm != c.P {
		t.Errorf("a cell of another data set is in its correction: p = %.3g, %.3g without", c.PHolm, c.P)
	}
}

// TestFewRuns: a cell with one or two runs is not tested, and no other cell is corrected for it.
func TestFewRuns(t *testing.T) {
	cells := judged(made(20, 1, 60), made(20, 1, 40, 41), made(20, 1, 21.0, 22.0, 22.3))
	for _, c := range cells[:2] {
		if c.Verdict != Undecided || !math.IsNaN(c.P) || !math.IsNaN(c.PHolm) {
			t.Errorf("%v is %q, p = %g and %g", c.Values, c.Verdict, c.P, c.PHolm)
		}
	}
	if c := cells[2]; c.Verdict != Differs || c.PHolm != c.P {
		t.Errorf("the third is %q, p = %g and %g", c.Verdict, c.P, c.PHolm)
	}
}

// TestCounts: how many cells have which verdict, in words.
func TestCounts(t *testing.T) {
	all := CountVerdicts(judged(made(20, 1, 20.1, 20.4, 20.7), made(20, 1, 20), made(6, 1.5), made(20, 1)))
	if got, want := all.String(), "1 agree, 0 differ, 1 are undecided, 1 are undecidable and 1 are not run"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestVerdictOfRepeat: a cell of two tables has one verdict, that of the first, whose correction it shares; "Best OCI"
// has none.
func TestVerdictOfRepeat(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(3) {
		write(t, dir, fmt.Sprintf("er-s%d.json.gz", seed+1), fake(er, seed+1, config.EvalFinal))
	}
	s := mustRead(t, dir)
	first := s.Cells(survey.ClassIncremental)
	i := slices.IndexFunc(first, func(c *Cell) bool { return c.Spec == er })
	if first[i].Verdict != Differs {
		t.Fatalf("ER is %q", first[i].Verdict)
	}
	for _, c := range s.Cells(survey.TricksCIFAR100) {
		switch {
		case c.Row == bestRow && c.Verdict != NoVerdict:
			t.Errorf("%s is %q", c.Row, c.Verdict)
		case c.Row != bestRow && c.Spec == er && (c.Verdict != Differs || c.PHolm != first[i].PHolm):
			t.Errorf("%s %s is %q with p = %g there, want %q with %g", c.Row, c.Column, c.Verdict, c.PHolm, first[i].Verdict,
				first[i].PHolm)
		}
	}
}

// TestKernelsThatCount: of several runs of a seed that with the kernels of the studies counts, whatever else it
// evaluates; the others are told. A run with other kernels counts where there is no such one, and the cell says so.
func TestKernelsThatCount(t *testing.T) {
	dir := t.TempDir()
	add := func(name string, seed uint64, eval, kernel string, timed bool) {
		r := fake(er, seed, eval)
		r.Provenance.Kernel, r.Provenance.Timed = kernel, timed
		r.Key = experiment.Key(r)
		write(t, dir, name, r)
	}
	add("a-s1.json.gz", 1, config.EvalFinal, "avx512", false)
	add("b-s1.json.gz", 1, config.EvalAll, "avx2", true)
	add("c-s2.json.gz", 2, config.EvalFinal, "avx512", false)
	s := mustRead(t, dir)
	for _, c := range s.Cells(survey.ClassIncremental) {
		if c.Spec != er {
			continue
		}
		var names []string
		for _, r := range append(slices.Clone(c.Runs), c.Others...) {
			names = append(names, strings.TrimPrefix(r.Path, dir+"/"))
		}
		if want := []string{"b-s1.json.gz", "c-s2.json.gz", "a-s1.json.gz"}; len(c.Runs) != 2 || len(c.OtherValues) != 1 ||
			!slices.Equal(names, want) {
			t.Errorf("the cell has %q, of which %d count", names, len(c.Runs))
		}
		if !strings.Contains(c.Note, "1 of 2 runs with other kernels (avx512 winograd)") {
			t.Errorf("the note is %q", c.Note)
		}
	}
}

// TestCommittedRepeats: runs of a cell with the same seed and the same kernels measured the same, so it changes nothing
// which of them counts.
func TestCommittedRepeats(t *testing.T) {
	s, pairs := committed(t), 0
	for _, label := range tables {
		if label == survey.TrickTimes {
			continue
		}
		for _, c := range s.Cells(label) {
			for i, r := range c.Others {
				for k, counted := range c.Runs {
					if counted.Seed == r.Seed && counted.Kernels() == r.Kernels() {
						pairs++
						if c.Values[k] != c.OtherValues[i] {
							t.Errorf("%s has %g, %s has %g", counted.Path, c.Values[k], r.Path, c.OtherValues[i])
						}
					}
				}
			}
		}
	}
	if pairs < 10 {
		t.Errorf("%d pairs of equal runs are committed", pairs)
	}
}

// TestPublishedRuns: the published intervals are of as many runs as the survey says, and of ten on NS-MiniImageNet.
func TestPublishedRuns(t *testing.T) {
	for _, b := range Benchmarks() {
		want := 10
		if b.Name == survey.CIFAR100 || b.Name == survey.MiniImageNet {
			want = 15
		}
		if b.Runs != want {
			t.Errorf("%s has %d runs, want %d", b.Name, b.Runs, want)
		}
	}
}
