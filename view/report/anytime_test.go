package report

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"ocl/run/result"
)

// watched is a made-up run with an evaluation every so many steps, of 10 for a task. The accuracy on all tasks seen is
// that of the step, in per mille.
func watched(f fake, every int) *run {
	r := f.make()
	sum, n := 0.0, 0.0
	for step := every; step <= 10*f.tasks; step += every {
		e := result.Evaluation{Step: step, Task: (step - 1) / 10, Accuracy: make([]*float64, f.tasks)}
		for j := range e.Task + 1 {
			v := float64(step) / 1000
			e.Accuracy[j] = &v
		}
		r.Evaluations = append(r.Evaluations, e)
		sum, n = sum+float64(step)/1000, n+1
	}
	r.Outcome.Step = 10 * f.tasks
	mean := sum / n
	r.Metrics.AverageAnytimeAccuracy = &mean
	return newRun(r, "")
}

func TestAnytime(t *testing.T) {
	er := fake{method: "er", title: "ER", memory: 500, tasks: 3, perTask: 2, level: 0.5, decay: 0.5}
	var runs []*run
	for seed := range uint64(2) {
		er.seed = seed + 1
		runs = append(runs, watched(er, 4))
	}
	*runs[1].Evaluations[0].Accuracy[0] = 0.024 // beside 0.004 of the other run
	gem := fake{method: "agem", title: "A-GEM", memory: 500, seed: 1, tasks: 3, perTask: 2, level: 0.5, decay: 0.5}
	runs = append(runs, watched(gem, 10))
	plain := fake{method: "finetune", title: "Finetune", memory: -1, seed: 1, tasks: 3, perTask: 2, level: 0.5, decay: 0.5}
	s := studyOf(append(runs, newRun(plain.make(), "")), nil).settings[0]
	f := s.anytimeFigure()
	if f == nil || len(f.Lines.Series) != 2 {
		t.Fatalf("figure %+v", f)
	}
	a, b := f.Lines.Series[0], f.Lines.Series[1]
	if a.Label != "A-GEM" || !slices.Equal(a.X, []int{10, 20, 30}) || b.Label != "ER" ||
		!slices.Equal(b.X, []int{4, 8, 12, 16, 20, 24, 28}) || f.Lines.XMax != 30 {
		t.Errorf("%s at %v, %s at %v, up to %d", a.Label, a.X, b.Label, b.X, f.Lines.XMax)
	}
	if !(math.Abs(a.Y[2]-3) < 1e-9) || !(math.Abs(b.Y[0]-1.4) < 1e-9) || !(math.Abs(b.Y[6]-2.8) < 1e-9) ||
		!math.IsNaN(a.Half[0]) || !math.IsNaN(b.Half[0]) {
		t.Errorf("%v ± %v and %v ± %v", a.Y, a.Half, b.Y, b.Half)
	}
	csv := string(f.table().csvBytes())
	for _, want := range []string{"method,memory,protocol,step,accuracy,half_width_95,runs\n",
		"agem,500,standard,30,0.03,,1\n", "er,500,standard,28,0.028,0,2\n"} {
		if !strings.Contains(csv, want) {
			t.Errorf("the CSV lacks %q: %s", want, csv)
		}
	}
	if !strings.Contains(f.Caption, "Finetune: no evaluations in the middle of tasks.") ||
		strings.Contains(f.Caption, "Not every evaluation") {
		t.Errorf("caption %q", f.Caption)
	}
	if !strings.Contains(f.Alt, "ER: 1.4 at 4, 2.8 at 28.") {
		t.Errorf("in words: %q", f.Alt)
	}
}

// TestAnytimeLong: of very many evaluations some are drawn, the last one among them; the CSV has all.
func TestAnytimeLong(t *testing.T) {
	r := watched(fake{method: "er", title: "ER", memory: 500, seed: 1, tasks: 99, perTask: 1, level: 0.5, decay: 0.5}, 1)
	f := studyOf([]*run{r}, nil).settings[0].anytimeFigure()
	x := f.Lines.Series[0].X
	if n := len(x); n > maxAnytimePoints || n < maxAnytimePoints/2 || x[n-1] != 990 || len(f.Data.Rows) != 990 ||
		!f.Lines.Sparse {
		t.Errorf("%d of 990 evaluations are drawn, up to step %d; %d are in the CSV", n, x[n-1], len(f.Data.Rows))
	}
	if !strings.Contains(f.Caption, "Not every evaluation is drawn; the CSV file has all.") {
		t.Errorf("caption %q", f.Caption)
	}
}

// TestAnytimeOnPage: the section is there where a result has evaluations in the middle of tasks, and only there.
func TestAnytimeOnPage(t *testing.T) {
	doc, err := os.ReadFile("../../docs/report.md")
	if err != nil || !strings.Contains(string(doc), "\n| `anytime` |") {
		t.Errorf("docs/report.md has no row for the figure: %v", err)
	}
	f := fake{method: "er", title: "ER", memory: 500, seed: 1, tasks: 3, perTask: 2, level: 0.5, decay: 0.5}
	for every, want := range map[int]bool{4: true, 31: false} { // of 30 steps
		p, _, _ := newPage(studyOf([]*run{watched(f, every)}, nil))
		page := render(p)
		if got := strings.Contains(string(page), `href="#anytime-section"`) &&
			strings.Contains(string(page), `<figure id="anytime">`); got != want ||
			got != strings.Contains(string(page), "anytime-section") {
			t.Errorf("an evaluation every %d steps: the page has the section: %v", every, got)
		}
	}
}
