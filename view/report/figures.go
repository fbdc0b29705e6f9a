package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/run/metric"
	"ocl/view/chart"
)

// maxHeats bounds the heat maps of each kind drawn on a page, so that a study of 500 runs stays below 1 MB; the
// tables of all rows are written all the same.
const maxHeats = 10

// Heat maps of more tasks or classes than this are not drawn: their cells would be smaller than a pixel, and the page
// larger than 1 MB.
const (
	maxHeatTasks   = 100
	maxHeatClasses = 1_000
)

// id names a figure of a setting.
func (s *setting) id(kind string) string {
	if s.slug == "" {
		return kind
	}
	return kind + "-" + s.slug
}

// measured says in a caption what the numbers are of.
func (s *setting) measured() string {
	text, low, high := s.scope()
	switch {
	case high == 1:
		text += ", so no interval"
	case high <= fewSeeds:
		text += ", small marks are single runs"
	case low == high:
		text += " with 95 % Student-t intervals"
	default:
		text += ", with 95 % Student-t intervals where there are three or more"
	}
	if high > fewSeeds && len(s.rows) <= chart.Crowd {
		text += ", thin lines are single runs"
	}
	return text + "."
}

// scope is the setting's name with its memories and its fewest and most runs a method.
func (s *setting) scope() (text string, low, high int) {
	low = math.MaxInt
	for _, g := range s.rows {
		low, high = min(low, len(g.counted())), max(high, len(g.counted()))
	}
	text = s.Name
	if len(s.memories) > 0 {
		var m []string
		for _, v := range s.memories {
			m = append(m, count.Number(v))
		}
		text += "; memory " + count.And(m)
	}
	switch {
	case high == 1:
		text += "; 1 run a method"
	case low == high:
		text += fmt.Sprintf("; means of %d runs for each method", high)
	default:
		text += fmt.Sprintf("; means of %d to %d runs for each method", low, high)
	}
	return text, low, high
}

// of says the same of one row, for the runs that are counted.
func (g *row) of() string { return g.ofRuns(g.counted()) }

func (g *row) ofRuns(runs []*run) string {
	switch n, all := len(runs), len(g.counted()); {
	case all == 1:
		return fmt.Sprintf("%s; 1 run (seed %d).", g.setting.Name, runs[0].seed)
	case n < all:
		return fmt.Sprintf("%s; mean of %d of %d runs, because the others did not measure this.", g.setting.Name, n, all)
	default:
		return fmt.Sprintf("%s; mean of %d runs.", g.setting.Name, n)
	}
}

// tasks is the number of tasks of the setting.
func (s *setting) tasks() int { return len(s.stream.Tasks) }

// taskNumbers are the 1-based numbers of the tasks in their whole stream.
func (s *setting) taskNumbers() []int {
	var v []int
	for _, t := range s.stream.Tasks {
		v = append(v, t.Index+1)
	}
	return v
}

// taskNames are taskNumbers as text.
func (s *setting) taskNames() []string {
	var v []string
	for _, n := range s.taskNumbers() {
		v = append(v, strconv.Itoa(n))
	}
	return v
}

// rowHead are the columns that say in CSV which row a value is of.
var rowHead = []column{textCol("method", "method"), numCol("memory", "memory"), textCol("protocol", "protocol")}

// headed puts columns behind rowHead.
func headed(columns ...column) []column { return append(append([]column{}, rowHead...), columns...) }

// head is the row's part of rowHead.
func (g *row) head() []cell {
	m := cell{Text: "none"}
	if g.foreign() {
		m.Text = "unknown"
	}
	if g.memory >= 0 {
		m = cell{Text: count.Number(g.memory), Raw: strconv.Itoa(g.memory)}
	}
	raw := strings.Join(append([]string{g.method.Name}, tricksOf(g.method)...), "+")
	if g.classifier != ownRule {
		raw += "+" + g.classifier
	}
	if g.special != "" {
		raw += ", " + g.special
	}
	return []cell{{Text: g.name(), Raw: raw, Mark: g.style.Class, row: g}, m,
		textCell(orUnknown(g.setting.stream.Protocol))}
}

// rowHead and head are those of a table of all rows, which says the setting first where there are several.
func (st *study) rowHead() []column {
	if len(st.settings) == 1 {
		return headed()
	}
	return append([]column{textCol("stream", "stream")}, headed()...)
}

