package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/result"
)

// Table prints the table that ends an experiment: for each method its average accuracy with the 95 % interval over the
// runs in per cent, forgetting in points, learning accuracy in per cent, and the time of one run. Runs that diverged or
// were interrupted are listed below it and are not in the means. Lines have at most width columns, that is 40 to 100,
// and 100 for a width of 0; a wider table becomes a list. It returns the error of w.
func Table(w io.Writer, results []*result.Result, o Options, width int) error {
	var runs []*run
	for _, r := range results {
		if r != nil {
			runs = append(runs, newRun(r, ""))
		}
	}
	if len(runs) == 0 {
		_, err := io.WriteString(w, "No run has a result yet.\n")
		return err
	}
	if width <= 0 || width > 100 {
		width = 100
	}
	width = max(width, 40)
	st := newStudy(runs, nil, o.Known, o.Catalogue)
	var b strings.Builder
	for i, s := range st.settings {
		s.home = o.Experiment
		if i > 0 {
			b.WriteByte('\n')
		}
		if len(st.settings) > 1 {
			b.WriteString(s.Name + "\n")
		}
		s.terminal(&b, width)
		for _, n := range append(s.footnotes(), s.leadNote()...) {
			b.WriteString(strings.Join(wrap(n, width), "\n") + "\n")
		}
	}
	for _, warn := range st.warnings {
		if warn == st.together { // the footnote about shared machines says it
			continue
		}
		b.WriteString(strings.Join(wrap("note: "+warn, width), "\n") + "\n")
	}
	_, err := io.WriteString(w, escape.Lines(b.String()))
	return err
}

// terminal prints the table of one setting.
func (s *setting) terminal(b *strings.Builder, width int) {
	head := []string{"method", "accuracy, %", "forgetting, points", "learning, %", "time", "runs"}
	rows := [][]string{head}
	for _, g := range s.rows {
		rows = append(rows, []string{
			g.Label,
			g.text(g.metricOf(averageAccuracy)),
			g.text(g.metricOf(averageForgetting)),
			g.text(g.metricOf(learningAccuracy)),
			g.timeText(),
			g.runsText(),
		})
	}
	if !tabular(b, rows, width) {
		s.listing(b, rows, width)
	}
	s.measures(b, width)
}

// asked says that a metric is there only where somebody has asked for what it is computed of.
func asked(m result.Metric) bool {
	return m.Key == "average_anytime_accuracy" || m.Later() && m.Key != "cumulative_forgetting" && m.Key != "retention" &&
		m.Key != "seen_last"
}

// measures prints all metrics, a line each, where somebody has asked for more than a run has anyway.
func (s *setting) measures(b *strings.Builder, width int) {
	head, more := []string{"all measures, %"}, false
	var all []result.Metric
	for _, m := range result.AllMetrics() {
		if slices.ContainsFunc(s.rows, func(g *row) bool { return g.metricOf(m.Of).N > 0 }) {
			all, head = append(all, m), append(head, m.Title)
			more = more || asked(m)
		}
	}
	if !more {
		return
	}
	rows := [][]string{head}
	for _, g := range s.rows {
		row := []string{g.Label}
		for _, m := range all {
			row = append(row, g.text(g.metricOf(m.Of)))
		}
		rows = append(rows, row)
	}
	turned := make([][]string, len(head))
	for i := range head {
		for _, r := range rows {
			turned[i] = append(turned[i], r[i])
		}
	}
	b.WriteByte('\n')
	if !tabular(b, turned, width) {
		s.listing(b, rows, width)
	}
}

