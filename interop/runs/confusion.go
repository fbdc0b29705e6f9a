package runs

import (
	"fmt"
	"strconv"

	"ocl/interop/tensorboard"
	"ocl/run/result"
	"ocl/view/chart"
)

// Bounds of what is drawn, as in a report: a larger matrix has cells too small to see.
const (
	maxDrawnTasks   = 100
	maxDrawnClasses = 1_000
)

// picture is a confusion matrix after a task, to be drawn.
type picture struct {
	series tensorboard.Series
	task   int
	title  string
	heat   *chart.Heat
}

// pictures returns the confusion matrices of a classifier: by task after each evaluated task, and by class only after
// the last one, because a result has no earlier ones.
func (r *Run) pictures(classifier string, a *result.ErrorAnalysis) []picture {
	if a == nil || len(a.Tasks) == 0 {
		return nil
	}
	of := func(tag, name, help string) tensorboard.Series {
		return tensorboard.Series{Tag: r.group("confusion", classifier) + "/" + tag, Name: r.whose(name, classifier),
			Help: help}
	}
	after := func(task int) string { return fmt.Sprintf("%s, after task %d", r.whose(r.Name, classifier), task+1) }
	byTask := of("by_task", "confusion by task",
		"The share of the test images of a row's task that are predicted as a class of a column's task, "+
			"in per cent, after each task; “?” are classes that no task of the run has had yet, also those of a parent.")
	var all []picture
	for _, e := range a.Tasks {
		if e.Task >= maxDrawnTasks {
			break
		}
		n := e.Task + 1
		all = append(all, picture{byTask, e.Task, after(e.Task),
			&chart.Heat{RowLabel: "true task", ColLabel: "predicted task",
				Rows: numbers(n), Cols: append(numbers(n), "?"), V: result.Shares(e.Confusion, upTo(n), upTo(n+1))}})
	}
	order := r.Result.Stream.Order()
	if len(a.Confusion) == 0 || len(order) == 0 || len(order) > maxDrawnClasses {
		return all
	}
	last, names := a.Tasks[len(a.Tasks)-1].Task, make([]string, len(order))
	for i, k := range order {
		names[i] = strconv.Itoa(k)
	}
	byClass := of("by_class", "confusion by class",
		"The share of the test images of a row's class that are predicted as a column's class, "+
			"in per cent, after the last task; classes are counted from 0, in the order in which the stream brings them, so the newest are at the right and at the bottom.")
	return append(all, picture{byClass, last, after(last), &chart.Heat{RowLabel: "true class", ColLabel: "predicted class",
		Rows: names, Cols: names, V: result.Shares(a.Confusion, order, order)}})
}

// numbers are the names of n tasks, counted from 1.
func numbers(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i + 1)
	}
	return names
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
