package report

import (
	"slices"

	"ocl/internal/count"
	"ocl/view/chart"
)

// The figure draws at most so many evaluations of a row and of all rows together, but not less of a row than is needed
// to see its course, so that the page stays below 1 MB; the CSV has all.
const (
	maxAnytimePoints   = 100
	maxAnytimeAll      = 500
	leastAnytimePoints = 12
)

// anytimeRuns are the counted runs that were evaluated in the middle of tasks.
func (g *row) anytimeRuns() []*run {
	var runs []*run
	for _, r := range g.counted() {
		if len(r.Evaluations) == 0 {
			r = g.moreOf(r)
		}
		if len(r.Evaluations) > 0 {
			runs = append(runs, r)
		}
	}
	return runs
}

// anytimeSteps are the steps after which a run of the row was evaluated in the middle of a task.
func (g *row) anytimeSteps() []int {
	var steps []int
	for _, r := range g.anytimeRuns() {
		steps = append(steps, r.AnytimeSteps()...)
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

// anytimeFigure is the accuracy on the tasks seen so far against learner steps; nil where no result has evaluations in
// the middle of tasks.
func (s *setting) anytimeFigure() *figure {
	f := s.lineFigure("anytime", "learner steps", "accuracy on the tasks seen, %", "step", "accuracy",
		func(g *row) ([]*run, []int) {
			return g.anytimeRuns(), g.anytimeSteps()
		}, func(r *run, _, step int) float64 { return r.Anytime(step) })
	if len(f.Lines.Series) == 0 {
		return nil
	}
	f.Lines.XMin = 0
	crowded := len(s.rows) > chart.Crowd
	if !crowded {
		f.Lines.Cuts = s.cuts()
	}
	most := min(maxAnytimePoints, max(maxAnytimeAll/len(f.Lines.Series), leastAnytimePoints))
	thinned := f.plain(crowded, func(se *chart.Series) bool { return se.Thin(most) })
	f.scale(0)
	f.split(f.rows)
	f.Title = s.titled("Accuracy during training")
	scope, _, runs := s.scope()
	f.Caption = "Accuracy on the test images of the tasks seen so far, the current one included, in the middle of tasks; mean over these tasks. " +
		upper(scope)
	switch {
	case runs > 1 && crowded:
		f.Caption += "; the intervals are in the CSV file"
	case runs > fewSeeds:
		f.Caption += ", with 95 % Student-t intervals"
	}
	f.Caption += "." + s.partly((*row).anytimeRuns)
	if thinned {
		f.Caption += " Not every evaluation is drawn; the CSV file has all."
	}
	var without []string
	for _, g := range s.rows {
		if len(g.anytimeRuns()) == 0 {
			without = append(without, g.Short)
		}
	}
	if len(without) > 0 {
		f.Caption += " " + count.And(without) + ": no evaluations in the middle of tasks."
	}
	f.Alt = s.alt(f, "Accuracy on the tasks seen so far after learner steps")
	return f
}
