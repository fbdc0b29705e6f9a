package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"ocl/view/chart"
)

// The figure of gaps draws at most so many evaluations of all rows together, at least so many of each row after each
// end of a task, a break among them, and so many ends of tasks as lines, so that the page stays below 1 MB.
const (
	maxGapPoints   = 800
	leastGapPoints = 4
	maxCuts        = 60
	maxGapRows     = 12 // of more, the page has the title and the links
)

// ends are the steps after which the tasks of a run ended; nil where a result does not say, as where all tasks were
// learned together.
func (r *run) ends() (list []int) {
	b, step := r.Config.Stream.Batch, 0
	if b < 1 {
		return nil
	}
	for _, t := range r.Stream.Tasks {
		step += (t.Train + b - 1) / b
		list = append(list, step)
	}
	for _, e := range r.Evaluations {
		if t, _ := slices.BinarySearch(list, e.Step); t != e.Task {
			return nil
		}
	}
	return list
}

// cuts are the ends of the tasks, the last left out, where all runs with evaluations in the middle of tasks have the
// same.
func (s *setting) cuts() []int {
	var all []int
	for _, g := range s.rows {
		for _, r := range g.anytimeRuns() {
			ends := r.ends()
			if all != nil && !slices.Equal(ends, all) || len(ends) == 0 || len(ends) > maxCuts {
				return nil
			}
			all = ends
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[:len(all)-1]
}

// earlier is the mean accuracy of a run after a step on the tasks before the one under way, and at the end of a task
// but the last on those so far; NaN where it was not evaluated. It is what [metric.StabilityGap] compares.
func (r *run) earlier(step int) float64 {
	mean := func(row []*float64, n int) float64 {
		sum := 0.0
		for j := range n {
			if j >= len(row) || row[j] == nil {
				return math.NaN()
			}
			sum += *row[j]
		}
		return sum / float64(n) // NaN for none
	}
	ends := r.ends()
	if t := slices.Index(ends, step); t >= len(r.Accuracy) {
		return math.NaN()
	} else if t == len(ends)-1 { // no task comes after it
		return mean(r.Accuracy[t], t)
	} else if t >= 0 {
		return mean(r.Accuracy[t], t+1)
	}
	for _, e := range r.Evaluations {
		if e.Step == step {
			return mean(e.Accuracy, e.Task)
		}
	}
	return math.NaN()
}

// gapsFigure is the accuracy on the earlier tasks against learner steps, broken where a task ends and the earlier tasks
// become one more; nil where nothing was evaluated in the middle of tasks, or there is one task or one test set.
func (s *setting) gapsFigure() *figure {
	if s.stream.CommonTest || s.tasks() < 2 {
		return nil
	}
	cuts := s.cuts()
	if cuts == nil {
		return nil
	}
	f := s.lineFigure("gaps", "learner steps", "accuracy on the earlier tasks, %", "step", "accuracy",
		func(g *row) ([]*run, []int) {
			runs := g.anytimeRuns()
			if len(runs) == 0 {
				return nil, nil
			}
			var steps []int
			ends := runs[0].ends()
			for _, x := range append(g.anytimeSteps(), ends...) {
				if x >= cuts[0] { // in the first task there is no earlier one
					steps = append(steps, x)
				}
			}
			slices.Sort(steps)
			return runs, slices.Compact(steps)
		}, func(r *run, _, step int) float64 { return r.earlier(step) })
	if len(f.Lines.Series) == 0 {
		return nil
	}
	f.Lines.XMin, f.Lines.Cuts = 0, cuts
	crowded := len(s.rows) > chart.Crowd
	all := len(f.Lines.Series)
	f.most(max(1, maxGapPoints/leastGapPoints/len(cuts)))
	each := max(leastGapPoints, maxGapPoints/len(f.Lines.Series)/len(cuts)) - 1
	thinned := f.plain(crowded, func(se *chart.Series) bool { return thinBetween(se, cuts, each) })
	f.scale(0)
	f.split(f.rows)
	f.Title = s.titled("Accuracy on earlier tasks between evaluations")
	scope, _, _ := s.scope()
	f.Caption = "Mean accuracy on the test images of the tasks before the one under way. Upright lines are ends of tasks; each line begins anew there, " +
		"with the accuracy just before the next task, and how far it falls is the gap. " + upper(scope) + "." +
		s.partly((*row).anytimeRuns)
	if n := len(f.Lines.Series); n < all {
		f.Caption += fmt.Sprintf(" Of %d rows the %d most accurate at the end are drawn; the CSV file has all.", all, n)
	}
	if thinned {
		f.Caption += " Not every evaluation is drawn, but the lowest after each end of a task is; the CSV file has all."
	}
	f.Alt = s.alt(f, "Accuracy on the earlier tasks after learner steps")
	return f
}

// plain draws lines of many points without marks, after thin has left out some of them, and in a crowd without
// intervals. It reports whether any points were dropped.
func (f *figure) plain(crowded bool, thin func(*chart.Series) bool) (thinned bool) {
	for i := range f.Lines.Series {
		se := &f.Lines.Series[i]
		f.Lines.Sparse = f.Lines.Sparse || len(se.X) > 20
		thinned = thin(se) || thinned
		se.Plain = true
		if crowded {
			se.Half = nil
		}
	}
	return thinned
}

// most leaves the lines of so many rows at most, those of the highest average accuracy.
func (f *figure) most(n int) {
	if len(f.rows) <= n {
		return
	}
	order := upTo(0, len(f.rows)-1)
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(f.rows[b].metricOf(averageAccuracy).Mean, f.rows[a].metricOf(averageAccuracy).Mean)
	})
	order = order[:n]
	slices.Sort(order)
	var lines []chart.Series
	var rows []*row
	for _, i := range order {
		lines, rows = append(lines, f.Lines.Series[i]), append(rows, f.rows[i])
	}
	f.Lines.Series, f.rows = lines, rows
}

// thinBetween breaks a line at the cuts, and leaves at most so many points of each part, at least 3: the first, the
// lowest and the last are among them. It reports whether any were dropped.
func thinBetween(se *chart.Series, cuts []int, most int) (thinned bool) {
	kept := chart.Series{Single: make([][]float64, len(se.Single))}
	add := func(x int, y, half float64, single func(k int) float64) {
		kept.X, kept.Y, kept.Half = append(kept.X, x), append(kept.Y, y), append(kept.Half, half)
		for k := range kept.Single {
			kept.Single[k] = append(kept.Single[k], single(k))
		}
	}
	for at := 0; at < len(se.X); {
		end := at + 1
		for end < len(se.X) && !slices.Contains(cuts, se.X[end]) {
			end++
		}
		if at > 0 {
			add(se.X[at], math.NaN(), math.NaN(), func(int) float64 { return math.NaN() })
		}
		lowest := at
		for i := at; i < end; i++ {
			if se.Y[i] < se.Y[lowest] {
				lowest = i
			}
		}
		every := max(1, (end-at+most-1)/max(1, most-2))
		for i := at; i < end; i++ {
			if i == at || i == lowest || i == end-1 || end-at <= most || (i-at)%every == 0 {
				add(se.X[i], se.Y[i], se.Half[i], func(k int) float64 { return se.Single[k][i] })
				continue
			}
			thinned = true
		}
		at = end
	}
	se.X, se.Y, se.Half, se.Single = kept.X, kept.Y, kept.Half, kept.Single
	return thinned
}
