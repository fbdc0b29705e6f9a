package report

import (
	"fmt"
	"math"
	"strings"

	"ocl/internal/count"
	"ocl/view/chart"
)

// memoryFigure is the share of the memory that the samples of each task have after each task. With a parent, a first
// column has the samples from before the run. It is nil where that is not known.
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
	f := &figure{ID: "memory-" + g.slug, Title: g.Short + ": what the memory holds after each task", Whose: g.full(),
		Areas: &chart.Areas{XLabel: "after task", YLabel: "share of the memory, %", X: names}}
	if s.first.Parent != nil {
		first = -1
		whose += ", or before the run"
	}
	f.Data = &table{ID: f.ID, Head: headed(numCol("after task", "after_task"), numCol("from task", "from_task"),
		numCol("share, %", "share"))}
	from := map[int]string{-1: beforeRun}
	for j := first; j < n; j++ {
		if j >= 0 {
			from[j] = names[j]
			f.Areas.Parts = append(f.Areas.Parts, "task "+names[j])
		} else {
			f.Areas.Parts = append(f.Areas.Parts, beforeRun)
		}
		f.Areas.V = append(f.Areas.V, make([]float64, n))
	}
	for i := range n {
		for j := first; j < n; j++ {
			e := overRuns(g.counted(), func(r *run) float64 { return r.storedShare(held[r], i, j) })
			f.Areas.V[j-first][i] = e.Mean
			if e.N > 0 {
				f.Data.Rows = append(f.Data.Rows, append(g.head(), textCell(names[i]), textCell(from[j]),
					numCell(count.Percent(e.Mean), e.Mean)))
			}
		}
	}
	if len(f.Data.Rows) == 0 {
		return nil
	}
	f.Caption = fmt.Sprintf("Share of the %s stored by %s %s, after each task; the earliest is at the bottom and has the strongest colour. %s",
		count.Of(g.memory, "sample"), g.Label, whose, upper(g.of()))
	var words []string
	for k, part := range f.Areas.Parts {
		if v := f.Areas.V[k][n-1]; !math.IsNaN(v) {
			words = append(words, part+" "+count.Percent(v)+" %")
		}
	}
	f.Alt = "Stacked areas of the memory's contents. In the end: " + strings.Join(words, ", ") + "."
	return f
}

// beforeRun is the name in the table of the samples that a parent brought.
const beforeRun = "before"

// storedShare is the share of all stored samples after task i that came with task j, or before the run for j = -1. It
// is NaN before task j and where nothing is stored.
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
