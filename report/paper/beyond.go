package paper

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"ocl/experiment/result"
	"ocl/metric"
	"ocl/report/chart"
)

// anytime builds a line chart of the accuracy within tasks for each stream that has such evaluations.
func (p *paper) anytime(b figureBuilder) (*figure, error) {
	f := &figure{Label: b.label, Text: b.text}
	for _, stream := range b.streams {
		pl := panelOf(b.label, stream)
		lines := &chart.Lines{XLabel: "learner steps", YLabel: "accuracy on the tasks seen, %", Sparse: true, Say: sayPercent}
		pl.Alt = "Line chart of the accuracy on the tasks seen so far within tasks, " + stream + "."
		for _, name := range rowsOf(stream) {
			spec, ok := plainSpec(name, stream, b.memories[0])
			if !ok {
				continue
			}
			runs, _ := p.study.Find(spec, func(r *Run) bool { return len(r.Result.Evaluations) > 0 })
			if len(runs) == 0 {
				continue
			}
			look := lookOf(name)
			s := chart.Series{Label: name, Look: look, Width: 2}
			for _, step := range steps(runs) {
				e := over(runs, func(r *Run) float64 { return 100 * anytimeAt(r, step) })
				s.X, s.Y, s.Half = append(s.X, step), append(s.Y, e.Mean), append(s.Half, e.Half)
				pl.point(name, "accuracy on the tasks seen", strconv.Itoa(step), e, math.NaN(), math.NaN())
				lines.XMax = max(lines.XMax, step)
			}
			pl.add(lines, s)
		}
		spec, _ := plainSpec("ER", stream, b.memories[0])
		pl.finish(lines, 0, 100, notDrawn(spec, "--eval-every 50"))
		f.Panels = append(f.Panels, pl)
	}
	f.Title = leader(f.Panels, "Accuracy within tasks")
	return f, nil
}

// steps are those after which the runs were evaluated in the middle of a task.
func steps(runs []*Run) []int {
	var all []int
	for _, r := range runs {
		for _, e := range r.Result.Evaluations {
			all = append(all, e.Step)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// anytimeAt is the accuracy of a run on the tasks seen so far at a step, NaN where it was not evaluated then.
func anytimeAt(r *Run, step int) float64 {
	i, found := slices.BinarySearchFunc(r.Result.Evaluations, step, func(e result.Evaluation, step int) int { return e.Step - step })
	if !found {
		return math.NaN()
	}
	var row []float64
	for _, v := range r.Result.Evaluations[i].Accuracy {
		if v == nil {
			row = append(row, math.NaN())
			continue
		}
		row = append(row, *v)
	}
	return metric.AverageAnytimeAccuracy([][]float64{row})
}

// timeAccuracy builds a scatter plot of run time and accuracy for each stream.
func (p *paper) timeAccuracy(b figureBuilder) (*figure, error) {
	f := &figure{Label: b.label, Text: b.text, Title: "Time against accuracy"}
	for _, stream := range b.streams {
		pl := panelOf(b.label, stream)
		s := &chart.Scatter{XLabel: "seconds of a run", YLabel: "average accuracy, %"}
		pl.Alt = "Scatter plot of run time and average accuracy, " + stream + "."
		for _, name := range rowsOf(stream) {
			if name == "Offline" { // it takes so long that all others would stand at the edge
				continue
			}
			seen := map[Spec]bool{}
			for _, m := range b.memories {
				spec, ok := plainSpec(name, stream, m)
				if !ok || seen[spec] {
					continue
				}
				seen[spec] = true
				runs, _ := p.study.Find(spec, func(r *Run) bool {
					return r.Result.Outcome.State == result.Finished && r.Result.Provenance.Concurrency == 1 && accuracy.of(r) != nil
				})
				if len(runs) == 0 {
					continue
				}
				x, y := over(runs, (*Run).Seconds), over(runs, func(r *Run) float64 { return 100 * *accuracy.of(r) })
				look := lookOf(name)
				label := name
				if spec.Memory > 0 {
					label += " " + kilo(spec.Memory)
				}
				s.Points = append(s.Points, chart.Spot{Label: label, Look: look, X: x.Mean, Y: y.Mean, Half: y.Half})
				pl.point(label, "average accuracy", full(x.Mean), y, math.NaN(), math.NaN())
				pl.Alt += fmt.Sprintf(" %s: %.1f %% in %.0f s.", label, y.Mean, x.Mean)
			}
		}
		if pl.chart = s; len(s.Points) == 0 {
			spec, _ := plainSpec("ER", stream, 5000)
			pl.Missing = notDrawn(spec, "--eval final")
		}
		f.Panels = append(f.Panels, pl)
	}
	return f, nil
}

// memoryHeat builds a heat map of what the memory holds for each method that chooses by itself what it stores.
func (p *paper) memoryHeat(b figureBuilder) (*figure, error) {
	f := &figure{Label: b.label, Text: b.text, Title: "What the memory holds after each task"}
	for _, stream := range b.streams {
		for _, name := range []string{"ER", "GSS", "GDumb"} {
			pl := panelOf(b.label, stream, name)
			spec, ok := plainSpec(name, stream, b.memories[0])
			if !ok {
				continue
			}
			runs, _ := p.study.Find(spec, func(r *Run) bool { return len(r.Held) > 0 && r.Result.Outcome.State == result.Finished })
			pl.heat(runs)
			if len(runs) == 0 {
				pl.Missing = notDrawn(spec, "--eval final")
			}
			f.Panels = append(f.Panels, pl)
		}
	}
	return f, nil
}

// heat fills a panel with the shares of the tasks in the memory.
func (pl *panel) heat(runs []*Run) {
	if len(runs) == 0 {
		return
	}
	h := &chart.Heat{RowLabel: "after task", ColLabel: "from task"}
	for i, t := range runs[0].Result.Stream.Tasks {
		h.Rows, h.Cols = append(h.Rows, strconv.Itoa(t.Index+1)), append(h.Cols, strconv.Itoa(t.Index+1))
		line := make([]float64, len(runs[0].Result.Stream.Tasks))
		for j := range line {
			e := over(runs, func(r *Run) float64 { return r.share(i, j) })
			line[j] = e.Mean
			if e.N > 0 {
				pl.point("from task "+strconv.Itoa(j+1), "share of the memory", strconv.Itoa(i+1), e, math.NaN(), math.NaN())
			}
		}
		h.V = append(h.V, line)
	}
	last := h.V[len(h.V)-1]
	pl.chart = h
	pl.Alt = fmt.Sprintf("Heat map of the share of the memory from each task after each task. At the end the first task has %.0f %%, the last %.0f %%.", 100*last[0], 100*last[len(last)-1])
}

// share is the share of the stored samples after task i that came with task j, NaN before task j.
func (r *Run) share(i, j int) float64 {
	if i >= len(r.Held) || j > i {
		return math.NaN()
	}
	sum := 0
	for _, n := range r.Held[i] {
		sum += n
	}
	if sum == 0 {
		return math.NaN()
	}
	return float64(r.Held[i][j]) / float64(sum)
}
