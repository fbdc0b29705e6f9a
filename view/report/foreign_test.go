package report

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/run/result"
)

// alien is a foreign result that could be of the stream of the fakes.
func alien(program string, seed uint64, tasks int, level float64) *result.Result {
	memory := 500
	r := &result.Result{
		Format: result.Format, Version: result.Version,
		Foreign: &result.Foreign{Program: program, File: "er.csv", Digest: "sha256:" + strings.Repeat("0d", 32), Seed: seed,
			Memory: &memory},
		Method:  result.Method{Name: "er", Title: "ER"},
		Stream:  result.Stream{Name: "glyphs", Scenario: "class-incremental", Protocol: "standard"},
		Outcome: result.Outcome{State: result.Finished},
	}
	for i := range tasks {
		r.Stream.Tasks = append(r.Stream.Tasks, result.Task{Index: i})
		row := make([]*float64, tasks)
		for j := range i + 1 {
			v := level - 0.01*float64(i-j)
			row[j] = &v
		}
		r.Accuracy = append(r.Accuracy, row)
	}
	r.Metrics = result.MetricsOf(r.Accuracy, false, nil)
	return r
}

// withAliens is the study of an experiment with foreign results, which come first.
func withAliens(aliens []*result.Result, fakes ...fake) *study {
	var runs []*run
	for _, r := range slices.Concat(aliens, results(fakes)) {
		runs = append(runs, newRun(r, "x"))
	}
	return studyOf(runs, nil)
}

// TestForeignBesideOurs: a foreign result stands in the stream of ours that it says, as a row of its own that is marked
// everywhere, with a look of its own, averaged over its own seeds alone.
func TestForeignBesideOurs(t *testing.T) {
	st := withAliens([]*result.Result{alien("avalanche", 1, 10, 0.5), alien("avalanche", 2, 10, 0.6),
		alien("my code", 1, 10, 0.4)}, pair(2)...)
	if len(st.settings) != 1 || len(st.rows) != 4 {
		t.Fatalf("there are %d settings and %d rows, want 1 and 4", len(st.settings), len(st.rows))
	}
	looks, ours := map[string]bool{}, 0
	for _, g := range st.rows {
		looks[g.style.Class] = true
		if !g.foreign() {
			ours++
			if len(g.runs) != 2 || strings.Contains(g.Label, "foreign") {
				t.Errorf("%s has %d runs", g.Label, len(g.runs))
			}
			continue
		}
		if !strings.Contains(g.Label, "ER (foreign: ") || !strings.Contains(g.slug, "er-foreign-") {
			t.Errorf("a foreign row is called %q, its files %q", g.Label, g.slug)
		}
		if n := g.metricOf(averageAccuracy).N; strings.Contains(g.Label, "avalanche") != (n == 2) {
			t.Errorf("%s is a mean of %d runs", g.Label, n)
		}
	}
	if ours != 2 || len(looks) != 4 {
		t.Errorf("%d rows are ours and %d looks are used, want 2 and 4", ours, len(looks))
	}
	p, figures, _ := newPage(st)
	html := render(p)
	if err := wellFormed(string(html)); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"Measured by other programs and imported: ER (foreign: avalanche), memory 500 (er.csv); ER (foreign: my code), memory 500 (er.csv). ocl has not run this",
		"foreign: my code<td"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, f := range figures {
		if strings.HasPrefix(f.ID, "time") && strings.Contains(string(f.table().csvBytes()), "foreign") {
			t.Error("the figure of times has a foreign row, whose time nobody knows")
		}
	}
	for _, r := range p.Recipes {
		if strings.Contains(r.What, "foreign") {
			t.Errorf("a foreign run is said to be repeatable: %s", r.Command)
		}
	}
	for _, x := range st.settings[0].pairings() {
		if x.first.foreign() || x.second.foreign() {
			t.Errorf("%s and %s are in a paired test, but nobody knows whether their seeds mean the same", x.first.Label,
				x.second.Label)
		}
	}
	if len(st.warnings) > 0 {
		t.Errorf("there are warnings: %v", st.warnings)
	}
	for _, s := range st.summaries() {
		if is := s.Foreign != nil; is != strings.Contains(s.Label, "foreign") || is && s.Seconds.Mean != nil {
			t.Errorf("the summary of %s is %+v", s.Label, s)
		}
	}
}

