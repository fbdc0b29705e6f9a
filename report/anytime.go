package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"ocl/experiment/result"
	"ocl/metric"
	"ocl/report/chart"
)

// The figure draws at most so many rows, and so many evaluations of a row and of all rows together, so that the page
// stays below 1 MB; the CSV has all.
const (
	maxAnytimeRows   = 12
	maxAnytimePoints = 100
	maxAnytimeAll    = 600
)

// anytime is the accuracy of a run on the tasks seen so far at an evaluation in the middle of a task: a term of
// metric.AverageAnytimeAccuracy. NaN where the run was not evaluated after that step.
func (r *run) anytime(step int) float64 {
	i, found := slices.BinarySearchFunc(r.Evaluations, step, func(e result.Evaluation, step int) int { return e.Step - step })
	if !found {
		return math.NaN()
	}
	row := make([]float64, len(r.Evaluations[i].Accuracy))
	for j, v := range r.Evaluations[i].Accuracy {
		row[j] = orNaN(v)
	}
	return metric.AverageAnytimeAccuracy([][]float64{row})
}

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
		for _, e := range r.Evaluations {
			steps = append(steps, e.Step)
		}
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

// anytimeFigure is the accuracy on the tasks seen so far against learner steps; nil where no result has evaluations in
// the middle of tasks.
func (s *setting) anytimeFigure() *figure {
	f := &figure{ID: s.id("anytime"), Lines: &chart.Lines{XLabel: "learner steps", YLabel: "accuracy on the tasks seen, %", Say: percentText}}
	f.Data = &table{ID: f.ID, Head: headed(numCol("step", "step"), numCol("accuracy on the tasks seen, %", "accuracy"), numCol("± 95 %", "half_width_95"), numCol("runs", "runs"))}
	crowded := len(s.rows) > chart.Crowd
	most := min(maxAnytimePoints, max(maxAnytimeAll/len(s.rows), maxAnytimeAll/maxAnytimeRows))
	thinned, more := false, 0
	var without []string
	for _, g := range s.rows {
		steps := g.anytimeSteps()
		if len(steps) == 0 {
			without = append(without, g.Short)
			continue
		}
		every := (len(steps) + most - 1) / most
		thinned = thinned || every > 1
		f.Lines.Sparse = f.Lines.Sparse || len(steps) > 20
		se := chart.Series{Label: g.Short, Look: g.style, Width: g.width}
		for i, step := range steps {
			e := overRuns(g.anytimeRuns(), func(r *run) float64 { return r.anytime(step) })
			f.Data.Rows = append(f.Data.Rows, append(g.head(), textCell(strconv.Itoa(step)),
				numCell(valueText(percentText, 100*e.mean, math.NaN()), e.mean), numCell(halfText(e), e.half), textCell(strconv.Itoa(e.n))))
			if (len(steps)-1-i)%every == 0 { // the last one is drawn
				se.X, se.Y = append(se.X, step), append(se.Y, 100*e.mean)
				if !crowded {
					se.Half = append(se.Half, 100*e.half)
				}
				f.Lines.XMax = max(f.Lines.XMax, step)
			}
		}
		switch _, _, ok := se.End(); {
		case ok && (s.all || len(f.Lines.Series) < maxAnytimeRows):
			f.Lines.Series = append(f.Lines.Series, se)
		case ok:
			more++
		}
	}
	if len(f.Lines.Series) == 0 {
		return nil
	}
	f.scale(0)
	f.Title = s.anytimeTitle()
	scope, _, runs := s.scope()
	f.Caption = "Accuracy on the test images of the tasks seen so far, the current one included, in the middle of tasks; mean over these tasks. " + upper(scope)
	switch {
	case runs > 1 && crowded:
		f.Caption += "; the intervals are in the CSV file"
	case runs > 1:
		f.Caption += ", with 95 % Student-t intervals"
	}
	f.Caption += "."
	f.Caption += s.partly((*row).anytimeRuns) + csvHas(more)
	if thinned {
		f.Caption += " Not every evaluation is drawn; the CSV file has all."
	}
	if len(without) > 0 {
		f.Caption += " " + andList(without) + ": no evaluations in the middle of tasks."
	}
	f.Alt = s.alt(f, "Accuracy on the tasks seen so far after learner steps")
	return f
}

// anytimeTitle names the rows with the highest and the lowest accuracy during training.
func (s *setting) anytimeTitle() string {
	var best, worst *row
	value := func(g *row) float64 {
		return g.metricOf(func(m result.Metrics) *float64 { return m.AverageAnytimeAccuracy }).mean
	}
	for _, g := range s.rows {
		switch v := value(g); {
		case math.IsNaN(v) || len(g.finished) == 0 && s.anyFinished():
			continue
		case best == nil:
			best, worst = g, g
		case v > value(best):
			best = g
		case v < value(worst):
			worst = g
		}
	}
	switch {
	case best == nil:
		return "Accuracy during training"
	case best == worst:
		return fmt.Sprintf("During training, %s classifies on average %s %% of the tasks seen correctly", best.Short, percent(value(best)))
	}
	return fmt.Sprintf("During training, %s classifies on average %s %% of the tasks seen correctly, %s %s %%", best.Short, percent(value(best)), worst.Short, percent(value(worst)))
}
