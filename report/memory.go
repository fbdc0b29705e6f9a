package report

import (
	"fmt"
	"math"
	"slices"

	"ocl/internal/count"
	"ocl/report/chart"
)

// memoryFigure is the share of the memory that each task holds after each task: the samples that came with it, or in
// older results the samples of its classes. With a parent, a first column has the samples from before the run. It is nil
// where neither is known.
func (g *row) memoryFigure() *figure {
	s := g.setting
	n := s.tasks()
	if n > maxHeatTasks {
		return nil
	}
	share, label, column, whose := (*run).sourceShare, "from task", "from_task", "that came with each task"
	if !g.knowsSources() {
		share, label, column, whose = (*run).classShare, "classes of task", "classes_of_task", "that belong to the classes of each task"
	}
	found := false
	v := make([][]float64, n)
	for i := range v {
		v[i] = make([]float64, n)
		for j := range v[i] {
			e := g.over(func(r *run) float64 { return share(r, i, j) })
			v[i][j] = e.mean
			found = found || e.n > 0
		}
	}
	if !found {
		return nil
	}
	names, missing := s.taskNames(), "not learned yet"
	if g.empty(n) {
		missing += ", or nothing is stored"
	}
	title, cols := g.memoryTitle(v), names
	if s.first.Parent != nil {
		title, cols, v = g.inheritedTitle(v), append([]string{beforeRun}, names...), withRest(v)
		whose += ", or before the run"
	}
	f := &figure{ID: "memory-" + g.slug, Title: title, Heat: &heat{
		Heat:    chart.Heat{RowLabel: "after task", ColLabel: label, Rows: names, Cols: cols, V: v},
		Missing: missing, Whose: g.full(),
		Say: func(i, j int) string {
			if cols[j] == beforeRun {
				return "after " + names[i] + ", from before the run"
			}
			return "after " + names[i] + ", task " + cols[j]
		},
	}}
	f.Caption = fmt.Sprintf("Share of the %s stored by %s %s, after each task, in per cent. %s", count.Of(g.memory, "sample"), g.Label, whose, upper(g.of()))
	f.Alt = fmt.Sprintf("Heat map, %d by %d, of the memory's contents. %s.", n, len(cols), f.Title)
	f.Data = g.longTable(f, "after_task", column, "share")
	return f
}

// empty says whether the memories of all runs hold nothing after one of the first n tasks, as one does that is emptied when it is full.
func (g *row) empty(n int) bool {
	for i := range n {
		if g.emptyAfter(i) {
			return true
		}
	}
	return false
}

// emptyAfter says whether the memories of all runs hold nothing after task i.
func (g *row) emptyAfter(i int) bool {
	return !slices.ContainsFunc(g.counted(), func(r *run) bool {
		if r.Memory == nil || i >= len(r.Memory.ClassCounts) {
			return true
		}
		for _, n := range r.Memory.ClassCounts[i] {
			if n > 0 {
				return true
			}
		}
		return false
	})
}

// beforeRun is the column of the samples that a parent brought.
const beforeRun = "before"

// withRest has one column more in front: what the shares of a row lack to 1.
func withRest(v [][]float64) [][]float64 {
	all := make([][]float64, len(v))
	for i, row := range v {
		all[i] = append([]float64{rest(row)}, row...)
	}
	return all
}

// rest is what some shares lack to 1, NaN where none is known.
func rest(shares []float64) float64 {
	left := math.NaN()
	for _, v := range shares {
		switch {
		case math.IsNaN(v):
		case math.IsNaN(left):
			left = 1 - v
		default:
			left -= v
		}
	}
	return left
}

// knowsSources says whether all runs of the row count their memory by task. The two kinds of shares differ where classes
// return, so they are not averaged together.
func (g *row) knowsSources() bool {
	return !slices.ContainsFunc(g.counted(), func(r *run) bool { return r.Memory == nil || len(r.Memory.TaskCounts) == 0 })
}

// sourceShare is the share of the stored samples after task i that came with task j, NaN before task j.
func (r *run) sourceShare(i, j int) float64 {
	if r.Memory == nil || i >= len(r.Memory.TaskCounts) || j > i {
		return math.NaN()
	}
	return shareOf(r.Memory.ClassCounts[i], r.Memory.TaskCounts[i], j)
}

// classShare is the share of the stored samples after task i whose class belongs to task j, NaN before task j. It says
// nothing of a domain-incremental stream, whose classes return.
func (r *run) classShare(i, j int) float64 {
	if r.Memory == nil || i >= len(r.Memory.ClassCounts) || j > i || j >= len(r.Stream.Tasks) || r.Stream.Scenario == "domain-incremental" {
		return math.NaN()
	}
	return shareOf(r.Memory.ClassCounts[i], r.Memory.ClassCounts[i], r.Stream.Tasks[j].Classes...)
}

// shareOf is the share that some keys of counts have of all stored samples, NaN where none is stored.
func shareOf(stored, counts map[int]int, keys ...int) float64 {
	all, mine := 0, 0
	for _, n := range stored {
		all += n
	}
	for _, k := range keys {
		mine += counts[k]
	}
	if all == 0 {
		return math.NaN()
	}
	return float64(mine) / float64(all)
}