// tabular prints a table, whose first column is folded where a line would be too long. It prints nothing, and is false,
// where that is not enough.
func tabular(b *strings.Builder, rows [][]string, width int) bool {
	head := rows[0]
	cols := make([]int, len(head))
	total := 0
	for i := range head {
		for _, r := range rows {
			cols[i] = max(cols[i], utf8.RuneCountInString(r[i]))
		}
		total += cols[i] + 2
	}
	total -= 2
	if total > width {
		if cols[0] -= total - width; cols[0] < 12 {
			return false
		}
	}
	for _, r := range rows {
		lines := wrap(r[0], cols[0])
		for _, l := range lines[:len(lines)-1] {
			b.WriteString(l + "\n")
		}
		line := padRight(lines[len(lines)-1], cols[0])
		for i := 1; i < len(r); i++ {
			line += "  " + padLeft(r[i], cols[i])
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return true
}

// listing prints one value a line, for terminals too narrow for a table.
func (s *setting) listing(b *strings.Builder, rows [][]string, width int) {
	names := 0
	for _, name := range rows[0][1:] {
		names = max(names, utf8.RuneCountInString(name))
	}
	for _, r := range rows[1:] {
		for _, l := range wrap(r[0], width) {
			b.WriteString(l + "\n")
		}
		for i := 1; i < len(r); i++ {
			fmt.Fprintf(b, "  %s  %s\n", padRight(rows[0][i], names), r[i])
		}
	}
}

// footnotes returns what a reader of the table's numbers must know besides, a sentence each.
func (s *setting) footnotes() []string {
	var notes []string
	shared := 0
	for _, g := range s.rows {
		notes = append(notes, g.outcomes()...)
		if tuned := g.tunedText(); tuned != "" {
			notes = append(notes, tuned)
		}
		for _, r := range g.runs {
			if r.shared() {
				shared = max(shared, r.Provenance.Concurrency)
			}
		}
	}
	if shared > 0 {
		notes = append(notes, fmt.Sprintf("* up to %d runs shared the machine, so these times cannot be compared with those of a run alone",
			shared))
	}
	return notes
}

// tunedText says which values the runs of a row were tuned to, and with which grid: "ER: tuned by the grid paper to lr
// 0.1 (seeds 1, 3), lr 0.01 (seed 2)"; "" where nothing was tuned.
func (g *row) tunedText() string {
	grid := ""
	choices := g.bySeeds(func(r *run) string {
		if r.Tuning == nil {
			return ""
		}
		grid = r.Tuning.Grid
		var words []string
		for i, key := range r.Tuning.Keys {
			words = append(words, inWords(key, r.Tuning.Chosen[i]))
		}
		return strings.Join(words, ", ")
	}, func(choice, seeds string) string { return choice + " (" + seeds + ")" })
	if len(choices) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: tuned on the first two tasks by the grid %s to %s", g.Label, grid, strings.Join(choices, "; "))
}

// timeText is the mean run time of one run, with a star where runs shared the machine.
func (g *row) timeText() string {
	e, star := g.seconds((*run).seconds), ""
	for _, r := range g.timed() {
		if r.shared() {
			star = "*"
		}
	}
	return count.Duration(e.Mean) + star + g.fewer(e)
}

// runsText says how many runs the numbers are of: "3", "2 of 3", "1 run" where there is no interval.
func (g *row) runsText() string {
	switch n := len(g.runs); {
	case len(g.finished) == 0:
		return fmt.Sprintf("0 of %d", n)
	case len(g.finished) < n:
		return fmt.Sprintf("%d of %d", len(g.finished), n)
	case n == 1:
		return "1 run"
	default:
		return fmt.Sprint(n)
	}
}

// outcomes says for the runs that did not finish what happened to them, seeds with the same fate together.
func (g *row) outcomes() []string {
	return g.bySeeds(func(r *run) string {
		o := r.Outcome
		if o.State == result.Finished {
			return ""
		}
		text := o.State
		if !strings.Contains(o.Reason, fmt.Sprintf(", step %d: ", o.Step)) { // the reason of a run of ours says it
			text += " at step " + count.Number(o.Step)
		}
		if o.Reason != "" {
			text += " (" + o.Reason + ")"
		}
		switch {
		case len(g.finished) > 0:
			return text + "; not in the means"
		case r.lastRow() < 0:
			return text + "; nothing was evaluated before that"
		}
		return text + fmt.Sprintf("; the numbers are those after %s", count.Of(r.lastRow()+1, "task"))
	}, func(text, seeds string) string { return fmt.Sprintf("%s, %s: %s", g.full(), seeds, text) })
}

// bySeeds lists what is said of the row's runs, each text once with the seeds that it is said of. "" says nothing of a
// run.
func (g *row) bySeeds(say func(*run) string, join func(text, seeds string) string) (list []string) {
	seeds := map[string][]string{}
	for _, r := range g.runs {
		text := say(r)
		if text != "" && seeds[text] == nil {
			list = append(list, text)
		}
		seeds[text] = append(seeds[text], strconv.FormatUint(r.seed, 10))
	}
	for i, text := range list {
		list[i] = join(text, seedList(seeds[text]))
	}
	return list
}

// seedList is "seed 1" or "seeds 1, 2 and 3".
func seedList(seeds []string) string {
	if len(seeds) == 1 {
		return "seed " + seeds[0]
	}
	return "seeds " + count.And(seeds)
}

func averageAccuracy(m result.Metrics) *float64   { return m.AverageAccuracy }
func averageForgetting(m result.Metrics) *float64 { return m.AverageForgetting }
func learningAccuracy(m result.Metrics) *float64  { return m.LearningAccuracy }

func padRight(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}

func padLeft(s string, n int) string {
	return strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s))) + s
}
