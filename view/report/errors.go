package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"ocl/internal/count"
	"ocl/run/metric"
	"ocl/run/result"
	"ocl/view/chart"
)

// maxPanelRows bounds the rows of the figures of errors that are drawn; the CSV has all of them.
const maxPanelRows = 8

// How the two lines of a row are called.
const (
	newClasses = "new"
	oldClasses = "old"
)

// analysed are the rows with an error analysis.
func (s *setting) analysed() []*row {
	var rows []*row
	for _, g := range s.rows {
		if slices.ContainsFunc(g.counted(), func(r *run) bool { return r.ErrorAnalysis.Last() != nil }) {
			rows = append(rows, g)
		}
	}
	return rows
}

// atEnd is the estimate of a value of the last error analysis of each run; nil is not measured.
func (g *row) atEnd(of func(*result.TaskErrors) *float64) metric.Estimate {
	return g.over(func(r *run) float64 {
		if t := r.ErrorAnalysis.Last(); t != nil {
			return orNaN(of(t))
		}
		return math.NaN()
	})
}

// errorCounts and errorShares are the columns of the table: counts, and shares with intervals.
var (
	errorCounts = []struct{ text, name string }{
		{"new as old, e(n,o)", "new_as_old"}, {"new as new, e(n,n)", "new_as_new"}, {"old as old, e(o,o)", "old_as_old"},
		{"old as new, e(o,n)", "old_as_new"}, {"unseen", "as_unseen"},
	}
	errorShares = []struct{ text, name string }{
		{"new as old of errors, er(n,o), %", "new_as_old_of_errors"},
		{"old as new of errors, er(o,n), %", "old_as_new_of_errors"},
		{"new as old of images, er(n,o), %", "new_as_old_of_samples"},
		{"old as new of images, er(o,n), %", "old_as_new_of_samples"},
	}
)

// errorColumn is the number in a column of the table.
func errorColumn(name string) func(*result.TaskErrors) *float64 {
	if name == "as_unseen" {
		return func(t *result.TaskErrors) *float64 { n := float64(t.NewAsUnseen + t.OldAsUnseen); return &n }
	}
	return result.ErrorOf("errors_" + name)
}

