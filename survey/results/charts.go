package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/learn/method"
	"ocl/run/metric"
	"ocl/run/metric/compare"
	"ocl/survey"
	"ocl/survey/paper"
	"ocl/view/chart"
	"ocl/view/known"
	"ocl/view/report"
)

// layout is for a README, which is about 800 pixels wide.
func layout(title string) chart.Layout {
	return chart.Layout{Width: 760, Font: 14, Title: title, Margin: 14, Alone: true}
}

var none = math.NaN()

// memory of the methods that are compared which have one.
const memory = 5000

// methodsChart sets our average accuracies beside the survey's, from the cells of table:nc on CIFAR-100: each method
// without tricks, those with a memory at 5,000 samples. A method that the table has with other memories alone is left
// out.
func methodsChart(cells []*paper.Cell) ([]byte, error) {
	// The legend is in no method's colour.
	upper := report.LookOf(report.Known{Name: "offline", Bound: report.UpperBound})
	upper.Marker = chart.Circle
	c := chart.Compare{Groups: []chart.Group{{Name: "ocl", Look: upper}, {Name: "the survey", Look: upper}}, Unit: "%"}
	var free []string
	for _, cell := range cells {
		if !cell.Known || cell.Column != survey.CIFAR100 || cell.Memory != 0 && cell.Memory != memory {
			continue
		}
		info, err := method.Lookup(cell.Spec.Method)
		if err != nil {
			return nil, err
		}
		if cell.Memory == 0 {
			free = append(free, cell.Row)
		}
		look := report.LookOf(known.Method(info))
		look.Marker = chart.Circle // a cross has no hollow form
		theirs := cell.Published
		c.Rows = append(c.Rows, chart.Row{Label: cell.Row, Look: look, Values: []chart.Value{valueOf(cell.Ours),
			{At: theirs.Mean, Low: theirs.Mean - theirs.Interval, High: theirs.Mean + theirs.Interval}}})
	}
	slices.SortStableFunc(c.Rows, func(a, b chart.Row) int { return cmp.Compare(b.Values[1].At, a.Values[1].At) })
	title := "Average accuracy on CIFAR-100, memory of 5,000 images"
	return chart.Draw(&c, layout(title)).Adaptive(title,
		fmt.Sprintf("Average accuracy after the last of 18 tasks. %s have no memory. Lines are "+
			"95 %% intervals; a mean of fewer than %d seeds has none. %s", count.And(free), compare.LeastSeeds,
			described(c.Rows))), nil
}

// described says in words what the rows show.
func described(rows []chart.Row) string {
	var words []string
	for _, r := range rows {
		ours := "not run"
		if !math.IsNaN(r.Values[0].At) {
			ours = fmt.Sprintf("%.1f %%", r.Values[0].At)
		}
		words = append(words, fmt.Sprintf("%s: ocl %s, the survey %.1f %%.", r.Label, ours, r.Values[1].At))
	}
	return strings.Join(words, " ")
}

// valueOf is an estimate with its interval, where there are enough runs for one: that of two seeds is 12.7 times their
// distance from the mean.
func valueOf(e metric.Estimate) chart.Value {
	half := e.Half
	if e.N < compare.LeastSeeds {
		half = none
	}
	return chart.Value{At: e.Mean, Low: e.Mean - half, High: e.Mean + half}
}

// stepChart sets the time of a training step beside PyTorch's.
func stepChart(file string) ([]byte, error) {
	f, _, err := input.Open(file, input.Want{Most: limit.Config})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(records) < 2 || strings.Join(records[0],
		",") != "size,program,median_ms,machine,revision,command" {
		return nil, fmt.Errorf("charts: %s: the first line is not the expected one, or no line follows", file)
	}
	grey := report.LookOf(report.Known{Name: "finetune", Bound: report.LowerBound})
	c := chart.Compare{Groups: []chart.Group{{Name: "ocl", Look: report.LookOf(report.Known{Name: "er", Look: 2})},
		{Name: "PyTorch", Look: grey}}, Unit: "ms", Bars: true}
	var words, machines []string
	for i, r := range records[1:] {
		at, bad := strconv.ParseFloat(r[2], 64)
		group := slices.IndexFunc(c.Groups, func(s chart.Group) bool { return s.Name == r[1] })
		if bad != nil || group < 0 {
			return nil, fmt.Errorf("charts: %s: line %d is %q: a time is not a number, or the program is neither ocl nor PyTorch",
				file, i+2, r)
		}
		label := r[0] + " × " + r[0] + " pixels"
		row := slices.IndexFunc(c.Rows, func(row chart.Row) bool { return row.Label == label })
		if row < 0 {
			row = len(c.Rows)
			c.Rows = append(c.Rows, chart.Row{Label: label, Values: []chart.Value{{At: none}, {At: none}}})
		}
		c.Rows[row].Values[group] = chart.Value{At: at, Low: none, High: none}
		words = append(words, fmt.Sprintf("%s, %s: %.1f ms.", label, r[1], at))
		machines = append(machines, r[3])
	}
	slices.Sort(machines)
	title := "Milliseconds for a training step of ER"
	return chart.Draw(&c, layout(title)).Adaptive(title, fmt.Sprintf("Median time of a training step on %s. %s",
		strings.Join(slices.Compact(machines), "; "), strings.Join(words, " "))), nil
}

// agreementChart sets every cell with runs against the published value, in one colour for each table and data set.
func agreementChart(p *page) []byte {
	var parts []paper.Part
	for _, s := range p.sheets() {
		parts = append(parts, paper.Part{Name: s.short, Look: s.look, Cells: s.cells})
	}
	c, cells := paper.Scatter(parts)
	title := "Average accuracy of ocl against the survey's"
	l := chart.Layout{Width: 720, Height: 700, Font: 13, Title: title, Margin: 14, Alone: true}
	return chart.Draw(c, l).Adaptive(title,
		fmt.Sprintf("%d cells of the survey's tables, without Offline. The dashed line is where both are equal. Lines are 95 %% intervals; a mean of fewer than %d seeds has none.",
			len(cells), compare.LeastSeeds))
}
