package report

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ocl/internal/count"
	"ocl/run/metric"
	"ocl/run/metric/compare"
	"ocl/view/chart"
)

const (
	// maxRanked is how many rows of a ranking stand on the first screen, also of a phone; the others can be opened below
	// them.
	maxRanked = 10
	// fewSeeds is the largest number of runs whose values are drawn without an interval. That of two runs is mostly wider
	// than the figure.
	fewSeeds = 2
)

// interval is the half width of an estimate that is drawn, in per cent; NaN where there are too few runs for one.
func interval(e metric.Estimate) float64 {
	if e.N <= fewSeeds {
		return math.NaN()
	}
	return 100 * e.Half
}

// ranked are the rows with an average accuracy, the best first, and the bounds. Where all are bounds, they are ranked.
func (s *setting) ranked() (rows, bounds []*row) {
	for _, g := range s.rows {
		switch {
		case g.finalAccuracy().N == 0:
		case g.bound == NoBound:
			rows = append(rows, g)
		default:
			bounds = append(bounds, g)
		}
	}
	if len(rows) == 0 {
		rows, bounds = bounds, nil
	}
	for _, list := range [][]*row{rows, bounds} {
		slices.SortStableFunc(list, func(a, b *row) int {
			if ended := cmp.Compare(min(len(b.finished), 1), min(len(a.finished), 1)); ended != 0 {
				return ended
			}
			return cmp.Compare(b.finalAccuracy().Mean, a.finalAccuracy().Mean)
		})
	}
	return rows, bounds
}

// rankingFigure is the rows in the order of their average accuracy, with the bounds; nil where nothing was measured.
func (s *setting) rankingFigure() *figure {
	rows, bounds := s.ranked()
	if len(rows) == 0 {
		return nil
	}
	f := &figure{ID: s.id("ranking"), Title: s.titled("Average accuracy after the last task"),
		Ranked: &chart.Ranked{Unit: "%"}}
	f.Data = &table{ID: f.ID, Head: headed(numCol("average accuracy, %", "average_accuracy"),
		numCol("± 95 %", "half_width_95"), numCol("runs", "runs"), numCol("of each run, %", "values"))}
	var said []string
	f.Ranked.Start = math.Inf(1)
	for i, g := range slices.Concat(rows, bounds) {
		e := g.finalAccuracy()
		f.Ranked.Start = min(f.Ranked.Start, 100*e.Mean)
		text := percents(e)
		if e.N <= fewSeeds {
			text = count.Percent(e.Mean)
		}
		if len(g.finished) == 0 {
			text += ", " + g.outcomeText()
		}
		said = append(said, g.Short+" "+text)
		if i < len(rows) {
			half := interval(e)
			r := chart.Ranking{Label: g.Short, Text: text, Look: g.style, Size: 2.6 + 0.9*g.width,
				Value: chart.Value{At: 100 * e.Mean, Low: 100*e.Mean - half, High: 100*e.Mean + half}}
			r.Tip = g.Short + "\naverage accuracy: " + percents(e) + " %" + seedLine(g.counted(), (*run).accuracy, count.Percent)
			if e.N > 1 {
				r.Seeds = g.accuracies()
				f.Ranked.Start = min(f.Ranked.Start, slices.Min(r.Seeds))
				f.Ranked.End = max(f.Ranked.End, slices.Max(r.Seeds))
			}
			f.Ranked.Rows = append(f.Ranked.Rows, r)
			f.Ranked.End = max(f.Ranked.End, 100*e.Mean)
			if !math.IsNaN(half) {
				f.Ranked.Start, f.Ranked.End = min(f.Ranked.Start, max(r.Value.Low, 0)), max(f.Ranked.End, min(r.Value.High, 100))
			}
		} else {
			f.Ranked.Bounds = append(f.Ranked.Bounds, chart.Bound{Label: g.Short + " " + count.Percent(e.Mean), Look: g.style,
				At: 100 * e.Mean})
			f.Ranked.End = max(f.Ranked.End, 100*e.Mean)
		}
		f.Data.Rows = append(f.Data.Rows, append(g.head(), numCell(count.Percent(e.Mean), e.Mean),
			numCell(halfText(e), e.Half), textCell(fmt.Sprint(e.N)), g.valuesCell()))
	}
	f.Caption, f.Print = s.answer(), "Mean over all tasks of the accuracy after the last one. "+upper(s.measured())
	f.Alt = "Dots, the highest average accuracy first: " + strings.Join(said, "; ") + "."
	return f
}

