package report

import (
	"strings"
	"testing"

	"ocl/run/result"
)

// TestChanceIsSaid: accuracies that guessing may reach are named, with what guessing gets; a lower bound alone needs no
// remedy, and runs that did not finish, foreign ones and accuracies above luck are not named.
func TestChanceIsSaid(t *testing.T) {
	of := func(method string, seed uint64, accuracy float64, change ...func(*result.Result)) *run {
		res := fake{method: method, title: strings.ToUpper(method), memory: 50, seed: seed, tasks: 5, perTask: 2, level: 0.5,
			decay: 1}.make()
		for i := range res.Stream.Tasks {
			res.Stream.Tasks[i].Test = 24
		}
		res.Metrics.AverageAccuracy = &accuracy
		for _, f := range change {
			f(res)
		}
		return newRun(res, "")
	}
	foreign := func(r *result.Result) { r.Foreign = &result.Foreign{Program: "other"} }
	parent := func(r *result.Result) { r.Parent, r.Stream.Classes = &result.Parent{}, 40 }
	const help, guessing = " Take more images of each class",
		"Guessing gets 10.0 %, and up to 15.8 % by luck with 120 test images."
	for _, c := range []struct {
		runs []*run
		want []string // nil is silence
	}{
		{[]*run{of("er", 1, 0.117), of("mir", 1, 0.3)},
			[]string{"No better than guessing one of 10 classes: ER, memory 50 (11.7 %).", guessing, help}},
		{[]*run{of("er", 1, 19./120)}, []string{"(15.8 %)"}},
		{[]*run{of("er", 1, 20./120)}, nil},
		{[]*run{of("er", 1, 0.12), of("er", 2, 0.22)}, nil}, // the mean is 17 %
		{[]*run{of("er", 1, 0.05, parent)}, []string{"one of 40 classes", "Guessing gets 2.5 %"}},
		{[]*run{of("er", 1, 0.1, foreign)}, nil},
		{[]*run{of("er", 1, 0.1, func(r *result.Result) { r.Outcome.State = result.Diverged })}, nil},
		// nobody says how many images there were
		{[]*run{of("er", 1, 0.1, func(r *result.Result) { clear(r.Stream.Tasks) })}, nil},
	} {
		got := strings.Join(studyOf(c.runs, nil).warnings, "\n")
		if c.want == nil && strings.Contains(got, "guessing") {
			t.Errorf("it says %q", got)
		}
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("it says %q, and not %q", got, want)
			}
		}
	}
	if got := strings.Join(studyOf([]*run{of("finetune", 1, 0.1)}, nil).warnings, "\n"); !strings.Contains(got,
		guessing) || strings.Contains(got, help) {
		t.Errorf("of a lower bound it says %q", got)
	}
}
