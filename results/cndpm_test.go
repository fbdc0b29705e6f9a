package main

import (
	"testing"

	"ocl/experiment/result"
)

// TestExpertFigures: the tasks that a stopped run did not learn count for nothing, and neither do experts of later tasks.
func TestExpertFigures(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	r := run{Result: &result.Result{
		Accuracy: [][]*float64{{v(0.6), nil, nil}, {v(0.2), v(0.4), nil}, {}},
		Experts:  &result.Experts{List: []result.Expert{{Task: 0}, {Task: 0}, {Task: 1}, {Task: 2}}},
	}}
	if got := joined(seenAfter(r), "%.1f"); got != "60.0, 30.0" {
		t.Errorf("the accuracy on the tasks seen is %s, want 60.0, 30.0", got)
	}
	for task, want := range []int{2, 3, 4} {
		if got := expertsAfter(r, task); got != want {
			t.Errorf("%d experts by the end of task %d, want %d", got, task, want)
		}
	}
}

// TestExpertRuns: a run that the text cannot use is an error that names it.
func TestExpertRuns(t *testing.T) {
	p := &page{runs: []run{{file: expertFolder + "x.json.gz", Result: &result.Result{Outcome: result.Outcome{State: result.Diverged}}}}}
	if _, err := p.expertRuns(); err == nil {
		t.Error("a run that diverged is taken")
	}
	if _, err := (&page{}).expertRuns(); err == nil {
		t.Error("no run is no error")
	}
}