func (st *study) head(g *row) []cell {
	if len(st.settings) == 1 {
		return g.head()
	}
	return append([]cell{textCell(g.setting.Name)}, g.head()...)
}

// lineFigure builds a line chart and its CSV from a value of each run, a fraction. at says of a row which of its runs
// are measured and where on the x axis; value has the number of the place in that list, and the place. axis and name
// are columns of the CSV.
func (s *setting) lineFigure(kind, xlabel, ylabel, axis, name string, at func(*row) ([]*run, []int),
	value func(r *run, i, x int) float64) *figure {
	f := &figure{ID: s.id(kind), Lines: &chart.Lines{XLabel: xlabel, YLabel: ylabel, XMin: math.MaxInt, Percent: true,
		Say: percentText}}
	f.Data = &table{ID: f.ID, Head: headed(numCol(axis, axis), numCol(ylabel, name), numCol("± 95 %", "half_width_95"),
		numCol("runs", "runs"))}
	for _, g := range s.rows {
		runs, places := at(g)
		se := chart.Series{Label: g.Short, Look: g.style, Width: g.width, X: places, Seeds: seedsOf(runs)}
		single := make([][]float64, len(runs))
		for i, x := range places {
			var values []float64
			for k, r := range runs {
				values = append(values, value(r, i, x))
				single[k] = append(single[k], 100*values[k])
			}
			e := metric.EstimateOf(values)
			se.Y, se.Half = append(se.Y, 100*e.Mean), append(se.Half, interval(e))
			f.Lines.XMin, f.Lines.XMax = min(f.Lines.XMin, x), max(f.Lines.XMax, x)
			f.Data.Rows = append(f.Data.Rows, append(g.head(), textCell(strconv.Itoa(x)),
				numCell(valueText(percentText, 100*e.Mean, math.NaN()), e.Mean),
				numCell(halfText(e), e.Half), textCell(strconv.Itoa(e.N))))
		}
		if len(runs) > 1 {
			se.Single = single
		}
		if _, _, ok := se.End(); ok {
			f.Lines.Series, f.rows = append(f.Lines.Series, se), append(f.rows, g)
		}
	}
	if f.Lines.XMax == 0 {
		f.Lines.XMin, f.Lines.XMax = 1, 1
	}
	return f
}

// followedAt are the followed runs of each row at the same places.
func followedAt(places []int) func(*row) ([]*run, []int) {
	return func(g *row) ([]*run, []int) { return g.followed(), places }
}

// upTo are the numbers from one to another.
func upTo(from, to int) (list []int) {
	for i := from; i <= to; i++ {
		list = append(list, i)
	}
	return list
}

// halfText is the half width of an interval in a table.
func halfText(e metric.Estimate) string {
	if math.IsNaN(e.Half) {
		return "1 run"
	}
	return count.Percent(e.Half)
}

// intervalsCut is added to a caption if an interval is longer than the axis. An axis long enough for two runs that
// differ much would make all other intervals too small to see.
const intervalsCut = " Intervals that reach beyond the figure are cut at its edge; the table has the full values."

// accuracyFigure is the average accuracy after each task.
func (s *setting) accuracyFigure() *figure {
	f := s.lineFigure("accuracy", "tasks learned", "average accuracy, %", "task", "average_accuracy",
		followedAt(upTo(1, s.tasks())), func(r *run, i, _ int) float64 { return r.afterTask(i) })
	f.Caption = "Accuracy after each task on the test images of all tasks learned so far, mean over these tasks. " +
		upper(s.measured()) + s.partly((*row).followed)
	if f.scale(0) {
		f.Caption += intervalsCut
	}
	f.split(f.rows)
	f.Title = s.titled("Average accuracy after each task")
	f.Alt = s.alt(f, "Average accuracy after each task")
	return f
}

// forgettingFigure shows the forgetting of each task at the end.
func (s *setting) forgettingFigure() *figure {
	f := s.lineFigure("forgetting", "task", "forgetting, points", "task", "forgetting",
		followedAt(s.taskNumbers()[:max(s.tasks()-1, 0)]),
		func(r *run, i, _ int) float64 { return r.forgotten(i) })
	f.Caption = "For each task but the last: the best accuracy on it before the last task minus the accuracy on it after the last task, in percentage points; below zero the accuracy improved. " +
		upper(s.measured()) + s.partly((*row).followed)
	if f.scale(-100) {
		f.Caption += intervalsCut
	}
	f.split(f.rows)
	f.Title = s.titled("Forgetting of each task at the end")
	f.Alt = s.alt(f, "Forgetting of each task at the end")
	return f
}

