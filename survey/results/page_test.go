package main

import (
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ocl/run/result"
	"ocl/survey"
	"ocl/survey/paper"
)

// TestWordsOfPages: numbers and names of files as the pages have them.
func TestWordsOfPages(t *testing.T) {
	path := func(name string) string { return filepath.Join("root", "survey", "results", filepath.FromSlash(name)) }
	for got, want := range map[string]string{
		thousands(0): "–", thousands(500): "500", thousands(10000): "10,000",
		joined([]float64{1, math.NaN(), 2.25}): "1.0, 2.2", joined([]float64{math.NaN()}): "–",
		(&page{root: "root"}).files(nil): "–",
		(&page{root: "root"}).files([]string{path("a/er-m5-s1.json.gz"), path("a/er-m5-s2.json.gz"),
			path("b/er-m5-s3-all.json.gz"), path("c.csv")}): "`a/er-m5-s{1,2}.json.gz` `b/er-m5-s3-all.json.gz` `c.csv`",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// committedPage has the committed results.
var committedPage = sync.OnceValues(func() (*page, error) {
	runs, err := allRuns()
	if err != nil {
		return nil, err
	}
	return openPage("../..", runs)
})

// TestPages: each cell with a run is on the page of its table, and among those that differ if it does. The CSV files
// have all of them.
func TestPages(t *testing.T) {
	p, err := committedPage()
	if err != nil {
		t.Fatal(err)
	}
	first, second := p.cells[survey.ClassIncremental][0], p.confirmation.cells[0]
	defer func(a, b paper.Verdict) { first.Verdict, second.Verdict = a, b }(first.Verdict, second.Verdict)
	first.Verdict, second.Verdict = paper.Differs, paper.Differs
	files, err := p.pages()
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for _, f := range files {
		text[f.name] = string(f.text)
	}
	cells, differ := 0, 0
	for _, s := range append(p.sheets(), p.confirmation) {
		for _, c := range s.cells {
			if len(c.Runs) > 0 && s.Name != p.confirmation.Name &&
				!strings.Contains(text["docs/reproduction/"+s.Name+".md"], "\n| "+nameOf(c)+" | ") {
				t.Errorf("the page of %s does not have %s", s.Title, nameOf(c))
			}
			if c.Verdict == paper.Differs {
				if differ++; !strings.Contains(text["docs/reproduction.md"], "\n| "+nameOf(c)+" | "+s.Title+" | ") {
					t.Errorf("docs/reproduction.md does not say that %s of %s differs", nameOf(c), s.Title)
				}
			}
		}
		cells += len(s.cells)
		if name := "docs/reproduction/" + s.Name + ".csv"; text[name] != "" &&
			strings.Count(text[name], "\n") != 1+len(s.cells) {
			t.Errorf("%s does not have a line for each of %d cells", name, len(s.cells))
		}
	}
	if differ < 2 {
		t.Errorf("%d cells differ, want at least the two that the test lets differ", differ)
	}
	if n := strings.Count(text["survey/results/cells.csv"], "\n"); n != 1+cells || cells < 275 {
		t.Errorf("cells.csv has %d lines, want a head and %d cells", n, cells)
	}
}

// TestWholeInWords: what the cells of the confirmation show together, when all of them have their runs.
func TestWholeInWords(t *testing.T) {
	p := &page{}
	add := func(method string, published float64, values ...float64) {
		spec := paper.Spec{Benchmark: survey.CIFAR100, Method: method, Classifier: "head"}
		c := &paper.Cell{Spec: spec, Memory: 5000, Values: values,
			Published: survey.Value{Mean: published, Interval: published / 50}}
		for i := range values {
			c.Runs = append(c.Runs, &paper.Run{Seed: 4 + uint64(i),
				Result: &result.Result{Outcome: result.Outcome{State: result.Finished}}})
		}
		p.confirmation.cells = append(p.confirmation.cells, c)
	}
	add("er", 17, 17.1, 17, 17.2, 17.1)
	if got := p.Whole(); !strings.Contains(got, "is judged when all") {
		t.Errorf("with four runs: %q", got)
	}
	p.confirmation.cells = nil
	add("er", 17, 17.1, 17, 17.2, 17.1, 16.9)
	add("gss", 10, 10, 10.1, 9.9, 10.2, 10)
	got := p.Whole()
	for _, want := range []string{"of 2 cells are +0.4 % from", "They are equal within a tenth.",
		"Of 1 pair of methods", "1 have it here, 0"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
}
