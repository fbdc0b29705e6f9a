package paper

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"ocl/config"
	"ocl/run/result"
	"ocl/survey"
)

// specs are those of every cell of every table of a method that ocl has, each once.
func specs() []Spec {
	var all []Spec
	seen := map[Spec]bool{}
	for _, label := range tables {
		for _, v := range survey.Read(label) {
			spec, ok := specOf(label, v)
			if label == survey.TrickTimes && spec.Classifier == config.ClassifierNCM { // a run with that classifier alone
				spec.Classifier, spec.Tricks = config.ClassifierHead, config.ClassifierNCM
			}
			if ok && !seen[spec] {
				seen[spec] = true
				all = append(all, spec)
			}
		}
	}
	return all
}

// studyOf are results that were read from memory.
func studyOf(results ...*result.Result) *Study {
	s := &Study{byKey: map[string][]*Run{}}
	for i, r := range results {
		run := runOf(fmt.Sprint(i), r)
		run.Held = r.Held()
		s.Runs = append(s.Runs, run)
		s.byKey[run.key] = append(s.byKey[run.key], run)
	}
	return s
}

// everyCell is a paper of a study with a run of every cell.
var everyCell = sync.OnceValue(func() *paper {
	var results []*result.Result
	for _, spec := range specs() {
		results = append(results, fake(spec, 1, config.EvalAll))
	}
	p, _ := build(context.Background(), studyOf(results...), Options{Beside: true}) // it fails only when a context ends
	return p
})

// TestEveryCell: of a study that has every cell, every table and figure is written in every format, with nothing
// missing.
func TestEveryCell(t *testing.T) {
	out := t.TempDir()
	p := everyCell()
	w, err := p.write(context.Background(), out)
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, w.Page)
	for _, label := range []string{"tab:dataset", "tab: ns_mini", "tab: summary", "table:nc", "table:trick_motivation",
		"table:trick_cifar", "table:trick_mini",
		"tab:trick_time", "table:ni", "table:hyper", "tab: comment_method", "tab:comment_trick", "fig:nc_5k", "fig:nc_bar",
		"fig:trick_motivation", "fig:trick_cifar",
		"fig:trick_mini", "fig:ni_bar", "fig:cifar_full_mem", "fig:mini_full_mem", "fig:core_full_mem", "fig:noise_allmem",
		"fig:occlusion_allmem", "fig:coreni_allmem"} {
		if !strings.Contains(page, `<section id="`+id(label)+`"`) ||
			!strings.Contains(page, `<span class="label">`+label+`</span>`) {
			t.Errorf("the page has no section for %s", label)
		}
		for _, extension := range []string{".csv", ".md", ".tex"} {
			if text := read(t, filepath.Join(out, "tables", id(label)+extension)); !strings.Contains(text, label) &&
				extension != ".csv" || len(text) < 100 {
				t.Errorf("%s%s has %d bytes, or not its label", id(label), extension, len(text))
			}
		}
		if strings.HasPrefix(label, "fig:") {
			if drawn, _ := filepath.Glob(filepath.Join(out, "figures", id(label)+"-*.svg")); len(drawn) < 3 {
				t.Errorf("%s has %d panels", label, len(drawn))
			}
		}
	}
	if missing := regexp.MustCompile(`(?s)<td class="[wn] miss".{0,200}`).FindAllString(page,
		-1); slices.ContainsFunc(missing, func(s string) bool {
		return !strings.Contains(s, "not in ocl") && !strings.Contains(s, notRun) || strings.Contains(s, "diverged")
	}) {
		t.Errorf("cells are missing: %q", missing)
	}
	known := 0
	for _, label := range tables {
		for _, c := range p.Cells(label) {
			if c.Known && c.Repeat == "" {
				known++
			}
		}
	}
	if w.Runs != known || w.Cells < known {
		t.Errorf("%d of %d cells are measured, want %d", w.Runs, w.Cells, known)
	}
	if n := strings.Count(page, "Not run. "); n > 0 {
		t.Errorf("%d panels are not drawn", n)
	}
	checkFiles(t, out, w.Files)
	compile(t, out)
}

