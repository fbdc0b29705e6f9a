package report

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"ocl/run/result"
	"ocl/view/chart"
)

// dipping is a made-up run of three tasks of ten steps, evaluated every fourth one. After each end of a task the
// accuracy on the earlier ones falls to 0.1, and comes back to what it was.
func dipping(f fake) *run {
	r := f.make()
	r.Config.Stream.Batch = 1
	for i := range r.Stream.Tasks {
		r.Stream.Tasks[i].Train = 10
		for j := range i + 1 {
			*r.Accuracy[i][j] = 0.5
		}
	}
	for step := 4; step < 30; step += 4 {
		e := result.Evaluation{Step: step, Task: (step - 1) / 10, Accuracy: make([]*float64, 3)}
		for j := range e.Task + 1 {
			v := 0.4
			if step == 12 || step == 24 {
				v = 0.1
			}
			e.Accuracy[j] = &v
		}
		r.Evaluations = append(r.Evaluations, e)
	}
	r.Outcome.Step = 30
	return newRun(r, "")
}

func TestGaps(t *testing.T) {
	doc, err := os.ReadFile("../../docs/report.md")
	if err != nil || !strings.Contains(string(doc), "\n| `gaps` |") {
		t.Errorf("docs/report.md has no row for the figure: %v", err)
	}
	er := fake{method: "er", title: "ER", memory: 500, seed: 1, tasks: 3, perTask: 2, level: 0.5, decay: 0.5}
	r := dipping(er)
	s := studyOf([]*run{r}, nil).settings[0]
	f := s.gapsFigure()
	if f == nil || len(f.Lines.Series) != 1 || !slices.Equal(f.Lines.Cuts, []int{10, 20}) {
		t.Fatalf("figure %+v", f)
	}
	se, nan := f.Lines.Series[0], math.NaN()
	if want := []int{10, 12, 16, 20, 20, 24, 28, 30}; !slices.Equal(se.X, want) {
		t.Errorf("steps %v, want %v", se.X, want)
	}
	// the evaluation of step 20 is that at the end of the task
	for i, want := range []float64{50, 10, 40, nan, 50, 10, 40, 50} {
		if got := se.Y[i]; !(math.Abs(got-want) < 1e-9) && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("value %d is %v, want %v", i, got, want)
		}
	}
	if csv := string(f.table().csvBytes()); !strings.Contains(csv, "er,500,standard,12,0.1,,1\n") ||
		strings.Count(csv, "standard,20,") != 1 {
		t.Errorf("CSV: %s", csv)
	}
	if a := s.anytimeFigure(); !slices.Equal(a.Lines.Cuts, []int{10, 20}) {
		t.Errorf("the other figure has cuts at %v", a.Lines.Cuts)
	}
	r.Evaluations[0].Task = 2 // as where all tasks are learned together
	if f := studyOf([]*run{r}, nil).settings[0].gapsFigure(); f != nil {
		t.Errorf("a figure without ends of tasks: %+v", f.Lines.Series)
	}
	p, _, _ := newPage(studyOf([]*run{dipping(er)}, nil))
	if page := string(render(p)); !strings.Contains(page, `<figure id="gaps">`) {
		t.Error("the page lacks the figure")
	}
}

// TestThinBetween keeps the first, the lowest and the last point of each part.
func TestThinBetween(t *testing.T) {
	se := chart.Series{Single: [][]float64{nil}}
	for x := range 100 {
		y := 50.0
		if x == 7 || x == 61 {
			y = 1
		}
		se.X, se.Y, se.Half, se.Single[0] = append(se.X, x), append(se.Y, y), append(se.Half, 2), append(se.Single[0], y)
	}
	if !thinBetween(&se, []int{40}, 4) {
		t.Error("nothing was left out")
	}
	if len(se.X) > 2*5+1 || len(se.Single[0]) != len(se.X) || len(se.Half) != len(se.X) {
		t.Errorf("%v", se.X)
	}
	for _, x := range []int{0, 7, 39, 40, 61, 99} {
		if !slices.Contains(se.X, x) {
			t.Errorf("%d is left out: %v", x, se.X)
		}
	}
	if i := slices.Index(se.X, 40); !math.IsNaN(se.Y[i]) || se.X[i+1] != 40 || se.Y[i+1] != 50 {
		t.Errorf("there is no break at 40: %v %v", se.X, se.Y)
	}
}
