package reproduce

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/rng"
	"ocl/run/result"
)

const (
	images = 500 // in the test set of each of the two tasks
	cifar  = "sha256:1111"
)

// made is a run of ER with an average accuracy, which both tasks have.
func made(seed uint64, accuracy float64) *result.Result {
	c := config.Default()
	c.Methods, c.Seed = []string{"er"}, seed
	c.Engine = config.Engine{Kernel: "avx2", Convolution: "winograd"}
	r := &result.Result{Config: c, Accuracy: [][]*float64{{nil, nil}, {&accuracy, &accuracy}},
		Outcome: result.Outcome{State: result.Finished}}
	r.Provenance = result.Provenance{Numbers: result.Numbers, Kernel: "avx2", Convolution: "winograd", DataDigest: cifar}
	r.Stream.Tasks = []result.Task{{Test: images}, {Test: images}}
	r.Metrics.AverageAccuracy = &accuracy
	return r
}

// runs are runs with the seeds from first on.
func runs(first uint64, accuracies ...float64) (list []*result.Result) {
	for i, v := range accuracies {
		list = append(list, made(first+uint64(i), v))
	}
	return list
}

// with is a run with something else.
func with(r *result.Result, change func(r *result.Result)) *result.Result {
	change(r)
	return r
}

func referencesOf(t *testing.T, list ...*result.Result) []Reference {
	t.Helper()
	references, err := References(list)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Encode(references)
	if err != nil {
		t.Fatal(err)
	}
	if references, err = parse(text); err != nil {
		t.Fatal(err)
	}
	return references
}

// one is the only group of a check.
func one(t *testing.T, references []Reference, list ...*result.Result) *Group {
	t.Helper()
	groups := Check(references, list)
	if len(groups) != 1 {
		t.Fatalf("%d groups, want 1", len(groups))
	}
	return groups[0]
}

func ncm(r *result.Result, v float64) {
	r.Classifiers = map[string]result.Classifier{config.ClassifierNCM: {Metrics: result.Metrics{AverageAccuracy: &v}}}
}

// TestVerdicts goes through what a check can say of runs of the config of three committed ones, of 19, 20 and 21 %.
func TestVerdicts(t *testing.T) {
	references := referencesOf(t, runs(1, 0.19, 0.20, 0.21)...)
	avx512 := func(r *result.Result) { r.Provenance.Kernel = "avx512" }
	for name, c := range map[string]struct {
		runs    []*result.Result
		verdict string
		tested  int // seeds in the test of accuracy
	}{
		"the committed runs":         {runs(1, 0.19, 0.20, 0.21), Same, 0},
		"one of them":                {runs(2, 0.20), Same, 0},
		"other seeds":                {runs(4, 0.188, 0.201, 0.215), Inside, 3},
		"other seeds, far away":      {runs(4, 0.288, 0.301, 0.315), Outside, 3},
		"one more seed":              {runs(1, 0.19, 0.20, 0.21, 0.218), Inside, 1},
		"one seed that is too good":  {runs(9, 0.40), Outside, 1},
		"another bit":                {runs(1, 0.19, 0.20, math.Nextafter(0.21, 1)), Differs, 1},
		"a committed seed, far away": {runs(1, 0.19, 0.20, 0.71), Outside, 1},
		"other kernels": {[]*result.Result{with(made(1, 0.205), avx512), with(made(2, 0.195), avx512)},
			Inside, 2},
		"both kernels of a seed": {[]*result.Result{with(made(7, 0.205), avx512), made(7, 0.195)}, Inside, 1},
		"plain Go, which may round otherwise": {[]*result.Result{with(made(1, 0.205),
			func(r *result.Result) { r.Provenance.Kernel = "generic" })}, Inside, 1},
		"an older numbers version": {[]*result.Result{with(made(1, 0.205),
			func(r *result.Result) { r.Provenance.Numbers = 1 })}, Inside, 1},
		"another engine in the config": {[]*result.Result{with(made(1, 0.19),
			func(r *result.Result) { r.Config.Engine = config.Engine{} })}, Same, 0},
		"diverged": {[]*result.Result{with(made(1, 0.19),
			func(r *result.Result) { r.Outcome.State = result.Diverged })}, Outside, 0},
		"other accuracies of tasks": {[]*result.Result{with(made(1, 0.19), func(r *result.Result) {
			a, b := 0.18, 0.20
			r.Accuracy = [][]*float64{{nil, nil}, {&a, &b}}
		})}, Differs, 1},
	} {
		g := one(t, references, c.runs...)
		tested := 0
		for _, c := range g.Comparisons {
			tested = len(c.Seeds)
		}
		if g.Verdict() != c.verdict || tested != c.tested || g.Why != "" {
			t.Errorf("%s: %s after a test of %d seeds, want %s after %d (%s)", name, g.Verdict(), tested, c.verdict, c.tested,
				g.Why)
		}
	}
}