func mustRead(t testing.TB, dir string) *Study {
	t.Helper()
	s, err := Read(t.Context(), []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkFiles parses every file: CSV with lines of one length, SVG as XML with a title and a description, PDF, and the
// page's links.
func checkFiles(t *testing.T, out string, files []string) {
	t.Helper()
	for _, path := range files {
		text := read(t, path)
		switch filepath.Ext(path) {
		case ".csv":
			if records, err := csv.NewReader(strings.NewReader(text)).ReadAll(); err != nil || len(records) < 2 {
				t.Errorf("%s: %d lines, %v", path, len(records), err)
			}
		case ".svg":
			d := xml.NewDecoder(strings.NewReader(text))
			for {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s: %v", path, err)
				}
			}
			if !strings.Contains(text, "<title>") || !strings.Contains(text, "<desc>") {
				t.Errorf("%s has no title or no description", path)
			}
		case ".pdf":
			if !strings.HasPrefix(text, "%PDF-1.") {
				t.Errorf("%s is no PDF", path)
			}
		case ".tex":
			if i := strings.IndexFunc(text, func(r rune) bool { return r > '~' }); i >= 0 {
				t.Errorf("%s has %q, which LaTeX may not know", path, text[max(0, i-20):min(len(text), i+20)])
			}
		case ".html":
			for _, m := range regexp.MustCompile(`href="([^"]+)"`).FindAllStringSubmatch(text, -1) {
				if anchor, is := strings.CutPrefix(m[1], "#"); is && !strings.Contains(text, `id="`+anchor+`"`) {
					t.Errorf("the link %s leads nowhere", m[1])
				} else if _, err := os.Stat(filepath.Join(out, m[1])); !is && err != nil {
					t.Errorf("the link %s leads nowhere: %v", m[1], err)
				}
			}
			if m := regexp.MustCompile(`(?:src|href|url\()\s*=?\s*"?https?:[^"]*`).FindString(text); m != "" {
				t.Errorf("the page needs the network: %s", m)
			}
		}
	}
}

// compile compiles the document of a report, where a LaTeX is installed.
func compile(t *testing.T, out string) {
	t.Helper()
	latex, err := exec.LookPath("pdflatex")
	if err != nil {
		t.Log("the LaTeX files are not compiled: pdflatex is not installed")
		return
	}
	cmd := exec.Command(latex, "-interaction=nonstopmode", "-halt-on-error", "paper.tex")
	cmd.Dir = out
	if log, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("pdflatex: %v\n%s", err, log[max(0, len(log)-2000):])
	}
}

// TestWrite: of folders of results, the same results give the same bytes; the comments are what the options say.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	for i, spec := range specs()[:4] {
		write(t, dir, fmt.Sprintf("%d.json.gz", i), fake(spec, 1, config.EvalAll))
	}
	said := func(*Study) map[Comment][]string {
		return map[Comment][]string{{survey.MethodComments, "ER", "1"}: {"a finding", "another"}}
	}
	var texts [2][]byte
	for i := range texts {
		w, err := Write(t.Context(), []string{dir}, t.TempDir(), Options{Comments: said})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range w.Files {
			texts[i] = append(texts[i], read(t, path)...)
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Error("a second report has other bytes")
	}
	if !bytes.Contains(texts[0], []byte("a finding; another")) {
		t.Error("the table of comments lacks what was said of one")
	}
}

// TestBestIsBold: the best candidate of each column is bold, bounds aside; of times the shortest is the best.
func TestBestIsBold(t *testing.T) {
	for _, tt := range everyCell().Tables {
		g, is := grids[tt.Label]
		if !is || g.unranked {
			continue
		}
		for i := range tt.Head[1:] {
			bold, best := 0, 0.0
			for _, r := range tt.Rows {
				if r.Cells[i+1].Best {
					bold, best = bold+1, r.Cells[i+1].Value
				}
			}
			for _, r := range tt.Rows {
				c := r.Cells[i+1]
				if !c.Number || slices.ContainsFunc(g.bounds, func(row string) bool { return trickName(row) == r.Cells[0].Text }) {
					continue
				}
				if better := c.Value > best != g.least && g.format(c.Value) != g.format(best); better {
					t.Errorf("%s, column %d: %s has %g, which is better than %g", tt.Label, i+1, r.Cells[0].Text, c.Value, best)
				}
			}
			if bold == 0 {
				t.Errorf("%s, column %d has no bold cell", tt.Label, i+1)
			}
		}
	}
}
