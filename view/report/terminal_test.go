package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"ocl/internal/count"
	"ocl/run/result"

	"github.com/google/go-cmp/cmp"
)

func tableText(t *testing.T, res []*result.Result, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := Table(&b, res, Options{Known: methods}, width); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// exact makes a result with metrics at hand instead of drawn ones.
func exact(f fake, accuracy, forgetting, learning, seconds float64) *result.Result {
	r := f.make()
	r.Metrics = result.Metrics{AverageAccuracy: &accuracy, AverageForgetting: &forgetting, LearningAccuracy: &learning}
	r.Seconds = result.Seconds{Train: seconds - 10, Test: 10}
	return r
}

func TestTable(t *testing.T) {
	ft := fake{method: "finetune", title: "Finetune", memory: -1}
	er := fake{method: "er", title: "ER", memory: 5000}
	seed := func(f fake, s uint64) fake { f.seed = s; return f }
	got := tableText(t, []*result.Result{
		exact(seed(ft, 1), 0.036, 0.5, 0.55, 80), exact(seed(ft, 2), 0.038, 0.52, 0.54, 82),
		exact(seed(er, 1), 0.17, 0.31, 0.46, 160), exact(seed(er, 2), 0.18, 0.33, 0.48, 160),
	}, 0)
	// Two runs: the half width is 12.706·|a−b|/2.
	want := `method            accuracy, %  forgetting, points  learning, %   time  runs
ER, memory 5,000   17.5 ± 6.4         32.0 ± 12.7  47.0 ± 12.7  2m40s     2
Finetune            3.7 ± 1.3         51.0 ± 12.7   54.5 ± 6.4  1m21s     2
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestTableSaysWhatIsMissing(t *testing.T) {
	ew := fake{method: "ewc++", title: "EWC++", memory: -1, state: result.Diverged, through: 4, seed: 2, level: 0.5,
		decay: 0.5, concurrency: 2}
	ok := fake{method: "ewc++", title: "EWC++", memory: -1, seed: 1, concurrency: 2}
	early := fake{method: "mir", title: "MIR", memory: 1000, seed: 1, state: result.Interrupted}
	e := early.make()
	e.Accuracy, e.Metrics, e.Outcome.Step = nil, result.Metrics{}, 12
	got := tableText(t, []*result.Result{exact(ok, 0.05, 0.6, 0.6, 80), ew.make(), e}, 0)
	want := `method              accuracy, %  forgetting, points   learning, %    time    runs
EWC++                       5.0                60.0          60.0  1m20s*  1 of 2
MIR, memory 1,000  not measured        not measured  not measured     49s  0 of 1
EWC++, seed 2: diverged at step 400 (the loss is not a finite number); not in the means
MIR, memory 1,000, seed 1: interrupted at step 12; nothing was evaluated before that
* up to 2 runs shared the machine, so these times cannot be compared with those of a run alone
`
	got = strings.ReplaceAll(got, count.Duration(newRun(e, "").seconds()), "49s")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// TestDivergedSaysItsStepOnce: the reason that a run gives says the step already, also that of an older result.
func TestDivergedSaysItsStepOnce(t *testing.T) {
	f := fake{method: "er", title: "ER", memory: 10, state: result.Diverged, through: 4, seed: 2, level: 0.5, decay: 0.5}
	for _, c := range [][2]string{
		{"task 5, step 1400: learner: NaN",
			"ER, memory 10, seed 2: diverged (task 5, step 1400: learner: NaN); the numbers are those after 4 tasks"},
		{"NaN", "ER, memory 10, seed 2: diverged at step 1,400 (NaN); the numbers are those after 4 tasks"},
	} {
		r := f.make()
		r.Outcome.Step, r.Outcome.Reason = 1400, c[0]
		if got := studyOf([]*run{newRun(r, "")}, nil).settings[0].footnotes()[0]; got != c[1] {
			t.Errorf("got  %s\nwant %s", got, c[1])
		}
	}
}

func TestTableFitsItsWidth(t *testing.T) {
	var many []fake
	for _, m := range surveyed {
		many = append(many, fake{method: m, title: m +
			" with a title that is far longer than any method of the catalogue has", memory: 123456, seed: 1, level: 0.5,
			decay: 0.5})
	}
	for _, width := range []int{0, 40, 72, 100, 400} {
		limit := width
		if width == 0 || width > 100 {
			limit = 100
		}
		text := tableText(t, append(results(many), results(pair(3))...), width)
		for _, line := range strings.Split(text, "\n") {
			if n := utf8.RuneCountInString(line); n > limit {
				t.Errorf("width %d: a line has %d columns: %q", width, n, line)
			}
		}
		for _, m := range surveyed {
			if !strings.Contains(text, m) {
				t.Errorf("width %d: %s is missing", width, m)
			}
		}
	}
}

func TestTableOfNothing(t *testing.T) {
	if got := tableText(t, nil, 0); got != "No run has a result yet.\n" {
		t.Errorf("got %q", got)
	}
}

// TestControlCharacters: what a result holds does not reach a terminal raw.
func TestControlCharacters(t *testing.T) {
	r := (fake{method: "er", title: "E\x1b[31mR", memory: 10, seed: 1, tasks: 2, perTask: 1, level: 0.5, decay: 0.5,
		state: "diverged"}).make()
	r.Outcome.Reason, r.Stream.Name = "\x1b]0;x\a\u009b1m", "a\rb"
	var b strings.Builder
	if err := Table(&b, []*result.Result{r}, Options{Known: methods}, 0); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\a\r\u009b") || !strings.Contains(b.String(), `E\x1b[31mR`) {
		t.Errorf("the table is %q", b.String())
	}
}
