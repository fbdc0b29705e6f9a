package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ocl/metric/compare"
	"ocl/report/findings"
	"ocl/report/paper"
	"ocl/survey"
)

// TestCommandsOfCells: what the commands of a table share stands above it, and a row with another value says it again.
func TestCommandsOfCells(t *testing.T) {
	commands := []string{
		"ocl run --data d --eval final --method er --memory 5 --lr 0.1 --runs 15",
		"ocl run --data d --eval seen --method er --memory 7 --lr 0.1 --set a=1 --runs 15",
		"ocl run --data d --eval final --method er --memory 9 --lr 0.1 --runs 15",
	}
	common := shared(commands)
	if want := []string{"ocl run", "data d", "eval final", "runs 15"}; !slices.Equal(common, want) {
		t.Errorf("they share %q, want %q", common, want)
	}
	if got, want := own(commands[1], common), "`--eval seen --method er --memory 7 --lr 0.1 --set a=1`"; got != want {
		t.Errorf("the second row has %s, want %s", got, want)
	}
}

// TestWordsOfPages: numbers and names of files as the pages have them.
func TestWordsOfPages(t *testing.T) {
	path := func(name string) string { return filepath.Join("root", "results", filepath.FromSlash(name)) }
	for got, want := range map[string]string{
		signed(-0.04): "+0.0", signed(-1.26): "−1.3", signed(2): "+2.0",
		thousands(0): "–", thousands(500): "500", thousands(10000): "10,000",
		joined([]float64{1, math.NaN(), 2.25}, "%.1f"): "1.0, 2.2", joined([]float64{math.NaN()}, "%.1f"): "–",
		files("root", nil): "–",
		files("root", []string{path("a/er-m5-s1.json.gz"), path("a/er-m5-s2.json.gz"), path("b/er-m5-s3-all.json.gz")}):                                                                  "`a/er-m5-s{1,2}.json.gz` `b/er-m5-s3-all.json.gz`",
		files("root", []string{path("a/er-m1-s1.json.gz"), path("a/er-m5-s1.json.gz"), path("a/mir+rv-m1-s1.json.gz"), path("a/mir+rv-m5-s1.json.gz"), path("a/mir-m1-lr1-s1.json.gz")}): "`a/{er,mir+rv}-m{1,5}-s1.json.gz` `a/mir-m1-lr1-s1.json.gz`",
		files("root", []string{path("a/er-m1-s1.json.gz"), path("a/er-m5-s1.json.gz"), path("a/er-m5-s2.json.gz"), path("lambda.csv")}):                                                  "`a/er-m1-s1.json.gz` `a/er-m5-s{1,2}.json.gz` `lambda.csv`",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestOrderOf: what the table of the survey's order says of each verdict.
func TestOrderOf(t *testing.T) {
	for c, want := range map[[2]string]string{
		{string(compare.FirstHigher)}: "holds", {string(compare.Alike)}: "holds", {string(compare.SecondHigher)}: "fails", {string(compare.Apart)}: "fails",
		{string(compare.Undecided), string(compare.NotSignificant)}: "undecided",
		{string(compare.Undecided), string(compare.FewSeeds)}:       "undecided: fewer than three seeds in common",
	} {
		if got := orderOf(compare.Comparison{Verdict: compare.Verdict(c[0]), Reason: compare.Reason(c[1])}); got != want {
			t.Errorf("%v is %q, want %q", c, got, want)
		}
	}
}

// committedPages is read once for all tests.
var committedPages = sync.OnceValues(func() (*page, error) {
	runs, err := allRuns()
	if err != nil {
		return nil, err
	}
	return openPage("..", runs)
})

// committedPage is committedPages for a test, which may change the verdicts of the copy.
func committedPage(t *testing.T) *page {
	t.Helper()
	p, err := committedPages()
	if err != nil {
		t.Fatal(err)
	}
	own := *p
	copied := func(cells []*paper.Cell) (own []*paper.Cell) {
		for _, c := range cells {
			cell := *c
			own = append(own, &cell)
		}
		return own
	}
	own.claims, own.cells = slices.Clone(p.claims), map[string][]*paper.Cell{}
	for label, cells := range p.cells {
		own.cells[label] = copied(cells)
	}
	own.confirmation.cells = copied(p.confirmation.cells)
	return &own
}

// mainPage is docs/reproduction.md.
func mainPage(t *testing.T, p *page) string {
	t.Helper()
	files, err := p.pages()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(files, func(f file) bool { return f.name == "docs/reproduction.md" })
	if i < 0 {
		t.Fatal("there is no docs/reproduction.md")
	}
	return string(files[i].text)
}

// TestMainPageIsShort: two screens.
func TestMainPageIsShort(t *testing.T) {
	const most = 110
	if n := strings.Count(mainPage(t, committedPage(t)), "\n"); n > most {
		t.Errorf("docs/reproduction.md has %d lines, want at most %d. Move something to a page below docs/reproduction", n, most)
	}
}

// TestMainPageNamesWhatDisagrees: each cell that differs and each claim that fails, also if all of them do.
func TestMainPageNamesWhatDisagrees(t *testing.T) {
	p := committedPage(t)
	check := func(p *page) (named int) {
		text := mainPage(t, p)
		first, _, _ := strings.Cut(text, "## Rules")
		for _, s := range append(p.sheets(), p.confirmation) {
			for _, c := range s.cells {
				if c.Verdict != paper.Differs {
					continue
				}
				named++
				if !slices.ContainsFunc(strings.Split(first, "\n"), func(line string) bool {
					return strings.Contains(line, s.title) && strings.Contains(line, nameOf(c)+" (")
				}) {
					t.Errorf("%s, %s differs, and the first screen does not say so", s.title, nameOf(c))
				}
			}
		}
		for _, f := range p.claims {
			if f.Verdict != findings.Fails {
				continue
			}
			named++
			if !strings.Contains(first, "["+f.Claim.Title+"](findings.md#"+anchor(f.Claim.Title)+") ("+f.Benchmark+")") {
				t.Errorf("%s fails on %s, and the first screen does not say so", f.Claim.Title, f.Benchmark)
			}
		}
		return named
	}
	if check(p) == 0 {
		t.Error("nothing differs and no claim fails, so this test shows little: see that the page says so")
	}
	for _, s := range append(p.sheets(), p.confirmation) {
		for _, c := range s.cells {
			c.Verdict = paper.Differs
		}
	}
	for i := range p.claims {
		p.claims[i].Verdict = findings.Fails
	}
	if n := check(p); n < 370 {
		t.Errorf("%d cells and claims are named, want all of them", n)
	}
}

// TestEachCellHasAPlace: each cell of a table is on the page of the table if it was run, and among those without a run if it was not. The CSV
// files have all of them.
func TestEachCellHasAPlace(t *testing.T) {
	p := committedPage(t)
	files, err := p.pages()
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for _, f := range files {
		text[f.name] = string(f.text)
	}
	cells := 0
	for _, s := range p.sheets() {
		run, without := s.run()
		cells += len(s.cells)
		for _, c := range run {
			if !strings.Contains(text["docs/reproduction/"+s.name+".md"], "\n| "+nameOf(c)+" | ") {
				t.Errorf("the page of %s does not have %s", s.title, nameOf(c))
			}
		}
		if len(without) > 0 && !strings.Contains(text["docs/reproduction/not-run.md"], fmt.Sprintf("## %s\n\n%d of %d cells.", s.title, len(without), len(s.cells))) {
			t.Errorf("%d cells of %s are not among those without a run", len(without), s.title)
		}
		if name := "docs/reproduction/" + s.name + ".csv"; len(run) > 0 && strings.Count(text[name], "\n") != 1+len(s.cells) {
			t.Errorf("%s does not have a line for each of %d cells", name, len(s.cells))
		}
	}
	if n := strings.Count(text["results/cells.csv"], "\n"); n != 1+cells+len(p.confirmation.cells) || cells < 275 {
		t.Errorf("cells.csv has %d lines, want a head, %d cells and %d of the confirmation", n, cells, len(p.confirmation.cells))
	}
}

// TestNamesOfCells: cells without a run are named together where they share trick and memories.
func TestNamesOfCells(t *testing.T) {
	cell := func(trick string, memory int) *paper.Cell {
		return &paper.Cell{Table: survey.TricksCIFAR100, Row: trick, Column: "ER", Memory: memory}
	}
	cells := []*paper.Cell{cell("LB", 1000), cell("LB", 10000), cell("SS", 1000), cell("SS", 10000), cell("RV", 5000)}
	if got, want := shortened(cells), "ER with LB and SS at 1,000 and 10,000; ER with RV at 5,000"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := shortened([]*paper.Cell{{Table: survey.ClassIncremental, Row: "LwF"}}), "LwF"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFiguresOfText: a figure of a run that is not committed is an error that names it, and no gap in the page.
func TestFiguresOfText(t *testing.T) {
	p := committedPage(t)
	for text, want := range map[string]string{
		`{{.Mean "er rv" 77}}`: "er rv with a memory of 77", `{{.Full "mir lb/ncm" 77}}`: "mir lb/ncm",
		`{{.Instead "er" 77 "replay.teacher=evaluation"}}`: "memory of 77", `{{.Of "er" "x"}}`: "no metric x", `{{.Nothing}}`: "Nothing",
	} {
		if _, err := fill("text", text, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{ // runs are paired with those of equal kernels, or the text says that there are none
		`{{.Instead "er kdc" 5000 "replay.teacher=evaluation"}}`: "over 2 seeds", `{{.Instead "icarl" 1000 "replay.teacher=evaluation"}}`: "over 3 seeds with other kernels each",
	} {
		if got, err := fill("text", text, p); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s gives %q, %v, want %q", text, got, err, want)
		}
	}
	if text, err := fill("text", `{{.Mean "er" 5000}}`, p); err != nil || len(text) < 3 {
		t.Errorf("ER has %q, %v", text, err)
	}
}
