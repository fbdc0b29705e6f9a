package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/run/result"
	"ocl/view/chart"
)

// maxConfusions bounds the confusions of each kind drawn on a page, as maxHeats does other heat maps.
const maxConfusions = 4

// maxTableClasses is the most classes whose confusion is a table of cells on the page; that of more is an image.
const maxTableClasses = 20

// outcomes are the ways in which test images of new and of old classes are classified, in the order of the parts of a
// bar.
var outcomes = []struct {
	text, name string
	new, old   func(t *result.TaskErrors) int
}{
	{"right", "right", func(t *result.TaskErrors) int { return t.New - t.NewAsNew - t.NewAsOld - t.NewAsUnseen },
		func(t *result.TaskErrors) int { return t.Old - t.OldAsOld - t.OldAsNew - t.OldAsUnseen }},
	{"taken for another class of their kind", "as_own_kind", func(t *result.TaskErrors) int { return t.NewAsNew },
		func(t *result.TaskErrors) int { return t.OldAsOld }},
	{"taken for the other kind", "as_other_kind", func(t *result.TaskErrors) int { return t.NewAsOld },
		func(t *result.TaskErrors) int { return t.OldAsNew }},
	{"taken for an unseen class", "as_unseen", func(t *result.TaskErrors) int { return t.NewAsUnseen },
		func(t *result.TaskErrors) int { return t.OldAsUnseen }},
}

// takenFigure shows how the test images of new and of old classes are classified after the last task: two bars for each
// row with an error analysis. There must be such a row.
func (s *setting) takenFigure() *figure {
	f := &figure{ID: s.id("taken"), Title: s.titled("What new and old classes are taken for"), Bars: &chart.Bars{}}
	f.Data = &table{ID: f.ID, Head: headed(textCol("classes", "classes"))}
	for _, o := range outcomes {
		f.Bars.Parts = append(f.Bars.Parts, o.text)
		f.Data.Head = append(f.Data.Head, numCol(o.text+", %", o.name))
	}
	more := 0
	var words []string
	for i, g := range s.analysed() {
		for _, kind := range []string{"new", "old"} {
			stack := chart.Stack{Label: g.Short + ", " + kind + " classes", Look: g.style}
			cells := append(g.head(), textCell(kind))
			measured := 0
			for _, o := range outcomes {
				of := func(r *run) float64 {
					t := r.ErrorAnalysis.Last()
					switch {
					case t == nil:
						return math.NaN()
					case kind == "new":
						return float64(o.new(t)) / float64(t.New) // NaN for none
					}
					return float64(o.old(t)) / float64(t.Old)
				}
				e := g.over(of)
				measured = e.N
				cells = append(cells, numCell(percents(e), e.Mean))
				stack.Parts = append(stack.Parts, e.Mean)
				stack.Tips = append(stack.Tips, stack.Label+"\n"+o.text+": "+percents(e)+" %"+seedLine(g.counted(), of,
					count.Percent))
			}
			if measured == 0 {
				continue
			}
			f.Data.Rows = append(f.Data.Rows, cells)
			if i >= maxPanelRows && !s.all {
				more++
				continue
			}
			stack.Text = count.Percent(stack.Parts[0]) + " % right, " + count.Percent(stack.Parts[2]) +
				" % taken for the other kind"
			words = append(words, stack.Label+": "+stack.Text)
			f.Bars.Bars = append(f.Bars.Bars, stack)
		}
	}
	f.Caption = "After the last task: the shares of the test images of the classes of this task, which are new, and of those of earlier tasks, which are old. From full to faint: right, taken for another class of their kind, taken for the other kind, and taken for a class that was not seen yet. Means over the runs. " +
		upper(s.Name) + "." + s.newest() + csvHas((more+1)/2)
	f.Alt = "Bar chart. " + strings.Join(words, "; ") + "."
	return f
}

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
	f.Caption = fmt.Sprintf("Confusion of %s by task, after the last task: the share of the test images of a row's task that are predicted as a class of a column's task, in per cent; “unseen” are classes that no task of the run has had yet, also those of a parent. %s",
		g.Label, upper(g.of()))
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
	h := &heat{
		Heat:    chart.Heat{RowLabel: "true " + what, ColLabel: "predicted " + what, Rows: names, Cols: names, V: v},
		Missing: "not learned yet", Image: n > maxTableClasses,
	}
	if same && !h.Image && slices.ContainsFunc(order, g.setting.named) {
		h.Lines, h.Rows = names, nil
		for _, k := range order {
			h.Rows = append(h.Rows, g.setting.numberAndName(k))
		}
		h.Say = func(i, j int) string {
			if i == j {
				return g.setting.className(order[i]) + ", right"
			}
			return g.setting.className(order[i]) + " taken for " + g.setting.className(order[j])
		}
		for i := range n {
			for j := range n {
				h.Names = append(h.Names, h.Say(i, j))
			}
		}
	}
	f := &figure{ID: "class-confusion-" + g.slug, Whose: g.full(), Heat: h}
	f.Title = g.Short + ": confusion by class"
	f.Caption = fmt.Sprintf("Confusion of %s by class, after the last task: the share of the test images of a row's class that are predicted as a column's class, in per cent; classes are %s, so the newest are at the right and at the bottom. %s%s",
		g.Label, how, upper(g.of()), g.mostConfused())
	f.Alt = fmt.Sprintf("Heat map, %d by %d, of the classes that test images are predicted as, in the order of the stream.",
		n, n)
	f.Data = g.longTable(f, "of_"+what, "taken_for_"+what, "share")
	// most of them
	f.Data.Rows = slices.DeleteFunc(f.Data.Rows, func(cells []cell) bool { return cells[len(cells)-1].Raw == "0" })
	return f
}

// mostConfused names the pairs of classes that the row confuses most; "" where they have no names. It begins with a
// space.
func (g *row) mostConfused() string {
	var words []string
	for _, p := range g.confusedPairs() {
		if len(words) < 3 && g.setting.named(p.True.Class) && g.setting.named(p.Taken.Class) {
			words = append(words, fmt.Sprintf("%s for %s (%s %%)", p.True.Name, p.Taken.Name,
				count.Percent(float64(p.Count)/float64(p.Of))))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " Most often it takes " + count.And(words) + "."
}

// newest names the classes of the last task, which are the new ones, where all runs of the setting have the same; ""
// where they have no names. It begins with a space.
func (s *setting) newest() string {
	last := len(s.stream.Tasks) - 1
	if last < 0 {
		return ""
	}
	classes := s.stream.Tasks[last].Classes
	var words []string
	for _, c := range classes {
		if s.named(c) {
			words = append(words, s.className(c))
		}
	}
	for _, g := range s.analysed() {
		if slices.ContainsFunc(g.counted(), func(r *run) bool {
			return len(r.Stream.Tasks) <= last || !slices.Equal(r.Stream.Tasks[last].Classes, classes)
		}) {
			return ""
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " The new classes: " + count.Some(words) + "."
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