// TestMeasures: a run is compared in what both have measured, by bits or by seeds, and class means are those of a
// second classifier or of the only one.
func TestMeasures(t *testing.T) {
	var list []*result.Result
	for i, r := range runs(1, 0.19, 0.20, 0.21) {
		list = append(list, with(r, func(r *result.Result) { ncm(r, 0.25+0.01*float64(i)) }))
	}
	forgetting := 0.5
	list[2].Metrics.AverageForgetting = &forgetting
	references := referencesOf(t, list...)
	trick := with(made(8, 0.26), func(r *result.Result) {
		r.Config.Classifiers, r.Config.Tricks = []string{config.ClassifierNCM}, []string{"ncm"}
	})
	g := one(t, references, append(runs(1, 0.19, 0.20), trick)...)
	if len(g.Repeats) != 2 || len(g.Comparisons) != 1 || g.Comparisons[0].Measure.Name != "class_means" ||
		g.Verdict() != Inside {
		t.Errorf("a run by class means alone: %+v", g)
	}
	one19 := with(made(1, 0.19), func(r *result.Result) { ncm(r, 0.26) })
	if g = one(t, references, one19); g.Verdict() != Differs || len(g.Repeats[0].Differences) != 1 ||
		g.Repeats[0].Differences[0].Key != "class means" {
		t.Errorf("other class means of the same run: %+v", g)
	}
	// The accuracy has the bits of the committed run; forgetting that the committed run did not measure has no reference
	// of three seeds.
	more := with(made(1, 0.19), func(r *result.Result) { r.Metrics.AverageForgetting = &forgetting })
	if g = one(t, references, more); g.Verdict() != Same || len(g.Comparisons) != 1 || g.Comparisons[0].Made() ||
		len(g.Comparisons[0].Committed) != 1 {
		t.Errorf("forgetting that only the run has measured: %+v", g)
	}
}

// TestSeparateSeeds: runs that share a seed of their own are one group, whatever their seeds are, and another one than
// runs without it.
func TestSeparateSeeds(t *testing.T) {
	var list []*result.Result
	for seed := range uint64(3) {
		list = append(list, with(made(seed, 0.2),
			func(r *result.Result) { order := uint64(1); r.Config.Seeds.Order = &order }))
	}
	if g := one(t, referencesOf(t, runs(1, 0.19, 0.20, 0.21)...), list...); g.Verdict() != None ||
		!strings.Contains(g.Why, "seeds.order is not set and not 1") {
		t.Errorf("three runs of one order: %s %s", g.Verdict(), g.Why)
	}
}

// TestReferences: results of one run with different evaluations are one, which has all that they have measured; two
// that contradict each other are an error, and what was interrupted is none.
func TestReferences(t *testing.T) {
	twice := with(made(1, 0.19), func(r *result.Result) { ncm(r, 0.25); r.Config.Eval = config.EvalSeen })
	stopped := with(made(2, 0.19), func(r *result.Result) { r.Outcome.State = result.Interrupted })
	references := referencesOf(t, made(1, 0.19), twice, stopped)
	if len(references) != 1 || len(references[0].Runs) != 1 || len(references[0].Runs[0].Values) != 2 {
		t.Errorf("references are %+v, want one run with two values", references)
	}
	if _, err := References([]*result.Result{made(1, 0.19), made(1, 0.2)}); err == nil ||
		!strings.Contains(err.Error(), "two results of seed 1") {
		t.Errorf("two results of one run with other numbers: %v", err)
	}
	both := with(made(1, 0.3), func(r *result.Result) { r.Provenance.Kernel = "avx512" })
	older := with(made(1, 0.4), func(r *result.Result) { r.Provenance.Numbers = 1 })
	references = referencesOf(t, older, both, made(1, 0.19))
	if v := references[0].values(Measures[0]); !slices.Equal(v, []float64{0.19}) {
		t.Errorf("of a seed with three engines %v count, want the first kernels of the newest numbers alone", v)
	}
}

