package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"ocl/config"
	"ocl/experiment/result"
	"ocl/method"
	"ocl/metric"
	"ocl/report/paper"
)

// comparisons that the survey makes at each memory: the first is ahead of the second, or (≈) as good.
var comparisons = []struct {
	memory        int
	first         string
	alike         bool
	second        string
	first0, last0 int // memories of the two
}{
	{5000, "gdumb", false, "icarl", 5000, 5000}, {5000, "gdumb", false, "er", 5000, 5000}, {5000, "gdumb", false, "mir", 5000, 5000},
	{5000, "gdumb", false, "gss", 5000, 5000}, {5000, "gdumb", false, "agem", 5000, 5000}, {5000, "mir", false, "er", 5000, 5000},
	{5000, "agem", true, "finetune", 5000, 0}, {1000, "icarl", false, "er", 1000, 1000}, {1000, "icarl", false, "gdumb", 1000, 1000},
	{1000, "lwf", true, "er", 0, 1000},
}

// alike is the most by which methods may differ that are as good as each other, in points.
const alike = 1

// Order is the differences of runs with the same seeds.
func (p *page) Order() string {
	t := tableOf("M", "the survey", "difference, same seeds", "")
	for _, c := range comparisons {
		a, b := p.valuesOf(specOf(c.first, c.first0)), p.valuesOf(specOf(c.second, c.last0))
		var x, y []float64
		for _, seed := range slices.Sorted(maps.Keys(a)) {
			if v, ok := b[seed]; ok {
				x, y = append(x, a[seed]), append(y, v)
			}
		}
		sign := ">"
		if c.alike {
			sign = "≈"
		}
		what := title(c.first) + " " + sign + " " + title(c.second)
		if len(x) < leastSeeds {
			t.row(thousands(c.memory), what, dash, fmt.Sprintf("undecided: %d of %d seeds", len(x), leastSeeds))
			continue
		}
		d := metric.Paired(x, y)
		t.row(thousands(c.memory), what, signed(d.Mean)+fmt.Sprintf(" ± %.1f", d.Half), orderOf(c.alike, d.Mean, d.Half))
	}
	return t.String()
}

// orderOf says whether an order holds: first > second by whether 0 is outside the interval, first ≈ second by whether the interval is within
// or outside one point to either side.
func orderOf(alikeIs bool, mean, half float64) string {
	switch {
	case alikeIs && math.Abs(mean)+half <= alike, !alikeIs && mean > half:
		return "holds"
	case alikeIs && math.Abs(mean)-half > alike, !alikeIs && mean < -half:
		return "fails"
	}
	return "undecided"
}

// title is what the survey calls a method.
func title(name string) string {
	info, err := method.Lookup(name)
	if err != nil {
		return name
	}
	return strings.TrimSuffix(info.Title, "-Greedy")
}

// Metrics is a row for each method that was tested on all tasks.
func (p *page) Metrics() string {
	t := tableOf("data", "method", "M", "seeds", "forgetting", "learning accuracy", "BWT⁺", "FWT", "results")
	for _, b := range paper.Benchmarks() {
		for _, info := range method.Catalogue() {
			for _, memory := range []int{0, 1000, 5000, 10000} {
				if info.UsesMemory != (memory > 0) {
					continue
				}
				s := specOf(info.Name, memory)
				s.Benchmark = b.Name
				runs, _ := p.study.Find(s, func(r *paper.Run) bool {
					return r.Result.Config.Eval == config.EvalAll && r.Result.Outcome.State == result.Finished
				})
				if len(runs) == 0 {
					continue
				}
				row := []string{b.Name, title(info.Name), thousands(memory), strconv.Itoa(len(runs))}
				for _, of := range []func(result.Metrics) *float64{
					func(m result.Metrics) *float64 { return m.AverageForgetting }, func(m result.Metrics) *float64 { return m.LearningAccuracy },
					func(m result.Metrics) *float64 { return m.BWTPlus }, func(m result.Metrics) *float64 { return m.FWT },
				} {
					var values []float64
					for _, r := range runs {
						if v := of(r.Result.Metrics); v != nil {
							values = append(values, 100**v)
						}
					}
					row = append(row, plusMinus(estimate(values)))
				}
				t.row(append(row, files(p.root, pathsOf(runs)))...)
			}
		}
	}
	return t.String()
}
