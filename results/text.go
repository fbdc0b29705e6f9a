package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ocl/config"
	"ocl/experiment/result"
	"ocl/method"
	"ocl/report/paper"
	"ocl/survey"
)

// specOf reads the short name of runs on CIFAR-100, survey protocol: method, tricks and classifier, as in "er rv/ncm".
func specOf(name string, memory int) paper.Spec {
	name, classifier, ok := strings.Cut(name, "/")
	if !ok {
		classifier = config.ClassifierHead
	}
	name, tricks, _ := strings.Cut(name, " ")
	return paper.Spec{Benchmark: survey.CIFAR100, Protocol: config.ProtocolSurvey, Method: name, Tricks: tricks, Classifier: classifier, Memory: memory}
}

// valuesOf are the accuracies of the runs of a spec by seed, in per cent.
func (p *page) valuesOf(s paper.Spec) map[uint64]float64 {
	runs, _ := p.study.Find(s, func(r *paper.Run) bool { _, ok := r.Metrics(s.Classifier); return ok })
	values := map[uint64]float64{}
	for i, v := range accuracies(runs, s.Classifier) {
		if !math.IsNaN(v) {
			values[runs[i].Seed] = v
		}
	}
	return values
}

func (p *page) estimateOf(name string, memory int) paper.Estimate {
	return estimate(slices.Sorted(maps.Values(p.valuesOf(specOf(name, memory)))))
}

// Mean is the mean accuracy of runs on CIFAR-100, by their short name.
func (p *page) Mean(name string, memory int) (string, error) {
	e := p.estimateOf(name, memory)
	if e.N == 0 {
		return "", fmt.Errorf("no result of %s with a memory of %d is committed", name, memory)
	}
	return fmt.Sprintf("%.1f", e.Mean), nil
}

// Full is Mean in per cent with its interval, or with the number of runs where there are too few for one.
func (p *page) Full(name string, memory int) (string, error) {
	e := p.estimateOf(name, memory)
	switch {
	case e.N == 0:
		return "", fmt.Errorf("no result of %s with a memory of %d is committed", name, memory)
	case e.N == 1:
		return fmt.Sprintf("%.1f %% (one seed)", e.Mean), nil
	case e.N < leastSeeds:
		return fmt.Sprintf("%.1f %% (two seeds)", e.Mean), nil
	}
	return plusMinus(e) + " %", nil
}

// Seeds is the accuracies of runs by seed.
func (p *page) Seeds(name string, memory int) string {
	values := p.valuesOf(specOf(name, memory))
	var list []float64
	for _, seed := range slices.Sorted(maps.Keys(values)) {
		list = append(list, values[seed])
	}
	return joined(list, "%.1f")
}

// Gate compares both gates of GSS: the accuracies, and how much of the memory the first tasks have.
func (p *page) Gate() (string, error) {
	t := tableOf("M", "authors' gate", "text's gate", "paper", "first tasks in the memory: authors'", "text's")
	for _, g := range []struct {
		memory, tasks int
		words         string
	}{{1000, 1, "the first task"}, {5000, 2, "the first two"}, {10000, 4, "the first four"}} {
		spec := specOf("gss", g.memory)
		plain, _ := p.study.Find(spec, func(*paper.Run) bool { return true })
		text, err := p.gated(g.memory)
		if err != nil {
			return "", err
		}
		t.row(thousands(g.memory), joined(accuracies(plain, config.ClassifierHead), "%.1f"), joined(accuracies(text, config.ClassifierHead), "%.1f"),
			strings.Split(p.publishedOf(spec), " ")[0], g.words+" "+firstTasks(plain, g.tasks)+" %", firstTasks(text, g.tasks)+" %")
	}
	return "  " + strings.ReplaceAll(t.String(), "\n", "\n  "), nil // in an entry of a list
}

// gated are the runs of GSS with the text's gate.
func (p *page) gated(memory int) ([]*paper.Run, error) {
	e, err := p.examination(specOf("gss", memory), paper.Change{Key: "method.gss.gate", Value: "sample"})
	return e.runs, err
}

// firstTasks is how much of the memory the first tasks have at the end of each run, in per cent.
func firstTasks(runs []*paper.Run, n int) string {
	var shares []float64
	for _, r := range runs {
		last := r.Held[len(r.Held)-1]
		shares = append(shares, 100*float64(sum(last[:n]))/float64(sum(last)))
	}
	return joined(shares, "%.0f")
}

// Forgotten is the number of tasks on which every run of GSS with the text's gate and 5,000 samples ends with an accuracy of exactly 0.
func (p *page) Forgotten() (string, error) {
	runs, err := p.gated(5000)
	if err != nil {
		return "", err
	}
	least := math.MaxInt
	for _, r := range runs {
		n := 0
		for _, a := range r.Result.Accuracy[len(r.Result.Accuracy)-1] {
			if a != nil && *a == 0 {
				n++
			}
		}
		least = min(least, n)
	}
	return strconv.Itoa(least), nil
}

