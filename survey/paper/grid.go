package paper

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/survey"
)

// grid is a table whose cells are measured, as data: its rows are those of its data file, its columns a group for each
// of some names, with one for each size of the memory.
type grid struct {
	title, text string
	head        string // of the first column
	groups      []string
	memories    []int
	decimals    int
	unit        string
	bounds      []string // rows that are never the best
	rules       []string // rows above which a rule stands
	least       bool     // the smallest is the best
	unranked    bool     // no row is better than another
}

var memories = []int{1000, 5000, 10000}

const accuracyText = "Mean accuracy after the last task on the test images of all tasks, in per cent: mean ± 95 % Student-t interval over the runs, and their number. " +
	"A single run has no interval. "

// grids are the measured tables.
var grids = map[string]grid{
	survey.ClassIncremental: {title: "Average accuracy of the methods where every task brings new classes",
		text: accuracyText + "Protocol survey. What has no memory stands in each column of its data set.", head: "method",
		groups: []string{survey.CIFAR100, survey.MiniImageNet, survey.CORe50NC}, memories: memories, decimals: 1,
		bounds: []string{"Finetune", "Offline"}, rules: []string{"EWC++", "ER"}},
	survey.ErrorAnalysis: {title: "Errors after the last of 20 tasks, old and new classes apart", head: "method",
		text: "CIFAR-100 with a memory of 5,000, protocol standard. n are the classes of the last task, which are new, and o those of earlier ones, which are old: e(n,o) counts test images of new classes taken for old ones, and so on; er(n,o) and er(o,n) " +
			"are shares of the errors in per cent.",
		groups: []string{"e(n,o)", "e(n,n)", "e(o,o)", "e(o,n)", "er(n,o)", "er(o,n)"}, memories: []int{5000},
		unranked: true},
	survey.TricksCIFAR100: {title: "Average accuracy with each trick on CIFAR-100",
		text: accuracyText + "Protocol survey. NCM is the nearest class mean in the runs of the first row.",
		head: "trick", groups: []string{"A-GEM", "ER", "MIR"}, memories: memories, decimals: 1,
		bounds: []string{"Finetune", "Offline", bestRow}, rules: []string{"N/A", "LB", bestRow}},
	survey.TrickTimes: {title: "Run time of ER with each trick on CIFAR-100", head: "trick",
		text:   "Seconds of training, preparing and testing, of jobs with timing: true in a study and with one classifier. The survey's machine was another one.",
		groups: []string{"Running Time(s)"}, memories: memories, unit: " s", bounds: []string{"N/A"}, rules: []string{"LB"},
		least: true},
	survey.DomainIncremental: {title: "Average accuracy of the methods where every task brings new domains",
		text:   accuracyText + "Protocol survey. Blur is across the images of a task, as published (docs/deviations.md).",
		head:   "method",
		groups: []string{survey.Noise, survey.Occlusion, survey.Blur, survey.CORe50NI}, memories: memories, decimals: 1,
		bounds: []string{"Finetune", "Offline"}, rules: []string{"EWC", "ER"}},
	survey.TricksMiniImage: {title: "Average accuracy with each trick on Mini-ImageNet",
		text: accuracyText + "Protocol survey. NCM is the nearest class mean in the runs of the first row.",
		head: "trick", groups: []string{"A-GEM", "ER", "MIR"}, memories: memories, decimals: 1,
		bounds: []string{"Finetune", "Offline", bestRow}, rules: []string{"NA", "LB", bestRow}},
}

// grid builds a measured table.
func (p *paper) grid(label string) *table {
	g, cells := grids[label], p.Cells(label)
	t := &table{Label: label, Title: g.title, Text: g.text, Head: heads([]string{g.head}), Notes: gridNotes(cells),
		Cells: cells, Data: dataOf(cells)}
	if len(g.memories) == 1 {
		t.Head = append(t.Head, heads(nil, g.groups...)...)
	} else {
		t.Groups = []group{{"", 1}}
		for _, name := range g.groups {
			t.Groups = append(t.Groups, group{name, len(g.memories)})
			for _, m := range g.memories {
				t.Head = append(t.Head, column{Text: "M = " + count.Short(m), Full: name + ", M = " + count.Short(m)})
			}
		}
	}
	var names []string
	var lines [][]*Cell // of the names, in the order of the columns
	for _, c := range cells {
		if slices.Contains(names, c.Row) {
			continue
		}
		var line []*Cell
		for _, group := range g.groups {
			for _, m := range g.memories {
				line = append(line, cellAt(cells, c.Row, group, m))
			}
		}
		names, lines = append(names, c.Row), append(lines, line)
	}
	for k, line := range lines {
		r := row{Cells: []cell{words(trickName(names[k]))}, Rule: slices.Contains(g.rules, names[k])}
		for i, c := range line {
			shown := p.shown(g, c)
			shown.Best = g.ranks(c) && g.format(c.Ours.Mean) == g.best(lines, i)
			for k := i + 1; c != nil && (i == 0 || line[i-1] != c) && k < len(line) && line[k] == c; k++ {
				shown.Same = k - i + 1
			}
			r.Cells = append(r.Cells, shown)
		}
		r.Unmeasured = !slices.ContainsFunc(line, func(c *Cell) bool { return c != nil && len(c.Runs) > 0 })
		t.Rows = append(t.Rows, r)
	}
	return t
}

