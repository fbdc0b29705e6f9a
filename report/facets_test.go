package report

import (
	"math"
	"slices"
	"testing"

	"ocl/experiment/result"
	"ocl/report/chart"
)

// crowded are more rows than one panel holds, with everything that figures of lines show.
func crowded() (runs []*run) {
	for i, f := range tricked([]string{"agem", "er", "gss", "mir"}, [][]string{nil, {"rv"}}, 1, 4, func(f *fake) { f.errors = true }) {
		r := newRun(f.make(), "run")
		for k := range 40 { // in the middle of tasks
			v := math.Abs(math.Sin(float64((i + 1) * k)))
			r.Evaluations = append(r.Evaluations, result.Evaluation{Step: 10 * (k + 1), Task: k / 10, Accuracy: []*float64{&v}})
		}
		runs = append(runs, r)
	}
	return runs
}

// TestEveryLineHasItsName: of many rows, each line of each figure carries its name, on a phone too.
func TestEveryLineHasItsName(t *testing.T) {
	_, figures, _ := newPage(studyOf(crowded(), nil))
	seen := map[string]int{}
	for _, f := range figures {
		if f.Lines == nil {
			continue
		}
		drawings := map[string]*chart.Drawing{"on a screen": chart.Draw(f.Lines, chart.Wide), "on a phone": chart.Draw(f.Lines, chart.Narrow)}
		if f.Panels != nil {
			drawings = map[string]*chart.Drawing{}
			for _, p := range f.Panels.Panels {
				drawings["in the panel "+p.Title] = chart.Draw(&chart.Panels{Panels: []chart.Panel{p}}, chart.Small)
				seen[f.ID] += len(p.Lines.Series)
			}
		}
		for where, d := range drawings {
			if !d.Labelled {
				t.Errorf("%s: the lines %s have no names", f.ID, where)
			}
		}
	}
	for id, most := range map[string]int{"anytime": 17, "error-ratio": 2 * maxPanelRows, "logits": 2 * maxPanelRows, "predictions": maxPanelRows} {
		if seen[id] < most-2 {
			t.Errorf("%s: %d lines in panels, want about %d", id, seen[id], most)
		}
	}
}

// TestErrorsByRow: more than two rows have a panel each, with a line of the new and one of the old classes; two share one.
func TestErrorsByRow(t *testing.T) {
	runs := crowded()
	few := studyOf(runs[:2], nil).settings[0].panel(panels[0])
	if few.Panels != nil || len(few.Lines.Series) != 4 {
		t.Errorf("two rows have %d lines, and panels: %v", len(few.Lines.Series), few.Panels)
	}
	f := studyOf(runs[:3], nil).settings[0].panel(panels[0])
	var got []string
	for _, p := range f.Panels.Panels {
		for _, s := range p.Lines.Series {
			got = append(got, p.Title+": "+s.Label)
		}
	}
	if want := []string{"AGEM 1k: new", "AGEM 1k: old", "AGEM + RV: new", "AGEM + RV: old", "AGEM 5k: new", "AGEM 5k: old"}; !slices.Equal(got, want) {
		t.Errorf("the panels have %q, want %q", got, want)
	}
}
