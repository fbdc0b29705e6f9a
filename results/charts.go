package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ocl/method"
	"ocl/report"
	"ocl/report/chart"
	"ocl/report/known"
	"ocl/report/paper"
	"ocl/survey"
)

// layout is for a README, which is about 800 pixels wide.
func layout(title string) chart.Layout {
	return chart.Layout{Width: 760, Font: 14, Title: title, Alone: true}
}

// leastSeeds is the least number of seeds that an interval is drawn for: that of two is 12.7 times their distance from the mean.
const leastSeeds = 3

var none = math.NaN()

// memory of the methods that are compared which have one.
const memory = 5000

// methodsChart sets our average accuracies beside the survey's, from the cells of table:nc on CIFAR-100: each method without tricks, those with
// a memory at 5,000 samples. A method that the table has with other memories alone is left out.
func methodsChart(cells []*paper.Cell) ([]byte, error) {
	// The legend is in no method's colour.
	upper := report.LookOf(report.Known{Name: "offline", Bound: report.UpperBound})
	upper.Marker = chart.Circle
	c := chart.Compare{Sides: []chart.Side{{Name: "ocl", Look: upper}, {Name: "the survey", Look: upper}}, Unit: "%"}
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
	if len(c.Rows) == 0 {
		return nil, fmt.Errorf("charts: %s has no cell of %s with M = %d", survey.ClassIncremental, survey.CIFAR100, memory)
	}
	slices.SortStableFunc(c.Rows, func(a, b chart.Row) int { return cmp.Compare(b.Values[1].At, a.Values[1].At) })
	title := "Average accuracy on CIFAR-100, memory of 5,000 images"
	return chart.Draw(&c, layout(title)).Adaptive(title, fmt.Sprintf("Average accuracy after the last of 18 tasks. %s have no memory. Lines are "+
		"95 %% intervals; a mean of fewer than %d seeds has none. %s", listed(free), leastSeeds, described(c.Rows))), nil
}

// listed is names as a sentence has them.
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
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

// valueOf is an estimate with its interval, where there are enough runs for one.
func valueOf(e paper.Estimate) chart.Value {
	half := e.Half
	if e.N < leastSeeds {
		half = none
	}
	return chart.Value{At: e.Mean, Low: e.Mean - half, High: e.Mean + half}
}

// stepChart sets the time of a training step beside PyTorch's.
func stepChart(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(records) < 2 || strings.Join(records[0], ",") != "size,program,median_ms,low_ms,high_ms,machine,revision,command" {
		return nil, fmt.Errorf("charts: %s: the first line is not the expected one, or no line follows", filepath.Base(file))
	}
	look := func(name string) chart.Look { return report.LookOf(report.Known{Name: name, Look: 2}) }
	grey := report.LookOf(report.Known{Name: "finetune", Bound: report.LowerBound})
	c := chart.Compare{Sides: []chart.Side{{Name: "ocl", Look: look("er")}, {Name: "PyTorch", Look: grey}}, Unit: "ms", Bars: true}
	var words, machines []string
	for i, r := range records[1:] {
		size, err := strconv.Atoi(r[0])
		if err != nil {
			return nil, fmt.Errorf("charts: %s: line %d: %w", filepath.Base(file), i+2, err)
		}
		median, err := strconv.ParseFloat(r[2], 64)
		side := slices.IndexFunc(c.Sides, func(s chart.Side) bool { return s.Name == r[1] })
		if err != nil || !(median > 0) || side < 0 {
			return nil, fmt.Errorf("charts: %s: line %d is %q: it has no median, or another program than ocl and PyTorch", filepath.Base(file), i+2, r)
		}
		label := fmt.Sprintf("%d × %d pixels", size, size)
		at := slices.IndexFunc(c.Rows, func(row chart.Row) bool { return row.Label == label })
		if at < 0 {
			at = len(c.Rows)
			c.Rows = append(c.Rows, chart.Row{Label: label, Values: []chart.Value{{At: none}, {At: none}}})
		}
		v := chart.Value{At: median, Low: none, High: none}
		if r[3] != "" || r[4] != "" {
			var low, high error
			v.Low, low = strconv.ParseFloat(r[3], 64)
			v.High, high = strconv.ParseFloat(r[4], 64)
			if low != nil || high != nil || !(v.Low <= median && median <= v.High) {
				return nil, fmt.Errorf("charts: %s: line %d is %q: its median is not between low and high", filepath.Base(file), i+2, r)
			}
		}
		c.Rows[at].Values[side] = v
		words = append(words, fmt.Sprintf("%s, %s: %.1f ms.", label, r[1], median))
		machines = append(machines, r[5])
	}
	slices.Sort(machines)
	title := "Milliseconds for a training step of ER"
	return chart.Draw(&c, layout(title)).Adaptive(title, fmt.Sprintf("Median time of a training step on %s. %s",
		strings.Join(slices.Compact(machines), "; "), strings.Join(words, " "))), nil
}
