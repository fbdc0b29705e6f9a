package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ocl/config"
	"ocl/experiment/result"
	"ocl/report/paper"
	"ocl/survey"
)

// words are a command in parts: what is run, and each flag with its value.
func words(command string) []string { return strings.Split(command, " --") }

// shared are the parts of commands that most of them have, in the order of the first one that has each. A flag that takes one value, such as
// --eval, is shared with the value that most have; a command that has another one says so, and the last one counts.
func shared(commands []string) []string {
	counts, flags := map[string]int{}, map[string]int{}
	var order []string
	for _, c := range commands {
		for _, w := range words(c) {
			if counts[w]++; counts[w] == 1 {
				order = append(order, w)
			}
			flags[flagOf(w)]++
		}
	}
	most := map[string]string{}
	for _, w := range order {
		if f := flagOf(w); most[f] == "" || counts[w] > counts[most[f]] {
			most[f] = w
		}
	}
	return slices.DeleteFunc(order, func(w string) bool {
		f := flagOf(w)
		return flags[f] < len(commands) || most[f] != w || slices.Contains([]string{"method", "memory", "lr"}, f)
	})
}

func flagOf(word string) string { f, _, _ := strings.Cut(word, " "); return f }

// own are the parts of a command that are not shared.
func own(command string, shared []string) string {
	var parts []string
	for _, w := range words(command) {
		if !slices.Contains(shared, w) {
			parts = append(parts, "--"+w)
		}
	}
	return "`" + strings.Join(parts, " ") + "`"
}

// Count is how many cells of each table have which verdict.
func (p *page) Count() string {
	var heads []string
	for _, v := range paper.Verdicts() {
		heads = append(heads, string(v))
	}
	t := tableOf(append(append([]string{"cells of", "on"}, heads...), "all")...)
	line := func(first, second string, cells []*paper.Cell) {
		counts := paper.CountVerdicts(cells)
		row := []string{first, second}
		for _, v := range paper.Verdicts() {
			row = append(row, strconv.Itoa(counts[v]))
		}
		t.row(append(row, strconv.Itoa(counts.Sum()))...)
	}
	var all []*paper.Cell
	for _, label := range measured[:4] { // the others have no intervals, so no verdicts
		columns := p.columns(label)
		for _, column := range columns {
			line(label, column, p.of(label, column))
		}
		all = append(all, p.cells[label]...)
	}
	line("all", "", all)
	return t.String()
}

// columns of a table that are data sets.
func (p *page) columns(label string) []string {
	switch label {
	case survey.TricksCIFAR100:
		return []string{survey.CIFAR100}
	case survey.TricksMiniImage:
		return []string{survey.MiniImageNet}
	}
	var columns []string
	for _, c := range p.cells[label] {
		if !slices.Contains(columns, c.Column) {
			columns = append(columns, c.Column)
		}
	}
	return columns
}

// of are the cells of a table that belong to a data set.
func (p *page) of(label, column string) []*paper.Cell {
	if label == survey.TricksCIFAR100 || label == survey.TricksMiniImage {
		return slices.Clone(p.cells[label])
	}
	return slices.DeleteFunc(slices.Clone(p.cells[label]), func(c *paper.Cell) bool { return c.Column != column })
}

