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
	"ocl/metric"
	"ocl/report"
	"ocl/report/chart"
	"ocl/report/known"
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

// methodsChart sets our average accuracies beside the survey's: each method without tricks, on CIFAR-100.
func methodsChart(runs []run) ([]byte, error) {
	table, err := survey.Read(survey.ClassIncremental)
	if err != nil {
		return nil, err
	}
	// The legend is in no method's colour.
	upper := report.LookOf(report.Known{Name: "offline", Bound: report.UpperBound})
	upper.Marker = chart.Circle
	c := chart.Compare{Sides: []chart.Side{{Name: "ocl", Look: upper}, {Name: "the survey", Look: upper}}, Unit: "%"}
	for _, i := range method.Catalogue() {
		capacity := 0
		if i.UsesMemory {
			capacity = memory
		}
		name := strings.TrimSuffix(i.Title, "-Greedy") // of GSS
		published, ok := survey.Find(table, name, survey.CIFAR100, capacity)
		if !ok {
			return nil, fmt.Errorf("charts: %s has no %s with M = %d", survey.ClassIncremental, name, capacity)
		}
		ours := estimate(runs, i.Name, capacity)
		look := report.LookOf(known.Method(i))
		look.Marker = chart.Circle // a cross has no hollow form
		c.Rows = append(c.Rows, chart.Row{Label: name, Look: look, Values: []chart.Value{ours,
			{At: published.Mean, Low: published.Mean - published.Interval, High: published.Mean + published.Interval}}})
	}
	slices.SortStableFunc(c.Rows, func(a, b chart.Row) int { return cmp.Compare(b.Values[1].At, a.Values[1].At) })
	title := "Average accuracy on CIFAR-100, memory of 5,000 images"
	return chart.Draw(&c, layout(title)).Adaptive(title, fmt.Sprintf("Average accuracy after the last of 18 tasks. Finetune, Offline, EWC++ and LwF have no memory. Lines are "+
		"95 %% intervals; a mean of fewer than %d seeds has none. %s", leastSeeds, described(c.Rows))), nil
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

// estimate is the mean over the seeds of the runs of a plain method in per cent, with its interval where there are enough.
func estimate(runs []run, name string, capacity int) chart.Value {
	var values []float64
	for _, r := range runs {
		if strings.HasPrefix(r.file, "cifar100/methods/") && r.Method.Name == name && r.capacity() == capacity && r.Config.Eval == "final" &&
			r.Outcome.State == "finished" {
			values = append(values, 100**r.Metrics.AverageAccuracy)
		}
	}
	if len(values) == 0 {
		return chart.Value{At: none, Low: none, High: none}
	}
	mean, half := metric.Interval(values)
	if len(values) < leastSeeds {
		half = none
	}
	return chart.Value{At: mean, Low: mean - half, High: mean + half}
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