// alt puts a line chart into words.
func (s *setting) alt(f *figure, what string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Line chart. %s; %s.", what, s.Name)
	for _, se := range f.Lines.Series {
		for i, y := range se.Y {
			if !math.IsNaN(y) {
				last, end, _ := se.End()
				fmt.Fprintf(&b, " %s: %.1f at %d", se.Label, y, f.Lines.X(&se, i))
				if last != i {
					fmt.Fprintf(&b, ", %.1f at %d", end, f.Lines.X(&se, last))
				}
				b.WriteByte('.')
				break
			}
		}
	}
	return b.String()
}

// matrixFigure is the accuracy matrix of one row; nil where nothing was evaluated or there are too many tasks.
func (g *row) matrixFigure() *figure {
	s := g.setting
	if evaluated := slices.ContainsFunc(g.counted(), func(r *run) bool { return r.lastRow() >= 0 }); !evaluated ||
		s.tasks() > maxHeatTasks {
		return nil
	}
	names := s.taskNames()
	cols := names
	common := len(g.counted()) > 0 && g.counted()[0].Stream.CommonTest
	if common {
		cols = []string{"all"}
	}
	runs := g.followed()
	of := func(runs ...*run) [][]float64 {
		return meanMatrix(runs, len(names), len(cols), func(r *run) [][]float64 { return r.matrix.Rows })
	}
	v := of(runs...)
	f := &figure{ID: "matrix-" + g.slug, Whose: g.full(), Heat: &heat{
		Runs:    seedMaps(runs, func(r *run) [][]float64 { return of(r) }),
		Heat:    chart.Heat{RowLabel: "after task", ColLabel: "on task", Rows: names, Cols: cols, V: v},
		Missing: "not evaluated",
		Say:     func(i, j int) string { return "after " + names[i] + ", on " + cols[j] },
	}}
	f.Title = g.Short + ": accuracy after each task on each task"
	f.Caption = fmt.Sprintf("Accuracy matrix of %s: each row is the state after a task, each column the test images of a task, in per cent. %s",
		g.Label, upper(g.ofRuns(runs)))
	if common {
		f.Caption += " All tasks share one test set."
	}
	f.Alt = fmt.Sprintf("Heat map, %d by %d, of the accuracy after each task on each task.", len(names), len(cols))
	f.Data = g.longTable(f, "after_task", "on_task", "accuracy")
	return f
}

// longTable is the CSV of a heat map: a line for each cell that was evaluated.
func (g *row) longTable(f *figure, rowName, colName, value string) *table {
	h := f.Heat
	t := &table{ID: f.ID, Head: headed(numCol(h.RowLabel, rowName), numCol(h.ColLabel, colName),
		numCol(value+", %", value))}
	for i := range h.V {
		for j, v := range h.V[i] {
			if !math.IsNaN(v) {
				t.Rows = append(t.Rows, append(g.head(), textCell(h.line(i)), textCell(h.Cols[j]), numCell(count.Percent(v), v)))
			}
		}
	}
	return t
}

// line is row i as files name it.
func (h *heat) line(i int) string {
	if h.Lines != nil {
		return h.Lines[i]
	}
	return h.Rows[i]
}

// classColumns is the number of classes in a line of the per-class heat map.
const classColumns = 10