// Cells is every cell of a table on a data set that no table before it has, below the command that they share.
func (p *page) Cells(label, column string) string {
	cells := slices.DeleteFunc(p.of(label, column), func(c *paper.Cell) bool { return c.Repeat != "" && c.Repeat != label })
	tricks := label == survey.TricksCIFAR100 || label == survey.TricksMiniImage
	slices.SortStableFunc(cells, func(a, b *paper.Cell) int { // by method, then by trick
		if !tricks {
			return 0
		}
		return strings.Compare(a.Column, b.Column)
	})
	var commands []string
	byMeans, kept := false, false
	for _, c := range cells {
		if command := c.Command(); command != "" {
			commands = append(commands, command)
		}
		byMeans = byMeans || p.means(c).N > 0
		kept = kept || held(c) != dash
	}
	common := shared(commands)
	heads := []string{"method"}
	if tricks {
		heads = append(heads, "trick")
	}
	heads = append(heads, "M", "ocl (runs)", "by seed", "the paper", "difference", "verdict")
	if byMeans {
		heads = append(heads, "class means")
	}
	if kept {
		heads = append(heads, "memory: first two, middle, last task")
	}
	t := tableOf(append(heads, "flags", "minutes", "results")...)
	for _, c := range cells {
		name, trick := c.Row, ""
		if tricks {
			name, trick = c.Column, c.Row
		}
		row := []string{name}
		if tricks {
			row = append(row, trick)
		}
		ours, difference := plusMinus(c.Ours), dash
		if c.Ours.N > 0 {
			ours += fmt.Sprintf(" (%d)", c.Ours.N)
			difference = signed(c.Difference())
		}
		if n := c.Diverged(); n > 0 {
			ours += fmt.Sprintf(", %d of %d diverged", n, len(c.Runs))
		}
		row = append(row, thousands(c.Memory), ours, joined(c.Values, "%.1f"), published(c.Published), difference, string(c.Verdict))
		if byMeans {
			row = append(row, plusMinus(p.means(c)))
		}
		if kept {
			row = append(row, held(c))
		}
		flags, minutes := "ocl does not have it", dash
		if command := c.Command(); command != "" {
			flags = own(command, common)
		}
		if len(c.Runs) > 0 {
			minutes = fmt.Sprintf("%.0f", math.Ceil(c.Seconds()/float64(len(c.Runs))/60))
		}
		t.row(append(row, flags, minutes, files(p.root, c.Files()))...)
	}
	return "    " + strings.Join(common, " --") + "\n\n" + t.String()
}

// means is the accuracy of the runs of a cell by the nearest class mean; nothing for a cell that is by it itself.
func (p *page) means(c *paper.Cell) paper.Estimate {
	if c.Spec.Classifier == config.ClassifierNCM {
		return estimate(nil)
	}
	return estimate(accuracies(c.Runs, config.ClassifierNCM))
}

// accuracies are what a classifier of runs reached in per cent, NaN where it was not measured and for a run that diverged.
func accuracies(runs []*paper.Run, classifier string) []float64 {
	var values []float64
	for _, r := range runs {
		m, ok := r.Metrics(classifier)
		if !ok || m.AverageAccuracy == nil || r.Result.Outcome.State != result.Finished {
			values = append(values, none)
			continue
		}
		values = append(values, 100**m.AverageAccuracy)
	}
	return values
}

// held are the shares of the memory that the first two tasks, those in the middle and the last one have at the end of the run with the first
// seed, for the methods whose memories differ.
func held(c *paper.Cell) string {
	if len(c.Runs) == 0 || c.Spec.Classifier == config.ClassifierNCM || !slices.Contains([]string{"er", "gss", "gdumb"}, c.Spec.Method) {
		return dash
	}
	rows := c.Runs[0].Held
	if len(rows) == 0 || len(rows[len(rows)-1]) < 4 {
		return dash
	}
	counts := rows[len(rows)-1]
	last := len(counts) - 1
	parts := []int{sum(counts[:2]), sum(counts[2:last]), counts[last]}
	all := float64(sum(counts))
	return fmt.Sprintf("%.0f, %.0f, %.0f %%", 100*float64(parts[0])/all, 100*float64(parts[1])/all, 100*float64(parts[2])/all)
}

func sum(counts []int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// publishedOf is the published value of a spec.
func (p *page) publishedOf(s paper.Spec) string {
	for _, label := range measured[:4] {
		for _, c := range p.cells[label] {
			if c.Spec == s {
				return published(c.Published)
			}
		}
	}
	return dash
}

// Times is tab:trick_time: our seconds and the paper's, and both as multiples of ER without a trick.
func (p *page) Times() string {
	cells := p.cells[survey.TrickTimes]
	base := map[int]*paper.Cell{}
	for _, c := range cells {
		if c.Row == "N/A" {
			base[c.Memory] = c
		}
	}
	t := tableOf("trick", "M", "ocl, seconds (runs)", "the paper, seconds", "ocl, times ER alone", "the paper", "results")
	for _, c := range cells {
		ours, ratio := "not run", dash
		if c.Ours.N > 0 {
			ours = fmt.Sprintf("%.0f (%d)", c.Ours.Mean, c.Ours.N)
			if b := base[c.Memory]; b.Ours.N > 0 {
				ratio = fmt.Sprintf("%.2f", c.Ours.Mean/b.Ours.Mean)
			}
		}
		t.row(c.Row, thousands(c.Memory), ours, published(c.Published), ratio, fmt.Sprintf("%.2f", c.Published.Mean/base[c.Memory].Published.Mean), files(p.root, c.Files()))
	}
	return "    " + cells[0].Command() + "\n\n" + t.String()
}
