package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/run/result"
)

// TestRowsAreWhatWasLearned: runs that were evaluated at other times are one row. Each metric is over the runs that
// measured it and says so, and of two runs of a seed the first counts, and the other one for what the first did not
// measure.
func TestRowsAreWhatWasLearned(t *testing.T) {
	of := func(eval string, seed uint64) *result.Result {
		r := (fake{method: "er", title: "ER", memory: 10, seed: seed, tasks: 3, perTask: 2, level: 0.9, decay: 0.8}).make()
		r.Config.Eval = eval
		if eval == config.EvalFinal {
			for i := range r.Accuracy[:2] {
				r.Accuracy[i] = make([]*float64, 3)
			}
			r.Metrics = result.MetricsOf(r.Accuracy, false, nil)
		}
		return r
	}
	for _, twice := range []bool{false, true} {
		var runs []*run
		for _, r := range []*result.Result{of("final", 1), of("final", 2), of("seen", 3), of("all", 4)} {
			runs = append(runs, newRun(r, ""))
		}
		if twice {
			runs = append(runs, newRun(of("seen", 1), ""), newRun(of("final", 4), ""))
		}
		st := studyOf(runs, nil)
		if len(st.rows) != 1 || len(st.rows[0].runs) != 4 || len(st.runs) != map[bool]int{false: 4, true: 5}[twice] {
			t.Fatalf("%d rows of %d runs, want 1 of 4", len(st.rows), len(st.runs))
		}
		s, measured := st.summaries()[0], map[bool]int{false: 2, true: 3}[twice]
		if a, f := s.Metrics["average_accuracy"], s.Metrics["average_forgetting"]; s.Runs != 4 || a.Runs != 4 ||
			f.Runs != measured {
			t.Errorf("%d runs, %d of them with accuracy and %d with forgetting; want 4, 4 and %d", s.Runs, a.Runs, f.Runs,
				measured)
		}
		if n := len(st.warnings); n != map[bool]int{false: 0, true: 2}[twice] {
			t.Errorf("the warnings are %q", st.warnings)
		}
		if twice && (!strings.Contains(st.warnings[0], "the second counts only for what the first did not measure") ||
			!strings.Contains(st.warnings[1], "only the first is counted")) {
			t.Errorf("the warnings are %q", st.warnings)
		}
		md := string(st.resultsTable().markdown())
		want := fmt.Sprintf(" (%d of 4 runs) |", measured)
		if n := strings.Count(md, want); n < 2 {
			t.Errorf("the table says %q %d times, want with forgetting and learning accuracy:\n%s", want, n, md)
		}
		f := st.settings[0].forgettingFigure()
		if says := fmt.Sprintf("the figure shows %d of 4 runs of ER", measured); !strings.Contains(f.Caption, says) {
			t.Errorf("the caption is %q, want %q", f.Caption, says)
		}
	}
}

// TestRowsOfTunings: runs that were tuned in other ways are other rows, whose labels say how.
func TestRowsOfTunings(t *testing.T) {
	var runs []*run
	for i, change := range []func(*result.Tuning){func(*result.Tuning) {}, func(u *result.Tuning) { u.Search = "halving" },
		func(u *result.Tuning) { u.Repeats = 1 }, func(*result.Tuning) {}} {
		r := (fake{method: "er", title: "ER", memory: 10, seed: uint64(i), tasks: 2, perTask: 2, level: 0.9, decay: 0.8,
			lr: 0.1 / float64(1+i)}).make()
		r.Tuning = &result.Tuning{Grid: "paper", GridDigest: "sha256:0123456789", Search: "grid", Repeats: 3,
			Keys: []string{"optimizer.lr"}, Chosen: []string{"0.1"}}
		change(r.Tuning)
		runs = append(runs, newRun(r, ""))
	}
	var labels []string
	for _, g := range studyOf(runs, nil).rows {
		labels = append(labels, fmt.Sprint(g.Label, ": ", len(g.runs)))
	}
	if want := []string{"ER, memory 10, repeats 3, search grid: 2", "ER, memory 10, repeats 3, search halving: 1",
		"ER, memory 10, repeats 1, search grid: 1"}; !slices.Equal(labels, want) {
		t.Errorf("the rows are %q, want %q", labels, want)
	}
}

