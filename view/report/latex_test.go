package report

import (
	"bytes"
	"compress/zlib"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestLaTeX: a report for a paper has each figure in the widths of one and two columns, with fonts inside, texts of at
// least 7 points and no title; each table and figure as LaTeX, with seeds, interval and command in the caption, and a
// document that compiles.
func TestLaTeX(t *testing.T) {
	dir := t.TempDir()
	fakes := twelveFakes()
	for i := range fakes {
		if fakes[i].method == "agem" {
			fakes[i].title = `A_GEM & 50 % #{x}\y`
		}
		fakes[i].errors = true
	}
	save(t, dir, fakes)
	w, err := Write(t.Context(), []string{dir}, "", Options{Known: catalogued, LaTeX: true})
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int{}
	for _, path := range w.Files {
		name, ok := strings.CutSuffix(filepath.Base(path), ".pdf")
		if width := map[bool]float64{strings.HasSuffix(name, "-1col"): 3.25 * 72,
			strings.HasSuffix(name, "-2col"): 6.75 * 72}[true]; ok && width > 0 {
			checkPrint(t, path, width)
			sizes[name[len(name)-4:]]++
		}
	}
	if sizes["1col"] < 8 || sizes["1col"] != sizes["2col"] {
		t.Errorf("there are figures %v of one and two columns, want as many of both", sizes)
	}
	for name, wants := range map[string][]string{
		"tables/accuracy.tex": {`\includegraphics{figures/accuracy-1col.pdf}`, `\label{fig:accuracy}`,
			"Average accuracy after each task.", "Seeds 1 and 2. Command: ", `\texttt{ocl report -{}-latex `},
		"tables/ranking.tex": {"Mean over all tasks of the accuracy", "means of 2 runs for each method"},
		"tables/results.tex": {`\begin{table*}`, `\toprule`, "A\\_GEM \\& 50 \\% \\#\\{x\\}\\textbackslash{}y",
			`95 \% Student-t intervals`, "In every row: ", "Seeds 1 and 2"},
		"tables/signals.tex": {`\begin{table}`},
		"paper.tex": {`\input{tables/accuracy.tex}`, `\input{tables/results.tex}`,
			`\input{tables/matrix-er-m200.tex}`},
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %q:\n%s", name, want, text)
			}
		}
	}
	latex, err := exec.LookPath("pdflatex")
	if err != nil {
		t.Skip("the LaTeX files are not compiled: pdflatex is not installed")
	}
	cmd := exec.CommandContext(t.Context(), latex, "-interaction=nonstopmode", "-halt-on-error", "paper.tex")
	cmd.Dir = dir
	if log, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("pdflatex: %v\n%s", err, log[max(0, len(log)-2000):])
	}
}

// checkPrint checks a figure for a paper: its width in points, its fonts and the sizes of its texts.
func checkPrint(t *testing.T, path string, width float64) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	box := regexp.MustCompile(`/MediaBox \[0 0 ([0-9.]+) `).FindSubmatch(text)
	if box == nil {
		t.Fatalf("%s has no page", path)
	}
	if got, _ := strconv.ParseFloat(string(box[1]), 64); got > width+0.01 || got < width-0.01 &&
		!strings.Contains(path, "matrix") && !strings.Contains(path, "class") && !strings.Contains(path, "memory") &&
		!strings.Contains(path, "confusion") {
		t.Errorf("%s is %s points wide, want %g", path, box[1], width)
	}
	if !bytes.Contains(text, []byte("/FontFile2")) {
		t.Errorf("%s has a font that is not in it", path)
	}
	var sizes []float64
	for _, m := range regexp.MustCompile(`(?s)stream\r?\n(.*?)\r?\nendstream`).FindAllSubmatch(text, -1) {
		r, err := zlib.NewReader(bytes.NewReader(m[1]))
		if err != nil {
			continue
		}
		page, _ := io.ReadAll(r)
		for _, f := range regexp.MustCompile(`/F\w+ ([0-9.]+) Tf`).FindAllSubmatch(page, -1) {
			size, _ := strconv.ParseFloat(string(f[1]), 64)
			sizes = append(sizes, size)
		}
	}
	if len(sizes) == 0 || slices.Min(sizes) < 7 || slices.Max(sizes) > 8.25 {
		t.Errorf("%s has texts of %v points, want 7 to 8.25", path, sizes)
	}
}