// errorsTable is the survey's table:trick_motivation for all rows; nil where no run has an error analysis.
func (st *study) errorsTable() *table {
	t := &table{ID: "errors", Title: "Old and new classes confused after the last task", Head: st.rowHead()}
	for _, c := range errorCounts {
		t.Head = append(t.Head, numCol(c.text, c.name))
	}
	for _, c := range errorShares {
		t.Head = append(t.Head, numCol(c.text, c.name), hidden(c.name+"_half_width_95"))
	}
	for _, s := range st.settings {
		for _, g := range s.analysed() {
			row := st.head(g)
			for _, c := range errorCounts {
				e := g.atEnd(errorColumn(c.name))
				row = append(row, numCell(meanCount(e), e.Mean))
			}
			for _, c := range errorShares {
				e := g.atEnd(errorColumn(c.name))
				text := "no errors"
				if e.N > 0 {
					text = percents(e)
				}
				row = append(row, numCell(text, e.Mean), numCell("1 run", e.Half))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// meanCount is a mean of counts, rounded.
func meanCount(e metric.Estimate) string {
	if e.N == 0 {
		return "not measured"
	}
	return count.Number(int64(math.Round(e.Mean)))
}

// errorsLead explains the words of the errors' section and gives its table; nothing where no run has an error analysis.
func (st *study) errorsLead() (string, *table) {
	t := st.errorsTable()
	if t == nil {
		return "", nil
	}
	return "After a task, its classes are new (n) and those of earlier tasks are old (o). e(n,o) counts the test images of new classes that are predicted as an old class, and so on; " +
		"er(n,o) and er(o,n) are shares of the errors on these classes, or of all their images. Counts are means over the runs.", t
}

// errors are the four panels of fig:trick_motivation, the first two of them by the other definition beside the page,
// the predictions and the confusions.
func (s *setting) errors() []block {
	if len(s.analysed()) == 0 {
		return []block{{Note: upper(s.Name) +
			": no error analysis. There is one only for class-incremental streams, and only if the results recorded it."}}
	}
	blocks := []block{{Figure: s.takenFigure()}}
	for i, p := range panels {
		switch f := s.panel(p); {
		case f == nil:
		case i < 4:
			blocks = append(blocks, block{Figure: f})
		default:
			blocks = append(blocks, block{Aside: f, Why: "By the other definition"})
		}
	}
	if f := s.predictionsFigure(); f != nil {
		blocks = append(blocks, block{Figure: f})
	}
	return append(blocks,
		s.gallery(s.part(maxConfusions), "no error analysis", (*row).taskConfusion),
		s.gallery(s.part(maxConfusions), "no error analysis", (*row).classConfusion))
}

// panel is a line chart with two values of each row, one of the new and one of the old classes, after each task. Each
// row has a part of its own where one part would have more than [maxLines].
type panel struct {
	kind, ylabel     string
	newName, oldName string // columns of the CSV
	percent          bool
	newKey, oldKey   string // of result.ErrorNumbers
	title, caption   string
}

// panels are the four of the survey's figure, in its order, then the first two by the other definition.
var panels = []panel{
	{"error-ratio", "share of the errors, %", "new_as_old_of_errors", "old_as_new_of_errors", true,
		"errors_new_as_old_of_errors", "errors_old_as_new_of_errors",
		"Old and new classes confused, of the errors",
		"Error ratios as in the survey's table: er(n,o) is the share of the misclassified test images of new classes that are predicted as an old class, er(o,n) the share of those of old classes that are predicted as a new class."},
	{"logits", "mean logit", "new_logit_own", "old_logit_own", false, "logits_new_own", "logits_old_own",
		"Mean logits of new and of old classes",
		"Mean logit of the new classes on test images of new classes, and of the old ones on images of old classes."},
	{"head-weights", "mean weight", "new_weight", "old_weight", false, "head_new_weight", "head_old_weight",
		"Mean weights of new and of old classes",
		"Mean weight of the rows of the last layer that belong to new and to old classes."},
	{"head-biases", "mean bias", "new_bias", "old_bias", false, "head_new_bias", "head_old_bias",
		"Mean biases of new and of old classes", "Mean bias of the last layer's logits of new and of old classes."},
	{"error-ratio-samples", "share of the images, %", "new_as_old_of_samples", "old_as_new_of_samples", true,
		"errors_new_as_old_of_samples", "errors_old_as_new_of_samples",
		"Old and new classes confused, of all images",
		"Error ratios as in the survey's text: er(n,o) is the share of all test images of new classes that are predicted as an old class, er(o,n) the share of those of old classes that are predicted as a new class."},
	{"logits-all", "mean logit", "new_logit_all", "old_logit_all", false, "logits_new_all", "logits_old_all",
		"Mean logits of new and of old classes on all images",
		"Mean logit of the new and of the old classes, both on the test images of all classes seen so far."},
}

// panel draws one; nil where no row has a value.
func (s *setting) panel(p panel) *figure {
	n := s.tasks()
	f := &figure{ID: s.id(p.kind), Lines: &chart.Lines{XLabel: "tasks learned", YLabel: p.ylabel, XMin: 1, XMax: max(n, 1),
		Say: plainText}}
	f.Data = &table{ID: f.ID, Head: headed(numCol("task", "task"), numCol("new: "+p.ylabel, p.newName),
		hidden(p.newName+"_half_width_95"),
		numCol("old: "+p.ylabel, p.oldName), hidden(p.oldName+"_half_width_95"), numCol("runs", "runs"))}
	if p.percent {
		f.Lines.Say, f.Lines.Percent = percentText, true
	}
	drawn, more := 0, 0
	var without []string
	for _, g := range s.analysed() {
		pair := [2]chart.Series{{Label: g.Short + ", " + newClasses, Look: g.style, Width: g.width},
			{Label: g.Short + ", " + oldClasses, Look: g.style, Width: g.width, Hollow: true}}
		for k := range pair {
			pair[k].Seeds, pair[k].Plain, pair[k].Single = seedsOf(g.followed()), true, make([][]float64, len(g.followed()))
		}
		found := false
		for i := range n {
			cells := append(g.head(), textCell(strconv.Itoa(i+1)))
			runs := 0
			for k, key := range []string{p.newKey, p.oldKey} {
				factor := 1.0
				if p.percent {
					factor = 100
				}
				var values []float64
				for at, r := range g.followed() {
					v := math.NaN()
					if t := r.ErrorAnalysis.After(i); t != nil {
						v = orNaN(result.ErrorOf(key)(t))
					}
					values, pair[k].Single[at] = append(values, v), append(pair[k].Single[at], factor*v)
				}
				e := metric.EstimateOf(values)
				pair[k].Y = append(pair[k].Y, factor*e.Mean)
				cells = append(cells, numCell(valueText(f.Lines.Say, e.Mean*factor, e.Half*factor), e.Mean),
					numCell("1 run", e.Half))
				runs = max(runs, e.N)
			}
			found = found || runs > 0
			f.Data.Rows = append(f.Data.Rows, append(cells, textCell(strconv.Itoa(runs))))
		}
		if !found {
			without = append(without, g.Short)
			continue
		}
		if drawn == maxPanelRows && !s.all {
			more++
			continue
		}
		drawn++
		f.Lines.Series, f.rows = append(f.Lines.Series, pair[0]), append(f.rows, g)
		if _, _, ok := pair[1].End(); ok {
			f.Lines.Series, f.rows = append(f.Lines.Series, pair[1]), append(f.rows, g)
		}
	}
	if drawn == 0 {
		return nil
	}
	if p.percent {
		f.scale(0)
	} else {
		f.Lines.Scale(math.Inf(-1), math.Inf(1), 0)
	}
	f.Title = s.titled(p.title)
	scope, _, runs := s.scope()
	f.Caption = p.caption + " Filled marks: new classes. Hollow marks on a thinner line: old classes. " + upper(scope) +
		"."
	if runs > 1 {
		f.Caption += " The intervals are in the CSV file."
	}
	f.Caption += csvHas(more)
	f.splitByRow()
	if len(without) > 0 {
		f.Caption += " " + count.And(without) + ": the classifier does not predict by logits."
	}
	f.Alt = s.alt(f, upper(p.ylabel)+" of new and of old classes after each task")
	return f
}

// csvHas says how many rows are not drawn.
func csvHas(more int) string {
	if more == 0 {
		return ""
	}
	return fmt.Sprintf(" The CSV file has %s more.", count.Of(more, "row"))
}

// predictionsFigure shows how many predictions of the last evaluation are classes of each task; nil if there are
// none.
func (s *setting) predictionsFigure() *figure {
	f := s.lineFigure("predictions", "task of the predicted class", "share of the predictions, %", "task", "predictions",
		followedAt(s.taskNumbers()), func(r *run, i, _ int) float64 {
			return share(r.ErrorAnalysis.Last(), i)
		})
	if len(f.Lines.Series) == 0 {
		return nil
	}
	more := 0
	if !s.all {
		more = max(0, len(f.Lines.Series)-maxPanelRows)
	}
	f.Lines.Series = f.Lines.Series[:len(f.Lines.Series)-more]
	f.scale(0)
	f.split(f.rows[:len(f.Lines.Series)])
	f.Title = s.titled("Predictions by the task of the predicted class")
	f.Caption = "After the last task: the share of all test images that are predicted as a class of each task. Without a bias, each task would get the share that it has of the test images. " +
		upper(s.measured()) + csvHas(more)
	f.Alt = s.alt(f, "Share of the predictions by the task of the predicted class")
	return f
}

// share is the part of the predictions that go to task i, NaN where they were not counted.
func share(t *result.TaskErrors, i int) float64 {
	if t == nil || i >= len(t.Predictions) || i > t.Task {
		return math.NaN()
	}
	sum := 0
	for _, n := range t.Predictions {
		sum += n
	}
	if sum == 0 {
		return math.NaN()
	}
	return float64(t.Predictions[i]) / float64(sum)
}
