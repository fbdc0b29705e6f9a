package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ocl/config"
	"ocl/internal/count"
	"ocl/run/metric"
	"ocl/survey"
	"ocl/survey/paper"
)

// sheet is a table of the survey, or its columns of one data set. It is a page and a CSV file of its own.
type sheet struct {
	Name    string // of the page and of the CSV file, below docs/reproduction
	Title   string
	short   string   // in the legend of the chart
	look    int      // in the chart, a number of report.Known
	label   string   // of the survey's table
	columns []string // data sets
	Text    string   // below the title
	cells   []*paper.Cell
}

// sheets are the tables whose cells have verdicts, in the order of the pages. Each has the cells that no sheet before
// it has.
func (p *page) sheets() []sheet {
	const chosen = " Nothing was tuned on these images: learning rates, weight decays and options are those that were\n" +
		"chosen on CIFAR-100 ([settings](../tuning.md#the-settings-of-the-tables)). The survey tuned each run on its own data."
	all := []sheet{
		{Name: "methods-cifar100", Title: "Methods on Split CIFAR-100", short: "CIFAR-100", look: 2,
			label: survey.ClassIncremental, columns: []string{survey.CIFAR100},
			Text: "table:nc, first columns."},
		{Name: "tricks-cifar100", Title: "Tricks on Split CIFAR-100", short: "CIFAR-100, tricks", look: 6,
			label: survey.TricksCIFAR100, columns: []string{survey.CIFAR100},
			Text: "table:trick_cifar. A row NCM is the other classifier of the runs without a trick, so its command is theirs with `--classifiers head,ncm`."},
		{Name: "methods-mini-imagenet", Title: "Methods on Split Mini-ImageNet", short: "Mini-ImageNet", look: 5,
			label: survey.ClassIncremental, columns: []string{survey.MiniImageNet},
			Text: "table:nc." + chosen},
		{Name: "tricks-mini-imagenet", Title: "Tricks on Split Mini-ImageNet", short: "Mini-ImageNet, tricks", look: 3,
			label: survey.TricksMiniImage, columns: []string{survey.MiniImageNet},
			Text: "table:trick_mini." + chosen},
		{Name: "methods-core50-nc", Title: "Methods on CORe50-NC", short: "CORe50-NC", look: 4,
			label: survey.ClassIncremental, columns: []string{survey.CORe50NC},
			Text: "table:nc, last columns."},
		{Name: "ns-mini-imagenet", Title: "Methods on NS-MiniImageNet", short: "NS-MiniImageNet", look: 8,
			label: survey.DomainIncremental, columns: []string{survey.Noise, survey.Occlusion, survey.Blur},
			Text: "table:ni. The tasks have the same classes, so there is no nearest class mean and no trick in the paper." +
				chosen + " Blur as published is across\n" +
				"the images of a task (`stream.shift.blur=cross-image`, [deviations](../deviations.md)). Blurred image by image it has no published value;\n" +
				"[examined](choices.md#examined) has a run."},
		{Name: "methods-core50-ni", Title: "Methods on CORe50-NI", short: "CORe50-NI", look: 1,
			label: survey.DomainIncremental, columns: []string{survey.CORe50NI},
			Text: "table:ni, last columns."},
	}
	for i := range all {
		s := &all[i]
		for _, c := range p.cells[s.label] {
			if c.Repeat == "" && slices.Contains(s.columns, c.Spec.Benchmark) {
				s.cells = append(s.cells, c)
			}
		}
		if s.tricks() {
			slices.SortStableFunc(s.cells, func(a, b *paper.Cell) int { return strings.Compare(a.Column, b.Column) })
		}
	}
	return all
}

// tricks says whether a row of the table is a trick, and a column a method.
func (s *sheet) tricks() bool {
	return s.label == survey.TricksCIFAR100 || s.label == survey.TricksMiniImage
}

// run are the cells with runs.
func (s *sheet) run() []*paper.Cell {
	return slices.DeleteFunc(slices.Clone(s.cells), func(c *paper.Cell) bool { return len(c.Runs) == 0 })
}

// of are the cells of one data set.
func of(cells []*paper.Cell, data string) []*paper.Cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c *paper.Cell) bool { return c.Spec.Benchmark != data })
}

// sheetPage is a sheet with what its page is filled in from.
type sheetPage struct {
	*page
	sheet
}

// Tables are, for each data set with a run, the cells that have runs beside the paper's.
func (s *sheetPage) Tables() string {
	var b strings.Builder
	run := s.run()
	for _, data := range s.columns {
		if len(of(run, data)) == 0 {
			continue
		}
		if len(s.columns) > 1 {
			fmt.Fprintf(&b, "## %s\n\n", data)
		}
		b.WriteString(values(of(run, data)) + "\n\n")
		if n := len(of(s.sheet.cells, data)) - len(of(run, data)); n > 0 {
			fmt.Fprintf(&b, "Not run: %s.\n\n", count.Of(n, "cell"))
		}
	}
	return strings.TrimSuffix(b.String(), "\n\n")
}