// TestWhyNot: a run that is compared with nothing says why.
func TestWhyNot(t *testing.T) {
	references := referencesOf(t, append(runs(1, 0.19, 0.20, 0.21),
		with(made(1, 0.1), func(r *result.Result) { r.Config.Optimizer.LR = 0.03 }),
		with(made(2, 0.1), func(r *result.Result) { r.Config.Optimizer.LR = 0.03 }))...)
	for _, c := range []struct {
		change func(r *result.Result)
		want   string
	}{
		{func(r *result.Result) { r.Config.Optimizer.LR = 0.01 }, "in the nearest, optimizer.lr is 0.1 and not 0.01"},
		{func(r *result.Result) { r.Config.Memory = 70 }, "in the nearest, memory is 500 and not 70"},
		{func(r *result.Result) { r.Config.Optimizer.LR, r.Config.Seed = 0.03, 4 }, "have only 2 seeds, and 3 are needed"},
		{func(r *result.Result) { r.Provenance.DataDigest = "sha256:2222" },
			`other data: the digest is "sha256:2222" here and "sha256:1111" there. Check the data with "ocl data verify glyphs"`},
		{func(r *result.Result) { r.Config.Methods = []string{"mir"} }, `no method "mir" is among the committed runs`},
		{func(r *result.Result) {
			r.Config.Memory, r.Config.Optimizer.LR, r.Config.Optimizer.WeightDecay, r.Config.Replay.Batch,
				r.Config.Protocol = 70, 1, 1, 7, "survey"
		}, "no committed run is near"},
	} {
		g := one(t, references, with(made(9, 0.2), c.change))
		if g.Verdict() != None || !strings.Contains(g.Why, c.want) {
			t.Errorf("%s: %q, want %q", g.Verdict(), g.Why, c.want)
		}
	}
}

// TestOneImageIsNoDifference: networks that predict one class have the same accuracy with every seed, but for rounding.
func TestOneImageIsNoDifference(t *testing.T) {
	eighteenth := 1.0 / 18
	references := referencesOf(t, runs(1, eighteenth, eighteenth, eighteenth)...)
	if g := one(t, references, runs(4, math.Nextafter(eighteenth, 0))...); g.Verdict() != Inside {
		t.Errorf("a rounding is %s: %+v", g.Verdict(), g.Comparisons)
	}
	if g := one(t, references, runs(4, eighteenth+2.0/images)...); g.Verdict() != Outside {
		t.Errorf("four images more than networks that all have the same accuracy are %s", g.Verdict())
	}
}

// TestFalseAlarms draws runs and committed runs of the same distribution, 20 rows: a check finds something
// outside in at most 6 % of the cases. A shift of 5 points in one row is found.
func TestFalseAlarms(t *testing.T) {
	if testing.Short() {
		t.Skip("draws some hundred thousand runs; without -short it does")
	}
	checks, rows := 300, 20
	if os.Getenv("OCL_LONG") != "" {
		checks = 1000
	}
	for _, c := range []struct {
		runs, committed int
		shift           float64 // of the first row, in points
		spread          float64 // of the seeds, in points
		least, most     float64 // of the checks that find something
	}{
		{1, 3, 0, 1, 0, 0.06},
		{2, 3, 0, 1, 0, 0.06},
		{3, 3, 0, 1, 0, 0.06},
		{2, 8, 0, 1, 0, 0.06}, // Welch's test would find something in a quarter
		{5, 8, 0, 1, 0, 0.06},
		{3, 3, 5, 0.6, 0.9, 1},
		{3, 3, 5, 1, 0.4, 1}, // three seeds against three show little, after the correction for 20 rows
		{3, 8, 5, 1, 0.9, 1},
	} {
		src := rng.New(1, fmt.Sprint("reproduce/", c))
		found := 0
		for range checks {
			var groups []*Group
			for row := range rows {
				draw := func(seed uint64, shift float64) *result.Result {
					return made(seed, (20+shift+c.spread*src.NormFloat64())/100)
				}
				var reference Reference
				for seed := range c.committed {
					reference.Runs = append(reference.Runs, runOf(draw(uint64(seed), 0)))
				}
				g := &Group{}
				for seed := range c.runs {
					shift := 0.0
					if row == 0 {
						shift = c.shift
					}
					g.Runs = append(g.Runs, draw(100+uint64(seed), shift))
				}
				g.check(&reference)
				groups = append(groups, g)
			}
			correct(groups)
			outside := func(g *Group) bool { return g.Verdict() == Outside }
			if c.shift > 0 && outside(groups[0]) || c.shift == 0 && slices.ContainsFunc(groups, outside) {
				found++
			}
		}
		share := float64(found) / float64(checks)
		t.Logf("%d runs against %d in %d rows, spread %g points, shift %g: found in %.1f %%", c.runs, c.committed, rows,
			c.spread, c.shift, 100*share)
		if !(share >= c.least && share <= c.most) {
			t.Errorf("%+v: something is found in a share of %g", c, share)
		}
	}
}

// TestCommitted: the file in the program can be read, is small, and has what a check needs.
func TestCommitted(t *testing.T) {
	const most = 100_000
	if len(committed) > most {
		t.Errorf("references.json has %d bytes, want at most %d", len(committed), most)
	}
	enough := 0
	for _, r := range Committed() {
		if len(r.values(Measures[0])) >= Least {
			enough++
		}
	}
	if enough < 40 {
		t.Errorf("%d references have %d seeds, want at least the 40 that were there when the test was written", enough, Least)
	}
}
