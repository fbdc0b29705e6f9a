package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"ocl/config"
	"ocl/experiment/result"
	"ocl/method"
	"ocl/metric/compare"
	"ocl/report/findings"
	"ocl/report/paper"
	"ocl/survey"
)

// comparisons that the survey makes at each memory: the first is ahead of the second, or (≈) as good. They are one family.
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

// Order is the differences of runs with the same seeds and kernels.
func (p *page) Order() string {
	var family []compare.Question
	for _, c := range comparisons {
		q := compare.Question{First: p.compared(specOf(c.first, c.first0)), Second: p.compared(specOf(c.second, c.last0))}
		if c.alike {
			q.Margin = min(findings.Alike, p.paperOf(specOf(c.first, c.first0))/findings.AlikeOf, p.paperOf(specOf(c.second, c.last0))/findings.AlikeOf)
		}
		family = append(family, q)
	}
	t := tableOf("M", "the survey", "difference, same seeds", "seeds", "p (Holm)", "")
	for i, d := range compare.Family(family) {
		c := comparisons[i]
		sign := ">"
		if c.alike {
			sign = "≈"
		}
		difference := dash
		if d.N() >= compare.LeastSeeds {
			difference = signed(d.Mean)
			if !math.IsNaN(d.Half) {
				difference += fmt.Sprintf(" ± %.1f", d.Half)
			}
		}
		t.row(thousands(c.memory), title(c.first)+" "+sign+" "+title(c.second), difference, strconv.Itoa(d.N()), probability(d.Holm), orderOf(d))
	}
	return t.String()
}

// paperOf is the published mean of a cell of table:nc.
func (p *page) paperOf(s paper.Spec) float64 {
	for _, c := range p.cells[survey.ClassIncremental] {
		if c.Spec == s {
			return c.Published.Mean
		}
	}
	return math.NaN()
}

// compared are the accuracies of the runs of a spec, in per cent.
func (p *page) compared(s paper.Spec) []compare.Value {
	return p.study.Values(s, func(r *paper.Run) bool { _, ok := r.Metrics(s.Classifier); return ok }, func(r *paper.Run) (float64, bool) {
		v := accuracies([]*paper.Run{r}, s.Classifier)[0]
		return v, !math.IsNaN(v)
	})
}

// orderOf says whether the survey's order holds.
func orderOf(d compare.Comparison) string {
	switch d.Verdict {
	case compare.FirstHigher, compare.Alike:
		return "holds"
	case compare.SecondHigher, compare.Apart:
		return "fails"
	}
	if d.Reason == compare.NotSignificant { // the column before it says so
		return "undecided"
	}
	return "undecided: " + string(d.Reason)
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