// values is a row for each cell: ours, the paper's and the verdict.
func values(cells []*paper.Cell) string {
	byMeans := slices.ContainsFunc(cells, func(c *paper.Cell) bool { return means(c).N > 0 })
	heads := []string{"cell", "ocl (runs)", "by seed", "the paper", "difference", "verdict"}
	if byMeans {
		heads = append(heads, "class means")
	}
	anchored := slices.ContainsFunc(cells, func(c *paper.Cell) bool { return c.Anchored != nil })
	if anchored {
		heads = append(heads, "anchored")
	}
	t := tableOf(append(heads, "notes")...)
	for _, c := range cells {
		ours, difference := plusMinus(c.Ours), dash
		if c.Ours.N > 0 {
			ours += fmt.Sprintf(" (%d)", c.Ours.N)
			difference = count.Signed(c.Difference(), 1)
		}
		if n := c.Diverged(); n > 0 {
			ours += fmt.Sprintf(", %d of %d diverged", n, len(c.Runs))
		}
		verdict := string(c.Verdict)
		if c.Verdict == paper.NotRun && len(c.Runs) > 0 { // some of its runs are there, as the notes say
			verdict = dash
		}
		row := []string{c.Name(), ours, joined(c.Values), published(c.Published), difference, verdict}
		if byMeans {
			row = append(row, plusMinus(means(c)))
		}
		if anchored {
			row = append(row, anchoredText(c.Anchored))
		}
		t.row(append(row, notes(c))...)
	}
	return t.String()
}

// anchoredText is a mean that anchors correct, its difference to the published one, and the verdict.
func anchoredText(a *paper.Anchored) string {
	if a == nil {
		return dash
	}
	return fmt.Sprintf("%.1f, by %s to %s: %s", a.Mean, count.Signed(a.Low, 1), count.Signed(a.High, 1), a.Verdict)
}

// notes are what a reader should know of a cell: how its setting was chosen, what the verdict rests on, and repeats of
// its seeds that do not count.
func notes(c *paper.Cell) string {
	var words []string
	if c.Nearness != "" {
		words = append(words, "**chosen by nearness**")
	}
	if c.Note != "" {
		words = append(words, c.Note)
	}
	var kernels []string
	values, seeds := map[string][]string{}, map[string][]string{}
	for i, r := range c.Others {
		k := r.Kernels()
		if values[k] == nil {
			kernels = append(kernels, k)
		}
		values[k] = append(values[k], fmt.Sprintf("%.1f", c.OtherValues[i]))
		seeds[k] = append(seeds[k], strconv.FormatUint(r.Seed, 10))
	}
	for _, k := range kernels {
		words = append(words, fmt.Sprintf("repeats with %s: %s (seeds %s)", k, strings.Join(values[k], ", "),
			strings.Join(seeds[k], ", ")))
	}
	return strings.Join(words, "; ")
}

// means is the accuracy of the runs of a cell by the nearest class mean; nothing for a cell that is by it itself.
func means(c *paper.Cell) metric.Estimate {
	if c.Spec.Classifier == config.ClassifierNCM {
		return metric.EstimateOf(nil)
	}
	return metric.EstimateOf(accuracies(c.Runs, config.ClassifierNCM))
}

// fields are what the CSV files of cells say of one. runs says of which runs it is made: those of the tables, or those
// of the confirmation.
func (p *page) fields(runs string, c *paper.Cell) []field {
	all := paper.Benchmarks()
	benchmark := all[slices.IndexFunc(all, func(b paper.Benchmark) bool { return b.Name == c.Spec.Benchmark })]
	return []field{
		{"runs", runs},
		{"table", c.Table},
		{"data", c.Spec.Benchmark},
		{"row", c.Row},
		{"column", c.Column},
		{"memory", strconv.Itoa(c.Memory)},
		{"classifier", c.Spec.Classifier},
		{"seeds", each(c.Runs, func(r *paper.Run) string { return strconv.FormatUint(r.Seed, 10) })},
		{"values", each(c.Values, plain)},
		{"ours_mean", count.Exact(c.Ours.Mean)},
		{"ours_half", count.Exact(c.Ours.Half)},
		{"n", strconv.Itoa(c.Ours.N)},
		{"published", count.Exact(c.Published.Mean)},
		{"published_half", count.Exact(c.Published.Interval)},
		{"published_n", strconv.Itoa(benchmark.Runs)},
		{"former", string(c.Former)},
		{"verdict", string(c.Verdict)},
		{"note", c.Note},
		{"chosen_by_nearness", c.Nearness},
		{"kernels", each(c.Runs, func(r *paper.Run) string { return r.Result.Provenance.Kernel })},
		{"others", each(c.OtherValues, plain)},
		{"files", each(c.Files(), p.below)},
		{"seconds_mean", count.Exact(c.Seconds() / float64(len(c.Runs)))},
		{"command", c.Command()},
	}
}

// plain is a number in full precision, NaN of a run that diverged.
func plain(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// each is what there is of each value, with spaces between.
func each[T any](list []T, of func(T) string) string {
	var words []string
	for _, v := range list {
		words = append(words, of(v))
	}
	return strings.Join(words, " ")
}

// cellsCSV has a line for each cell.
func (p *page) cellsCSV(cells, confirmation []*paper.Cell) []byte {
	var lines [][]field
	for _, c := range cells {
		lines = append(lines, p.fields("tables", c))
	}
	for _, c := range confirmation {
		lines = append(lines, p.fields("confirmation", c))
	}
	return csvOf(lines)
}
