package main

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strings"

	"ocl/internal/count"
	"ocl/run/metric"
	"ocl/run/metric/compare"
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
func plusMinus(e metric.Estimate) string {
	switch {
	case e.N == 0:
		return dash
	case e.N < compare.LeastSeeds:
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

// thousands is a size of the memory; none is a dash.
func thousands(n int) string {
	if n == 0 {
		return dash
	}
	return count.Number(n)
}

// joined is the values that are numbers, with one decimal; "–" without one.
func joined(values []float64) string {
	var words []string
	for _, v := range values {
		if !math.IsNaN(v) {
			words = append(words, fmt.Sprintf("%.1f", v))
		}
	}
	if len(words) == 0 {
		return dash
	}
	return strings.Join(words, ", ")
}

// resultName has the parts of the name of a result: what is before its seed, the seed, and the rest.
var resultName = regexp.MustCompile(`^(.*-s)(\d+)(\..*|-.*)$`)

// files names results below results/. Those of one cell that differ in their seed alone are joined as the shell does:
// er-m5000-s{1,2}.json.gz.
func (p *page) files(paths []string) string {
	var names []string
	seeds := map[string][]string{}
	for _, path := range paths {
		name, seed := p.below(path), ""
		if m := resultName.FindStringSubmatch(name); m != nil {
			name, seed = m[1]+"%s"+m[3], m[2]
		}
		if seeds[name] == nil {
			names = append(names, name)
		}
		seeds[name] = append(seeds[name], seed)
	}
	for i, name := range names {
		list := strings.Join(seeds[name], ",")
		if len(seeds[name]) > 1 {
			list = "{" + list + "}"
		}
		names[i] = "`" + strings.Replace(name, "%s", list, 1) + "`"
	}
	if len(names) == 0 {
		return dash
	}
	return strings.Join(names, " ")
}

// below is the path of a result below results/, with slashes.
func (p *page) below(path string) string {
	name, err := filepath.Rel(filepath.Join(p.root, "survey", "results"), path)
	if err != nil {
		name = path
	}
	return filepath.ToSlash(name)
}