// classFigure is the accuracy on each class at the end; nil where the results do not have it.
func (g *row) classFigure() *figure {
	k := g.setting.stream.Classes
	if k > maxHeatClasses {
		return nil
	}
	vals := make([]float64, k)
	found := false
	atEnd := func(r *run, c int) float64 { return at(r.PerClass, len(r.PerClass)-1, c) }
	for c := range vals {
		e := g.over(func(r *run) float64 { return atEnd(r, c) })
		vals[c] = e.Mean
		found = found || e.N > 0
	}
	if !found {
		return nil
	}
	cols := min(classColumns, k)
	list := k <= maxTableClasses && slices.ContainsFunc(upTo(0, k-1), g.setting.named)
	if list { // there is room for the names beside the cells
		cols = 1
	}
	lines := func(vals []float64) (v [][]float64) { return slices.Collect(slices.Chunk(vals, cols)) }
	h := &heat{Heat: chart.Heat{RowLabel: "class", ColLabel: "plus"},
		Missing: "not learned in this protocol, or without test images",
		Say:     func(i, j int) string { return g.setting.className(i*cols + j) }}
	for j := range cols {
		h.Cols = append(h.Cols, strconv.Itoa(j))
	}
	for i := 0; i < k; i += cols {
		h.Rows = append(h.Rows, strconv.Itoa(i))
	}
	how := fmt.Sprintf(", as in the config, %d in each line: each cell is the class of its row plus that of its column",
		cols)
	if list {
		h.Cols, h.ColLabel, how = []string{"%"}, "accuracy", ""
		for c := range h.Rows {
			h.Rows[c] = g.setting.numberAndName(c)
		}
	}
	h.V = lines(vals)
	for c := range vals {
		h.Names = append(h.Names, g.setting.className(c))
	}
	h.Runs = seedMaps(g.counted(), func(r *run) [][]float64 {
		var own []float64
		for c := range vals {
			own = append(own, atEnd(r, c))
		}
		return lines(own)
	})
	f := &figure{ID: "classes-" + g.slug, Whose: g.full(), Heat: h, Title: g.Short + ": accuracy on each class"}
	f.Caption = fmt.Sprintf("Accuracy of %s on each class after the last task, in per cent; classes are counted from 0%s. %s",
		g.Label, how, upper(g.of()))
	f.Alt = fmt.Sprintf("Heat map of the accuracy on %s.", count.Of(k, "class"))
	f.Data = &table{ID: f.ID, Head: headed(numCol("class", "class"), textCol("name", "name"),
		numCol("accuracy, %", "accuracy"))}
	for c, v := range vals {
		if !math.IsNaN(v) {
			f.Data.Rows = append(f.Data.Rows, append(g.head(), textCell(strconv.Itoa(c)), textCell(g.setting.className(c)),
				numCell(count.Percent(v), v)))
		}
	}
	return f
}

// className is a class's name, or its index where it has none.
func (s *setting) className(c int) string {
	if s.named(c) {
		return s.stream.ClassNames[c]
	}
	return "class " + strconv.Itoa(c)
}

// named says whether a class has a name that is not its number.
func (s *setting) named(c int) bool {
	names := s.stream.ClassNames
	return c < len(names) && names[c] != "" && names[c] != strconv.Itoa(c)
}

// maxClassName bounds the characters of a class's name in a heat map.
const maxClassName = 18

// numberAndName is a class in a heat map: "3 cat", or "3" where it has no name.
func (s *setting) numberAndName(c int) string {
	text := strconv.Itoa(c)
	if !s.named(c) {
		return text
	}
	name := []rune(s.className(c))
	if len(name) > maxClassName {
		name = append(name[:maxClassName-1], '…')
	}
	return text + " " + string(name)
}

// A table of classes by name has the most accurate rows, and no more cells than this. A page of more rows than the last
// has none, to stay small.
const (
	maxNamedRows  = 6
	maxNamedCells = 3_000
	maxNamedStudy = 40
)

