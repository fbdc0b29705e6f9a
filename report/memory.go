package report

import (
	"fmt"
	"math"
	"slices"

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
	found := false
	v := make([][]float64, n)
	for i := range v {
		v[i] = make([]float64, n)
		for j := range v[i] {
			e := overRuns(g.counted(), func(r *run) float64 { return r.storedShare(held[r], i, j) })
			v[i][j] = e.Mean
			found = found || e.N > 0
		}
	}
	if !found {
		return nil
	}
	whose := "that came with each task"
	names, missing := s.taskNames(), "not learned yet"
	if g.empty(n) {
		missing += ", or nothing is stored"
	}
	cols := names
	if s.first.Parent != nil {
		cols, v = append([]string{beforeRun}, names...), withRest(v)
		whose += ", or before the run"
	}
	f := &figure{ID: "memory-" + g.slug, Title: g.Short + ": what the memory holds after each task", Heat: &heat{
		Heat:    chart.Heat{RowLabel: "after task", ColLabel: "from task", Rows: names, Cols: cols, V: v},
		Missing: missing, Whose: g.full(),
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

// storedShare is the share of all stored samples after task i that came with task j, NaN before task j and where nothing is stored.
func (r *run) storedShare(held [][]int, i, j int) float64 {
	if i >= len(held) || j > i || j >= len(held[i]) {
		return math.NaN()
	}
	all := 0
	for _, n := range r.Memory.ClassCounts[i] {
		all += n
	}
	if all == 0 {
		return math.NaN()
	}
	return float64(held[i][j]) / float64(all)
}
