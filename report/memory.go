package report

import (
	"fmt"
	"math"

	"ocl/internal/count"
	"ocl/report/chart"
)

// memoryFigure is the share of the memory that the samples of each task have after each task. With a parent, a first column has the samples from
// before the run. It is nil where that is not known.
func (g *row) memoryFigure() *figure {
	s := g.setting
	n := s.tasks()
	if n > maxHeatTasks {
		return nil
	}
	held := map[*run][][]int{}
	for _, r := range g.counted() {
		held[r] = r.Held()
	}
	names, first, whose := s.taskNames(), 0, "that came with each task"
	cols := names
	if s.first.Parent != nil {
		cols, first = append([]string{beforeRun}, names...), -1
		whose += ", or before the run"
	}
	found := false
	v := make([][]float64, n)
	for i := range v {
		for j := first; j < n; j++ {
			e := overRuns(g.counted(), func(r *run) float64 { return r.storedShare(held[r], i, j) })
			v[i] = append(v[i], e.Mean)
			found = found || e.N > 0
		}
	}
	if !found {
		return nil
	}
	f := &figure{ID: "memory-" + g.slug, Title: g.Short + ": what the memory holds after each task", Heat: &heat{
		Heat:    chart.Heat{RowLabel: "after task", ColLabel: "from task", Rows: names, Cols: cols, V: v},
		Missing: "not learned yet, or nothing is stored", Whose: g.full(),
		Say: func(i, j int) string {
			if cols[j] == beforeRun {
				return "after " + names[i] + ", from before the run"
			}
			return "after " + names[i] + ", task " + cols[j]
		},
	}}
	f.Caption = fmt.Sprintf("Share of the %s stored by %s %s, after each task, in per cent. %s", count.Of(g.memory, "sample"), g.Label, whose, upper(g.of()))
	f.Alt = fmt.Sprintf("Heat map, %d by %d, of the memory's contents.", n, len(cols))
	f.Data = g.longTable(f, "after_task", "from_task", "share")
	return f
}

// beforeRun is the column of the samples that a parent brought.
const beforeRun = "before"

// storedShare is the share of all stored samples after task i that came with task j, or before the run for j = -1. It is NaN before task j and
// where nothing is stored.
func (r *run) storedShare(held [][]int, i, j int) float64 {
	if i >= len(held) || j > i || j >= len(held[i]) {
		return math.NaN()
	}
	all := 0
	for _, n := range r.Memory.ClassCounts[i] {
		all += n
	}
	part := all
	if j >= 0 {
		part = held[i][j]
	} else {
		for _, n := range held[i] {
			part -= n
		}
	}
	if all == 0 {
		return math.NaN()
	}
	return float64(part) / float64(all)
}