// classTable is the accuracy on each class after the last task by its name, a column for each of the most accurate
// rows; nil where no class has a name, or none was measured.
func (s *setting) classTable() *table {
	rows, bounds := s.ranked()
	rows = slices.DeleteFunc(append(rows, bounds...), func(g *row) bool {
		return !slices.ContainsFunc(g.counted(), func(r *run) bool { return len(r.PerClass) > 0 })
	})
	k := min(s.stream.Classes, maxHeatClasses)
	if len(s.rows)*s.among > maxNamedStudy {
		return nil
	}
	rows = rows[:max(0, min(len(rows), maxNamedRows, maxNamedCells/max(1, k)/max(1, s.among)))]
	t := &table{ID: s.id("class-names"), Title: s.titled("Accuracy on each class by its name, after the last task, in per cent"),
		Head: []column{textCol("name", "name"), numCol("class", "class")}}
	for _, g := range rows {
		t.Head = append(t.Head, numCol(g.Short, g.slug))
	}
	for c := range k {
		line, measured := []cell{textCell(s.className(c)), textCell(strconv.Itoa(c))}, false
		for _, g := range rows {
			e := g.over(func(r *run) float64 { return at(r.PerClass, len(r.PerClass)-1, c) })
			measured = measured || e.N > 0
			line = append(line, numCell(valueText(func(y, _ float64) string { return count.Fixed(y, 1) }, 100*e.Mean,
				math.NaN()), e.Mean))
		}
		if measured && s.named(c) {
			t.Rows = append(t.Rows, line)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// timeFigure is the run time of each row that ocl has run, split; nil where there is none.
func (s *setting) timeFigure() *figure {
	f := &figure{ID: s.id("time"), Bars: &chart.Bars{Parts: []string{"training", "preparing", "testing"},
		Say: count.Duration}, Title: s.titled("Time of one run")}
	f.Data = &table{ID: f.ID, Head: headed(numCol("training", "train_seconds"), numCol("preparing", "prepare_seconds"),
		numCol("testing", "test_seconds"), numCol("runs at once", "concurrency"), numCol("runs", "runs"))}
	atOnce := 0
	for _, g := range s.rows {
		if g.foreign() {
			continue
		}
		var parts []float64
		var tips []string
		for k, of := range []func(*run) float64{
			func(r *run) float64 { return r.Seconds.Train }, func(r *run) float64 { return r.Seconds.Prepare },
			func(r *run) float64 { return r.Seconds.Test },
		} {
			e := g.seconds(of)
			parts = append(parts, e.Mean)
			tips = append(tips, fmt.Sprintf("%s\n%s: %s%s", g.Short, f.Bars.Parts[k],
				count.PlusMinus(e.Mean, e.Half, count.Duration), seedLine(g.timed(), of, count.Duration)))
		}
		together := 1
		for _, r := range g.timed() {
			together = max(together, r.Provenance.Concurrency)
		}
		atOnce = max(atOnce, together)
		var words []string
		for k, name := range f.Bars.Parts {
			if parts[k] > 0 {
				words = append(words, name+" "+count.Duration(parts[k]))
			}
		}
		stack := chart.Stack{Label: g.Label, Look: g.style, Parts: parts, Tips: tips}
		text := count.Duration(stack.Sum())
		if len(words) > 0 {
			text += " (" + strings.Join(words, ", ") + ")"
		}
		if len(g.finished) == 0 {
			text += ", " + g.outcomeText()
		}
		stack.Text = text + g.fewer(g.seconds((*run).seconds))
		f.Bars.Bars = append(f.Bars.Bars, stack)
		row := g.head()
		for _, v := range parts {
			row = append(row, numCell(count.Duration(v), v))
		}
		n := strconv.Itoa(len(g.timed()))
		f.Data.Rows = append(f.Data.Rows, append(row, textCell(strconv.Itoa(together)), textCell(n)))
	}
	if len(f.Bars.Bars) == 0 {
		return nil
	}
	f.Caption = "Wall time of one run, mean over the runs: training in full colour, preparing lighter, testing lightest. " +
		upper(s.Name) + "."
	if atOnce > 1 {
		f.Caption += fmt.Sprintf(" Up to %d runs shared the machine, so these times cannot be compared with those of a run alone.",
			atOnce)
	}
	var words []string
	for _, b := range f.Bars.Bars {
		words = append(words, b.Label+" "+b.Text)
	}
	f.Alt = "Bar chart of run times. " + strings.Join(words, "; ") + "."
	return f
}

// seedsOf are the seeds of runs.
func seedsOf(runs []*run) (seeds []uint64) {
	for _, r := range runs {
		seeds = append(seeds, r.seed)
	}
	return seeds
}

// seedLine says on hover what each run behind a mean measured: a line "seeds 1, 2: 44.1, 45.2". The page's script says
// it likewise.
func seedLine(runs []*run, of func(*run) float64, say func(float64) string) string {
	var seeds, values []string
	first, whole := uint64(0), true
	for _, r := range runs {
		v := of(r)
		if math.IsNaN(v) {
			continue
		}
		if len(seeds) == 0 {
			first = r.seed
		}
		whole = whole && r.seed == first+uint64(len(seeds))
		seeds, values = append(seeds, strconv.FormatUint(r.seed, 10)), append(values, say(v))
	}
	switch len(seeds) {
	case 0:
		return ""
	case 1:
		return "\n1 run, seed " + seeds[0]
	}
	if whole && len(seeds) > 3 {
		seeds = []string{seeds[0] + " to " + seeds[len(seeds)-1]}
	}
	return "\nseeds " + strings.Join(seeds, ", ") + ": " + strings.Join(values, ", ")
}