// TestOwnRuleIsToldOnce: a method whose own rule is the class means has no second row for them, and is in no second
// comparison.
func TestOwnRuleIsToldOnce(t *testing.T) {
	schema := &config.Schema{Catalogue: config.Catalogue{Methods: []config.Method{{Name: "icarl",
		OwnRule: config.ClassifierNCM}}}}
	var runs []*run
	for _, name := range []string{"er", "icarl"} {
		for seed := range uint64(3) {
			r := (fake{method: name, title: strings.ToUpper(name), memory: 10, seed: seed, tasks: 3, perTask: 2, level: 0.9,
				decay: 0.8}).make()
			other := result.Classifier{Accuracy: r.Accuracy, Metrics: r.Metrics}
			r.Config.Classifiers = []string{config.ClassifierHead, config.ClassifierNCM}
			if seed == 2 && name == "icarl" {
				r.Config.Classifiers = []string{config.ClassifierNCM}
			} else {
				r.Classifiers = map[string]result.Classifier{config.ClassifierNCM: other}
			}
			runs = append(runs, newRun(r, ""))
		}
	}
	var titles []string
	for _, g := range newStudy(runs, nil, methods, schema).rows {
		titles = append(titles, fmt.Sprint(g.title(), ": ", len(g.runs)))
	}
	if want := []string{"ER: 3", "ER + NCM: 3", "ICARL: 3"}; !slices.Equal(titles, want) {
		t.Errorf("the rows are %q, want %q", titles, want)
	}
}

// TestSharedRuns: a run whose own seed is its seed anyway belongs to the row with this seed and to the row without one.
func TestSharedRuns(t *testing.T) {
	of := func(seed uint64, order *uint64) *run {
		r := (fake{method: "er", title: "ER", memory: 10, seed: seed, tasks: 3, perTask: 2, level: 0.9, decay: 0.8}).make()
		r.Config.Seeds.Order = order
		return newRun(r, "")
	}
	five := uint64(5)
	for name, runs := range map[string][]*run{
		"said by the run":     {of(4, nil), of(6, nil), of(4, &five), of(5, &five), of(6, &five)},
		"not said by the run": {of(4, nil), of(5, nil), of(6, nil), of(4, &five), of(6, &five)},
	} {
		st := studyOf(runs, nil)
		if len(st.rows) != 2 {
			t.Fatalf("%s: %d rows, want 2", name, len(st.rows))
		}
		for _, g := range st.rows {
			if len(g.runs) != 3 || len(g.finished) != 3 {
				t.Errorf("%s: the row %q has %d runs, want 3", name, g.Label, len(g.runs))
			}
		}
		if len(st.runs) != 5 {
			t.Errorf("%s: %d runs, want 5", name, len(st.runs))
		}
	}
}

// TestRepeatsAreCompared: of two runs of a seed with other kernels, whichever comes first, that with the kernels of the
// other row is compared.
func TestRepeatsAreCompared(t *testing.T) {
	of := func(method, kernel string, seed uint64, level float64) *run {
		r := (fake{method: method, title: strings.ToUpper(method), memory: 10, seed: seed, tasks: 3, perTask: 2,
			level: level + 0.01*float64(seed), decay: 0.8}).make()
		r.Provenance.Kernel = kernel
		return newRun(r, "")
	}
	var runs []*run
	for seed := range uint64(3) {
		runs = append(runs, of("er", "avx512", seed, 0.8), of("er", "avx2", seed, 0.7), of("mir", "avx2", seed, 0.6))
	}
	pairs := studyOf(runs, nil).settings[0].pairings()
	if len(pairs) != 1 || pairs[0].N() != 3 || pairs[0].Others != 0 {
		t.Errorf("got %+v, want one pair of three seeds", pairs)
	}
}