// accuracies are the average accuracies of the counted runs in per cent.
func (g *row) accuracies() (values []float64) {
	for _, r := range g.counted() {
		if v := r.accuracy(); !math.IsNaN(v) {
			values = append(values, 100*v)
		}
	}
	return values
}

// accuracy is the average accuracy of a run, a fraction; NaN where it was not measured.
func (r *run) accuracy() float64 { return orNaN(r.Metrics.AverageAccuracy) }

// valuesCell lists them for people and as fractions for machines, with spaces between them.
func (g *row) valuesCell() cell {
	var text, raw []string
	for _, v := range g.accuracies() {
		text, raw = append(text, count.Fixed(v, 1)), append(raw, count.Exact(v/100))
	}
	return cell{Text: strings.Join(text, " "), Raw: strings.Join(raw, " ")}
}

// shared says what all rows of the setting have in common.
func (s *setting) shared() string {
	parts := []string{upper(s.Name)}
	if stored := slices.DeleteFunc(slices.Clone(s.rows), func(g *row) bool { return g.memory < 0 }); len(stored) > 0 &&
		len(s.memories) == 1 {
		parts = append(parts, "memory "+count.Number(s.memories[0]))
	}
	text := strings.Join(parts, ", ") + ". Accuracy after the last task, mean over all tasks."
	if s.isRunning() {
		text += " For runs that have not ended: accuracy after the last task so far, mean over the tasks learned."
	}
	return text
}

// tile is a number of the first screen, with the command that tells more; "" for none.
type tile struct{ Name, Value, Note, Command string }

// headline is the answer in one line.
func (s *setting) headline() string {
	rows, _ := s.ranked()
	switch {
	case len(rows) == 0:
		return "Nothing was measured yet"
	case len(rows[0].finished) == 0 && s.isRunning():
		return fmt.Sprintf("%s is at %s %% so far", rows[0].Short, count.Percent(rows[0].finalAccuracy().Mean))
	case len(rows[0].finished) == 0:
		return fmt.Sprintf("No run has finished; %s is at %s %%", rows[0].Short, count.Percent(rows[0].finalAccuracy().Mean))
	case s.isRunning():
		return fmt.Sprintf("Of the runs that have ended, %s leads: %s %%", rows[0].Short,
			count.Percent(rows[0].finalAccuracy().Mean))
	case len(rows) == 1:
		return fmt.Sprintf("%s: %s %%", rows[0].Short, count.Percent(rows[0].finalAccuracy().Mean))
	}
	verb := "leads"
	if p, ok := s.lead(rows); ok && p.Verdict != compare.Undecided && p.first == rows[0] {
		verb = "is best"
	}
	return fmt.Sprintf("%s %s: %s %%", rows[0].Short, verb, count.Percent(rows[0].finalAccuracy().Mean))
}

// lead compares the best of ranked rows with the next; ok is false where they have no two seeds in common.
func (s *setting) lead(rows []*row) (p pairing, ok bool) {
	for _, p := range s.pairings() {
		if (p.first == rows[0] || p.second == rows[0]) && p.other(rows[0]) == rows[1] {
			return p, true
		}
	}
	return pairing{}, false
}

// tiles are the three numbers that matter: the best row, how far it is ahead, and from how many runs that is known.
func (s *setting) tiles() []tile {
	rows, _ := s.ranked()
	if len(rows) == 0 {
		return nil
	}
	e := rows[0].finalAccuracy()
	best := tile{Name: "Best", Value: count.Percent(e.Mean) + " %", Note: rows[0].Label}
	if e.N > fewSeeds {
		best.Value = percents(e) + " %"
	}
	return []tile{best, s.leadTile(rows), s.seedsTile()}
}

