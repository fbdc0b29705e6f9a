package main

import (
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// lineOfCells is a line of cells.csv, and what follows from it.
type lineOfCells struct {
	field          map[string]string
	values         []float64
	agrees, former bool
	p, holm        float64
}

// recount works out the verdicts of cells.csv from its values alone, as verdicts.py does, without package paper.
func recount(t *testing.T, path string) (lines []*lineOfCells) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	families := map[string][]*lineOfCells{}
	for _, r := range records[1:] {
		l := &lineOfCells{field: map[string]string{}, p: math.NaN(), holm: 1}
		for i, name := range records[0] {
			l.field[name] = r[i]
		}
		lines = append(lines, l)
		words := strings.Fields(l.field["values"])
		for _, w := range words {
			if v, err := strconv.ParseFloat(w, 64); err == nil && !math.IsNaN(v) {
				l.values = append(l.values, v)
			}
		}
		if l.field["runs"] == "tables" && len(l.values) > 0 || len(words) == 5 {
			family := l.field["runs"] + l.field["table"] + l.field["data"]
			families[family] = append(families[family], l)
		}
	}
	for _, family := range families {
		recountFamily(family)
	}
	return lines
}

func recountFamily(family []*lineOfCells) {
	var tested []*lineOfCells
	for _, l := range family {
		n := float64(len(l.values))
		if n < 3 {
			continue
		}
		mean, half, runs := l.published()
		a2, b2 := stat.Variance(l.values, nil)/n, math.Pow(half/quantile(0.975, runs-1), 2)
		d, c, v := math.Abs(stat.Mean(l.values, nil)-mean), math.Sqrt(a2+b2), (a2+b2)*(a2+b2)/(a2*a2/(n-1)+b2*b2/(runs-1))
		whole := len(l.values) == len(strings.Fields(l.field["values"])) // runs of which one diverged do not agree
		l.agrees = whole && d+quantile(0.95, v)*c < math.Min(2, mean/5)
		l.former = d <= quantile(0.975, n-1)*math.Sqrt(a2)+half && d < 2
		l.p = 2 * distuv.StudentsT{Sigma: 1, Nu: v}.CDF(-d/c)
		tested = append(tested, l)
	}
	slices.SortFunc(tested, func(a, b *lineOfCells) int {
		if a.p < b.p {
			return -1
		}
		return 1
	})
	least := 0.0
	for k, l := range tested {
		least = math.Max(least, float64(len(tested)-k)*l.p)
		l.holm = math.Min(least, 1)
	}
}

func quantile(q, freedom float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(q) }

// published is the published mean with half its interval, and of how many runs.
func (l *lineOfCells) published() (mean, half, runs float64) {
	number := func(name string) float64 { v, _ := strconv.ParseFloat(l.field[name], 64); return v }
	return number("published"), number("published_half"), number("published_n")
}

// TestVerdictsOfCells: a reader who works out the verdicts of cells.csv again gets the same.
func TestVerdictsOfCells(t *testing.T) {
	counts := map[string]int{}
	for _, l := range recount(t, "cells.csv") {
		mean, half, runs := l.published()
		want, confirms := "undecided", l.field["runs"] == "confirmation"
		switch {
		case confirms && len(strings.Fields(l.field["values"])) < 5:
			want = "not run"
		case l.agrees:
			want = "agrees"
		case l.holm <= 0.05:
			want = "differs"
		case !confirms && quantile(0.95, runs-1)*half/quantile(0.975, runs-1) >= math.Min(2, mean/5):
			want = "undecidable"
		case len(l.values) == 0:
			want = "not run"
		}
		if got := l.field["verdict"]; got != want {
			t.Errorf("%s: %s %s %s %s is %q in the file, and %q by its values", l.field["runs"], l.field["table"],
				l.field["row"], l.field["column"], l.field["memory"], got, want)
		}
		if said := l.field["former"] == "agrees"; said != l.former {
			t.Errorf("%s %s %s %s agreed: %v, by its values %v", l.field["table"], l.field["row"], l.field["column"],
				l.field["memory"], said, l.former)
		}
		counts[l.field["runs"]]++
	}
	if counts["tables"] != 275 || counts["confirmation"] != 48 {
		t.Errorf("the cells are %v, want 275 and 48", counts)
	}
}
