package main

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ocl/metric"
	"ocl/report/paper"
	"ocl/survey"
)

// table is a Markdown table.
type table struct{ b strings.Builder }

func tableOf(columns ...string) *table {
	t := &table{}
	t.row(columns...)
	t.b.WriteString("|" + strings.Repeat("---|", len(columns)) + "\n")
	return t
}

func (t *table) row(values ...string) { t.b.WriteString("| " + strings.Join(values, " | ") + " |\n") }

// String is the table without its last line break.
func (t *table) String() string { return strings.TrimSuffix(t.b.String(), "\n") }

const dash = "–"

// plusMinus is a mean with its interval, which one of fewer than three runs does not have.
func plusMinus(e paper.Estimate) string {
	switch {
	case e.N == 0:
		return dash
	case e.N < leastSeeds:
		return fmt.Sprintf("%.1f", e.Mean)
	}
	return fmt.Sprintf("%.1f ± %.1f", e.Mean, e.Half)
}

func published(v survey.Value) string {
	if math.IsNaN(v.Interval) {
		return fmt.Sprintf("%.0f", v.Mean)
	}
	return fmt.Sprintf("%.1f ± %.1f", v.Mean, v.Interval)
}

// signed is a difference with its sign, never −0.0.
func signed(v float64) string {
	return strings.ReplaceAll(fmt.Sprintf("%+.1f", math.Round(v*10)/10+0), "-", "−")
}

// thousands is a size of the memory; none is a dash.
func thousands(n int) string {
	switch {
	case n == 0:
		return dash
	case n < 1000:
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// joined is the values that are numbers, "–" without one.
func joined(values []float64, format string) string {
	var words []string
	for _, v := range values {
		if !math.IsNaN(v) {
			words = append(words, fmt.Sprintf(format, v))
		}
	}
	if len(words) == 0 {
		return dash
	}
	return strings.Join(words, ", ")
}

// estimate is the mean of those values that are numbers.
func estimate(values []float64) paper.Estimate {
	v := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	e := paper.Estimate{Mean: none, Half: none, N: len(v)}
	if len(v) > 0 {
		e.Mean, e.Half = metric.Interval(v)
	}
	return e
}

var seedWord = regexp.MustCompile(`-s(\d+)`)

// files names results below results/, those that differ in their seed alone as the shell does: er-m5000-s{1,2}.json.gz.
func files(root string, paths []string) string {
	seeds := map[string][]string{}
	var order []string
	for _, path := range paths {
		name, err := filepath.Rel(filepath.Join(root, "results"), path)
		if err != nil {
			name = path
		}
		name = filepath.ToSlash(name)
		m := seedWord.FindStringSubmatchIndex(name)
		form := name
		if m != nil {
			form = name[:m[2]] + "*" + name[m[3]:]
			if seeds[form] = append(seeds[form], name[m[2]:m[3]]); len(seeds[form]) == 1 {
				order = append(order, form)
			}
			continue
		}
		order = append(order, form)
	}
	for i, form := range order {
		list := strings.Join(seeds[form], ",")
		if len(seeds[form]) > 1 {
			list = "{" + list + "}"
		}
		order[i] = "`" + strings.Replace(form, "*", list, 1) + "`"
	}
	if len(order) == 0 {
		return dash
	}
	return strings.Join(order, " ")
}