// leadTile says whether the best row is better than the next.
func (s *setting) leadTile(rows []*row) tile {
	t := tile{Name: "Lead over the next"}
	if len(rows) == 1 {
		for _, g := range s.rows {
			if g.bound == LowerBound && g != rows[0] && g.finalAccuracy().N > 0 {
				rows = append(rows, g)
			}
		}
	}
	if len(rows) == 1 {
		t.Value, t.Note = "none", "there is one row"
		return t
	}
	p, ok := s.lead(rows)
	switch few, command := s.fewSeeds(rows[0], rows[1]); {
	case few != "":
		t.Value, t.Note, t.Command = signed(rows[0].finalAccuracy().Mean-rows[1].finalAccuracy().Mean)+" points",
			"over "+rows[1].Short+", "+few, command
		return t
	case !ok || p.N() == 0:
		t.Value, t.Note = "not decided", string(p.Reason)
		return t
	}
	mean := p.Mean
	if p.first != rows[0] {
		mean = -mean
	}
	difference := signed(mean)
	if p.N() > fewSeeds {
		difference += " ± " + count.Percent(p.Half)
	}
	difference += " points"
	over := "over " + rows[1].Short
	if p.Verdict == compare.Undecided {
		why := string(p.Reason)
		if p.Reason == compare.NotSignificant {
			why = p.chance()
		}
		t.Value, t.Note = "not decided", difference+" "+over+", "+why
		return t
	}
	t.Value, t.Note = difference, over+", "+p.chance()+" (corrected)"
	return t
}

// fewSeeds says that two rows have too few seeds in common for a verdict and what tells whether the first is better,
// with the command where one does it; "" where there are enough.
func (s *setting) fewSeeds(first, second *row) (text, command string) {
	var common []uint64
	for _, r := range first.finished {
		if other := second.bySeed(r.seed); other != nil && slices.Contains(second.finished, other) {
			common = append(common, r.seed)
		}
	}
	n := len(common)
	switch {
	case first.foreign() || second.foreign():
		return "not compared, as the seeds of another program may mean something else", ""
	case n >= compare.LeastSeeds:
		return "", ""
	case n == 1 && len(first.runs) == 1 && len(second.runs) == 1:
		text = "one seed each"
	default:
		text = []string{"no seed", "one seed", "two seeds"}[n] + " in common"
	}
	if s.isRunning() {
		return text + " so far", ""
	}
	runs, home := len(first.runs)+compare.LeastSeeds-n, s.experiment(first, second)
	if n == 0 || len(first.runs) != len(second.runs) || home == "" {
		return text + ": three seeds that both have tell whether the lead is more than luck", ""
	}
	command = fmt.Sprintf("ocl run --config %s --runs %d --out %s", quote(filepath.Join(home, "experiment.yaml")), runs,
		quote(home))
	return text + fmt.Sprintf(": %d runs of each tell whether the lead is more than luck", runs), command
}

// leadNote is the same below the table of the terminal: at most one line, with the command.
func (s *setting) leadNote() []string {
	rows, _ := s.ranked()
	if len(rows) < 2 || len(rows[1].finished) == 0 {
		return nil
	}
	few, command := s.fewSeeds(rows[0], rows[1])
	if few == "" || s.isRunning() {
		return nil
	}
	text := fmt.Sprintf("%s leads by %s points over %s, %s", rows[0].Short,
		count.Fixed(100*(rows[0].finalAccuracy().Mean-rows[1].finalAccuracy().Mean), 1), rows[1].Short, few)
	if command != "" {
		text += ": " + command
	}
	return []string{text}
}

// experiment is the folder of the experiment that all runs of some rows are of; "" where there is none.
func (s *setting) experiment(rows ...*row) string {
	home := s.home
	for _, g := range rows {
		for _, r := range g.runs {
			parent := s.home
			if r.folder != "" {
				parent = filepath.Dir(filepath.Clean(r.folder))
			}
			if home == "" {
				home = parent
			}
			if parent != home {
				return ""
			}
		}
	}
	if _, err := os.Stat(filepath.Join(home, "experiment.yaml")); home == "" || err != nil {
		return ""
	}
	return home
}

// signed is a difference of fractions in points, with its sign.
func signed(v float64) string { return count.Signed(100*v, 1) }

// seedsTile says how many runs a row has.
func (s *setting) seedsTile() tile {
	low, high, whole, all := math.MaxInt, 0, 0, 0
	for _, g := range s.rows {
		n := len(g.counted())
		low, high, whole, all = min(low, n), max(high, n), whole+len(g.finished), all+len(g.runs)
	}
	t := tile{Name: "Seeds", Value: count.Range(low, high), Note: "in each of " + count.Of(len(s.rows), "row")}
	if len(s.rows) == 1 {
		t.Note = "in one row"
	}
	if t.Note += ", all runs finished"; whole < all {
		t.Note = strings.TrimSuffix(t.Note, "all runs finished") + fmt.Sprintf("%d of %s finished", whole,
			count.Of(all, "run"))
	}
	return t
}
