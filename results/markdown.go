package main

import (
	"bytes"
	"encoding/csv"
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

// resultName has the parts of the name of a result: folder, method and tricks, memory, changes, seed, and the rest.
var resultName = regexp.MustCompile(`^(.*/)?([^/]+?)-m(\d+)(.*?)-s(\d+)(.*)$`)

// files names results below results/. Those that differ in one part of their name alone are joined as the shell does: er-m5000-s{1,2}.json.gz.
func files(root string, paths []string) string {
	var names [][]variants
	for _, path := range paths {
		name := below(root, path)
		parts := []variants{{name}}
		if m := resultName.FindStringSubmatch(name); m != nil {
			parts = []variants{{m[1]}, {m[2]}, {"-m"}, {m[3]}, {m[4] + "-s"}, {m[5]}, {m[6]}}
		}
		names = append(names, parts)
	}
	for _, part := range []int{5, 3, 1} { // seeds, memories, methods
		names = merged(names, part)
	}
	var list []string
	for _, parts := range names {
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.braced())
		}
		list = append(list, "`"+b.String()+"`")
	}
	if len(list) == 0 {
		return dash
	}
	return strings.Join(list, " ")
}

// below is the path of a result below results/, with slashes.
func below(root, path string) string {
	name, err := filepath.Rel(filepath.Join(root, "results"), path)
	if err != nil {
		name = path
	}
	return filepath.ToSlash(name)
}

// variants are what a part of a name can be.
type variants []string

func (w variants) braced() string {
	if len(w) == 1 {
		return w[0]
	}
	return "{" + strings.Join(w, ",") + "}"
}

// merged joins names that differ in one part alone.
func merged(names [][]variants, part int) (joined [][]variants) {
	for _, n := range names {
		i := slices.IndexFunc(joined, func(other []variants) bool {
			if len(other) != len(n) || part >= len(n) {
				return false
			}
			for k := range n {
				if k != part && !slices.Equal(n[k], other[k]) {
					return false
				}
			}
			return true
		})
		if i < 0 {
			joined = append(joined, slices.Clone(n))
			continue
		}
		for _, w := range n[part] {
			if !slices.Contains(joined[i][part], w) {
				joined[i][part] = append(slices.Clone(joined[i][part]), w)
			}
		}
	}
	return joined
}

// csvOf is a CSV file.
func csvOf(lines [][]string) ([]byte, error) {
	var b bytes.Buffer
	err := csv.NewWriter(&b).WriteAll(lines)
	return b.Bytes(), err
}