// cellAt is the cell of a row in a column; one that the survey has for all memories, or for all columns, stands in
// each. It is nil where the survey has none.
func cellAt(cells []*Cell, row, column string, memory int) *Cell {
	for _, c := range cells {
		if c.Row == row && (c.Column == column || c.Column == "") && (c.Memory == memory || c.Memory == 0) {
			return c
		}
	}
	return nil
}

// ranks says whether a cell may be the best of its column.
func (g grid) ranks(c *Cell) bool {
	return !g.unranked && c != nil && c.Ours.N > 0 && !slices.Contains(g.bounds, c.Row)
}

// best is the best number of a column as the table prints it. Cells that look the same are all the best.
func (g grid) best(lines [][]*Cell, column int) string {
	best := math.NaN()
	for _, line := range lines {
		if c := line[column]; g.ranks(c) && (math.IsNaN(best) || g.least && c.Ours.Mean < best || !g.least &&
			c.Ours.Mean > best) {
			best = c.Ours.Mean
		}
	}
	return g.format(best)
}

// shown is a cell as the table has it.
func (p *paper) shown(g grid, c *Cell) cell {
	if c == nil {
		return words("–") // the survey has no such cell
	}
	var out cell
	switch {
	case !c.Known:
		out = missing("not in ocl")
	case len(c.Runs) == 0:
		out = missing(notRun)
	case c.Ours.N == 0:
		out = missing("diverged")
		out.Small = []string{runsText(0, len(c.Runs))}
	default:
		out = cell{Text: plusMinus(c.Ours, g.format), Value: c.Ours.Mean, Number: true,
			Small: []string{runsText(c.Ours.N, c.Diverged())}}
	}
	if p.beside {
		out.Small = append(out.Small, c.beside(g)...)
	}
	return out
}

// beside is the published value, and how far ours is from it.
func (c *Cell) beside(g grid) []string {
	lines := []string{"paper " + count.PlusMinus(c.Published.Mean, c.Published.Interval, g.format) + g.unit}
	if c.Ours.N == 0 {
		return lines
	}
	text := count.Signed(c.Difference(), g.decimals)
	if c.Verdict != NoVerdict {
		text += ", " + string(c.Verdict)
	}
	lines = append(lines, text)
	if c.Note != "" {
		lines = append(lines, c.Note)
	}
	return lines
}

// format prints a number of the table.
func (g grid) format(v float64) string { return count.Fixed(v, g.decimals) }

// gridNotes say what a reader of the table should know.
func gridNotes(cells []*Cell) []string {
	counts, runs := CountVerdicts(cells), map[string]bool{}
	all, measured := countMeasured(cells)
	for _, c := range cells {
		for _, r := range c.Runs {
			runs[r.Path] = true
		}
	}
	text := fmt.Sprintf("Measured: %d of %s, by %s", measured, count.Of(all, "cell"), count.Of(len(runs), "run"))
	if counts.Sum() > 0 {
		text += fmt.Sprintf("; %s", counts)
	}
	if repeats := len(cells) - all; repeats > 0 {
		text += fmt.Sprintf(". %s of other tables are not counted again", count.Of(repeats, "cell"))
	}
	return []string{text + "."}
}

// dataOf is a line for each cell, in full precision and in the unit of the table.
func dataOf(cells []*Cell) [][]string {
	records := [][]string{{"label", "row", "column", "memory", "mean", "half_width_95", "runs", "diverged", "seeds",
		"values", "kernels", "settings", "published",
		"published_half_width", "difference", "low_90", "high_90", "margin", "p", "p_holm", "verdict", "note", "nearness",
		"repeats", "seconds", "command", "files",
		"other_values", "other_kernels", "other_files"}}
	for _, c := range cells {
		var seeds []string
		for _, r := range c.Runs {
			seeds = append(seeds, strconv.FormatUint(r.Seed, 10))
		}
		values, kernels, files := listsOf(c.Runs, c.Values)
		otherValues, otherKernels, otherFiles := listsOf(c.Others, c.OtherValues)
		records = append(records, []string{c.Table, c.Row, c.Column, strconv.Itoa(c.Memory), count.Exact(c.Ours.Mean),
			count.Exact(c.Ours.Half), strconv.Itoa(c.Ours.N),
			strconv.Itoa(c.Diverged()), strings.Join(seeds, " "), values, kernels, c.Settings, count.Exact(c.Published.Mean),
			count.Exact(c.Published.Interval),
			count.Exact(c.Difference()), count.Exact(c.Low), count.Exact(c.High), count.Exact(c.Margin), count.Exact(c.P),
			count.Exact(c.PHolm), string(c.Verdict), c.Note, c.Nearness, c.Repeat,
			count.Exact(c.Seconds()), c.Command(), files, otherValues, otherKernels, otherFiles})
	}
	return records
}

// listsOf are what runs measured, their kernels and their files, each a list between spaces.
func listsOf(runs []*Run, measured []float64) (values, kernels, files string) {
	var v, k, f []string
	for i, r := range runs {
		v, k, f = append(v, count.Exact(measured[i])), append(k, strings.ReplaceAll(r.Kernels(), " ", "/")), append(f, r.Path)
	}
	return strings.Join(v, " "), strings.Join(k, " "), strings.Join(f, " ")
}