// hostile is a name that a browser, a reader of Markdown, a spreadsheet and a terminal would each obey.
const hostile = "=cmd|' /C calc'!A0<script>alert(1)</script>`x`\x1b[31m\u202e\u200b[a](javascript:b)"

// TestHostileNames: names that other programs chose are text in every file of a report.
func TestHostileNames(t *testing.T) {
	r := alien(hostile, 1, 3, 0.5)
	r.Method.Name, r.Method.Title, r.Foreign.File = hostile, hostile, hostile
	r.Stream.Notes = []string{hostile}
	for i := range r.Stream.Tasks {
		r.Stream.Tasks[i].Name = hostile
	}
	st := withAliens([]*result.Result{r, alien("avalanche", 1, 10, 0.5)}, pair(2)...)
	st.warnings = append(st.warnings, hostile)
	dir := t.TempDir()
	w := &Folder{Context: t.Context(), Path: dir}
	w.Make("tables", "figures")
	p, figures, undrawn := newPage(st)
	tables := append(p.tables(), undrawn...)
	for _, f := range figures {
		f.write(w)
		tables = append(tables, f.table())
	}
	for _, x := range tables {
		w.Write("tables/"+x.ID+".csv", x.csvBytes())
		w.Write("tables/"+x.ID+".md", x.markdown())
	}
	w.Write("report.html", render(p))
	if w.Err != nil {
		t.Fatal(w.Err)
	}
	seen := map[string]int{}
	for _, path := range w.Files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		kind := filepath.Ext(path)
		if strings.Contains(string(text), "alert(1)") {
			seen[kind]++
		}
		if kind == ".pdf" || kind == ".png" {
			continue
		}
		if strings.ContainsAny(string(text), "\x1b\u202e\u200b") {
			t.Errorf("%s has characters that do not show", path)
		}
		switch kind {
		case ".csv":
			records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			for _, cell := range slices.Concat(records...) {
				if strings.HasPrefix(cell, "=") {
					t.Errorf("%s has the formula %q", path, cell)
				}
			}
		case ".md":
			if strings.Contains(string(text), "<script") || strings.Contains(string(text), "[a](") ||
				strings.Contains(strings.ReplaceAll(string(text), "\\`", ""), "`x") {
				t.Errorf("%s has markup:\n%s", path, text)
			}
		case ".html":
			if strings.Contains(string(text), "<script>alert") {
				t.Errorf("%s has the script", path)
			}
		}
	}
	for _, kind := range []string{".csv", ".md", ".html", ".svg"} {
		if seen[kind] == 0 {
			t.Errorf("the name is in no file of the kind %s, so nothing was tested: %v", kind, seen)
		}
	}
}

// TestForeignElsewhere: a foreign result of another stream, or one that could be of several, stands by itself.
func TestForeignElsewhere(t *testing.T) {
	for _, c := range []struct {
		name     string
		alien    *result.Result
		fakes    []fake
		settings int
		warnings int
	}{
		{"other number of tasks", alien("p", 1, 5, 0.5), pair(1), 2, 0},
		{"alone", alien("p", 1, 5, 0.5), nil, 1, 0},
		{"two streams", alien("p", 1, 10, 0.5), append(pair(1),
			fake{method: "er", title: "ER", memory: 500, seed: 1, perTask: 5, level: 0.5, decay: 0.9}), 3, 1},
	} {
		st := withAliens([]*result.Result{c.alien}, c.fakes...)
		if len(st.settings) != c.settings || len(st.warnings) != c.warnings {
			t.Errorf("%s: %d settings and the warnings %v, want %d and %d", c.name, len(st.settings), st.warnings, c.settings,
				c.warnings)
		}
		p, _, _ := newPage(st)
		html := render(p)
		if err := wellFormed(string(html)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if m := noNumber.FindString(string(html)); m != "" {
			t.Errorf("%s: the page shows %q", c.name, m)
		}
		if strings.Contains(string(html), "0 × 0 pixels") {
			t.Errorf("%s: the page claims to know the images", c.name)
		}
	}
	st := withAliens([]*result.Result{alien("p", 1, 10, 0.5)},
		append(pair(1), fake{method: "er", title: "ER", memory: 500, seed: 1, perTask: 5, level: 0.5, decay: 0.9})...)
	if !strings.Contains(st.warnings[0], "could be of 2 streams") ||
		!strings.HasSuffix(st.settings[2].Name, "measured by other programs") {
		t.Errorf("warning %q, setting %q", st.warnings[0], st.settings[2].Name)
	}
}
