package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"ocl/experiment/result"
	"ocl/report/chart"
)

// maxConfusions bounds the confusions of each kind drawn on a page, as maxHeats does other heat maps.
const maxConfusions = 4

// maxTableClasses is the most classes whose confusion is a table of cells on the page; that of more is an image.
const maxTableClasses = 20

// taskConfusion is the confusion task by task at the end; nil where there is none.
func (g *row) taskConfusion() *figure {
	last := -1
	for _, r := range g.counted() {
		if t := r.ErrorAnalysis.Last(); t != nil {
			last = max(last, t.Task)
		}
	}
	if last < 0 || last >= maxHeatTasks {
		return nil
	}
	names := g.setting.taskNames()[:last+1]
	cols := append(slices.Clone(names), "unseen")
	of := func(runs ...*run) [][]float64 {
		return meanMatrix(runs, last+1, last+2, func(r *run) [][]float64 {
			if t := r.ErrorAnalysis.Last(); t != nil && t.Task == last {
				return result.Shares(t.Confusion, upTo(0, last), upTo(0, last+1))
			}
			return nil
		})
	}
	v := of(g.counted()...)
	f := &figure{ID: "confusion-" + g.slug, Whose: g.full(), Heat: &heat{
		Heat:    chart.Heat{RowLabel: "true task", ColLabel: "predicted task", Rows: names, Cols: cols, V: v},
		Missing: "not measured", Runs: seedMaps(g.counted(), func(r *run) [][]float64 { return of(r) }),
	}}
	f.Title = g.Short + ": confusion by task"
	f.Caption = fmt.Sprintf("Confusion of %s by task, after the last task: the share of the test images of a row's task that are predicted as a class of a column's task, in per cent; “unseen” are classes that no task of the run has had yet, also those of a parent. %s", g.Label, upper(g.of()))
	f.Alt = fmt.Sprintf("Heat map, %d by %d, of the tasks that test images are predicted as.", len(names), len(cols))
	f.Data = g.longTable(f, "of_task", "taken_for_task", "share")
	return f
}

// classConfusion is the confusion class by class at the end, classes in the order in which they came; nil where there
// is none.
func (g *row) classConfusion() *figure {
	st := g.setting.stream
	order := st.Order()
	n := len(order)
	if n == 0 || n > maxHeatClasses {
		return nil
	}
	v := meanMatrix(g.counted(), n, n, (*run).confusionInOrder)
	if !slices.ContainsFunc(v, func(row []float64) bool {
		return slices.ContainsFunc(row, func(x float64) bool { return !math.IsNaN(x) })
	}) {
		return nil
	}
	// Runs with other seeds may have another order: only places have a mean then.
	same := !slices.ContainsFunc(g.counted(), func(r *run) bool { return !slices.Equal(r.Stream.Order(), order) })
	what, how, names := "class", "counted from 0, in the order in which the stream brings them", make([]string, n)
	if !same {
		what, how = "place", "by their place in the stream, counted from 0, as each run has its own order of classes"
	}
	for i, k := range order {
		names[i] = strconv.Itoa(i)
		if same {
			names[i] = strconv.Itoa(k)
		}
	}
	f := &figure{ID: "class-confusion-" + g.slug, Whose: g.full(), Heat: &heat{
		Heat:    chart.Heat{RowLabel: "true " + what, ColLabel: "predicted " + what, Rows: names, Cols: names, V: v},
		Missing: "not learned yet", Image: n > maxTableClasses,
	}}
	f.Title = g.Short + ": confusion by class"
	f.Caption = fmt.Sprintf("Confusion of %s by class, after the last task: the share of the test images of a row's class that are predicted as a column's class, in per cent; classes are %s, so the newest are at the right and at the bottom. %s", g.Label, how, upper(g.of()))
	f.Alt = fmt.Sprintf("Heat map, %d by %d, of the classes that test images are predicted as, in the order of the stream.", n, n)
	f.Data = g.longTable(f, "of_"+what, "taken_for_"+what, "share")
	f.Data.Rows = slices.DeleteFunc(f.Data.Rows, func(cells []cell) bool { return cells[len(cells)-1].Raw == "0" }) // most of them
	return f
}

// confusionInOrder is the confusion of the last evaluation as shares of each class's samples, classes in the order of
// their tasks.
func (r *run) confusionInOrder() [][]float64 {
	if r.ErrorAnalysis == nil {
		return nil
	}
	order := r.Stream.Order()
	return result.Shares(r.ErrorAnalysis.Confusion, order, order)
}