// Of is a metric of the runs that were tested on all tasks, with a memory of 5,000 or without one: mean and interval in points.
func (p *page) Of(name, key string) (string, error) {
	info, err := method.Lookup(name)
	if err != nil {
		return "", err
	}
	memory := 0
	if info.UsesMemory {
		memory = 5000
	}
	runs, _ := p.study.Find(specOf(name, memory), func(r *paper.Run) bool { return r.Result.Config.Eval == config.EvalAll })
	for _, d := range result.AllMetrics() {
		if d.Key != key {
			continue
		}
		var values []float64
		for _, r := range runs {
			if v := d.Of(r.Result.Metrics); v != nil {
				values = append(values, 100**v)
			}
		}
		return plusMinus(estimate(values)), nil
	}
	return "", fmt.Errorf("there is no metric %s", key)
}

// Span is the least and the most of a metric over methods, in whole points.
func (p *page) Span(key string, names ...string) (string, error) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, name := range names {
		text, err := p.Of(name, key)
		if err != nil {
			return "", err
		}
		first, _, _ := strings.Cut(text, " ")
		v, err := strconv.ParseFloat(first, 64)
		if err != nil {
			return "", fmt.Errorf("%s of %s: %w", key, name, err)
		}
		least, most = math.Min(least, v), math.Max(most, v)
	}
	return fmt.Sprintf("%.0f to %.0f", least, most), nil
}

// lambdaRow is a line of results/cifar100/lambda.csv.
type lambdaRow struct {
	lambda   float64
	diverged bool
	step     int
}

func readLambda(root string) ([]lambdaRow, error) {
	path := filepath.Join(root, "results", "cifar100", "lambda.csv")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(records) < 2 || len(records[0]) < 3 || strings.Join(records[0][:3], ",") != "lambda,outcome,step" {
		return nil, fmt.Errorf("%s: the first line does not begin with lambda,outcome,step, or no line follows", path)
	}
	var rows []lambdaRow
	for i, r := range records[1:] {
		lambda, bad := strconv.ParseFloat(r[0], 64)
		step, alsoBad := strconv.Atoi(r[2])
		if err := errors.Join(bad, alsoBad); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, i+2, err)
		}
		rows = append(rows, lambdaRow{lambda, r[1] == result.Diverged, step})
	}
	return rows, nil
}

// Lambda says from which λ EWC++ diverges at a learning rate of 0.1, and within how many steps of the second task, which begins with step 251.
func (p *page) Lambda() (string, error) {
	rows, err := readLambda(p.root)
	if err != nil {
		return "", err
	}
	const second = 250 // steps of the first task
	least, last := math.Inf(1), 0
	for _, r := range rows {
		if r.diverged {
			least, last = math.Min(least, r.lambda), max(last, r.step-second)
		}
	}
	return fmt.Sprintf("of %g or more, the loss is no longer a finite number within %d steps", least, last), nil
}

// Standard is the table of docs/reproduction/standard-protocol.md: runs of numbers version 1 at a learning rate of 0.1.
func (p *page) Standard() (string, error) {
	t := tableOf("method", "M", "ocl", "seeds", "published", "by whom", "difference", "results")
	for _, row := range []struct {
		method      string
		memory      int
		published   float64
		byWhom, pre string
	}{
		{"finetune", 0, 0, "", "standard-finetune-m0-"}, {"er", 2000, 12.0, "independent study, best of a sweep", "standard-er-m2000-"},
		{"er", 5000, 16.2, "independent study, best of a sweep", "standard-er-m5000-"}, {"er", 5000, 16.1, "the authors' code, same rate, one seed", "standard-er-m5000-"},
		{"er", 10000, 17.5, "independent study, best of a sweep", "standard-er-m10000-"},
	} {
		var values []float64
		var paths []string
		for _, r := range p.runs {
			if strings.HasPrefix(r.file, "cifar100/"+row.pre) {
				values, paths = append(values, 100**r.Metrics.AverageAccuracy), append(paths, filepath.Join(p.root, "results", r.file))
			}
		}
		if len(values) == 0 {
			return "", fmt.Errorf("no result cifar100/%s… is committed", row.pre)
		}
		e := estimate(values)
		theirs, byWhom, difference := dash, dash, ""
		if row.byWhom != "" {
			theirs, byWhom, difference = fmt.Sprintf("%.1f", row.published), row.byWhom, signed(e.Mean-row.published)
		}
		t.row(title(row.method), thousands(row.memory), plusMinus(e), joined(values, "%.1f"), theirs, byWhom, difference, files(p.root, paths))
	}
	return t.String(), nil
}
