package report

import (
	"slices"
	"strings"
	"testing"
)

// TestTriangle: the rows stand in the order of the ranking, and each line has what the table says of it and the rows
// above it.
func TestTriangle(t *testing.T) {
	st := studyOf(slices.Concat(accuracies(named("er"), .20, .30, .40, .50, .60),
		accuracies(named("mir"), .180, .281, .379, .482, .578),
		accuracies(named("gss"), .19, .31, .38, .51, .57), accuracies(named("agem"), .7, .71)), nil)
	tri := st.settings[0].triangle()
	var names, cells []string
	for _, l := range tri.Lines {
		names = append(names, l.Name.Text)
		for _, c := range l.Cells {
			cells = append(cells, c.Class+" "+c.Text+" "+c.Tip)
		}
	}
	if got := strings.Join(names, ","); got != "AGEM,ER,GSS,MIR" {
		t.Errorf("the rows are %s, want them in the order of the ranking", got)
	}
	for i, want := range []string{
		" −45.5 points, fewer than three seeds in common, 2 seeds",
		" −45.5 points, fewer than three seeds in common, 2 seeds", " −0.8 ± 2.2 points, p = 0.374, 5 seeds",
		" −47.4 points, fewer than three seeds in common, 2 seeds", "w ▼2.0 ± 0.2 points, p < 0.001, 5 seeds",
		" −1.2 ± 2.0 points, p = 0.352, 5 seeds",
	} {
		if cells[i] != want {
			t.Errorf("cell %d is %q, want %q", i, cells[i], want)
		}
	}
	// A row that is better over the common seeds than one above it, which has a seed of its own.
	st = studyOf(slices.Concat(accuracies(named("er"), .300, .310, .320, .900),
		accuracies(named("mir"), .3500, .3604, .3702)), nil)
	if c := st.settings[0].triangle().Lines[1].Cells[0]; c.Class != "b" || c.Text != "▲5.0" {
		t.Errorf("MIR against ER is %+v, want it better by 5.0", c)
	}
	if s := studyOf(accuracies(named("er"), .3, .4), nil); s.settings[0].triangle() != nil {
		t.Error("one row is compared")
	}
	if s := studyOf(slices.Concat(accuracies(named("er"), .3), accuracies(named("mir"), .4)),
		nil); s.settings[0].triangle() != nil {
		t.Error("rows of one seed are compared")
	}
}

// TestTriangleOfMany: sixty rows stay on a page below its size, and of more than a hundred the best ones do.
// TestFiveHundredRuns has two streams.
func TestTriangleOfMany(t *testing.T) {
	page, _, _ := newPage(studyOf(runsOf(sixtyFakes()), nil))
	html := string(render(page))
	if len(html) > 1_000_000 {
		t.Errorf("the page has %d bytes, want at most 1 MB", len(html))
	}
	_, table, _ := strings.Cut(html, `<table class="pairs">`)
	table, _, _ = strings.Cut(table, "</table>")
	if n := strings.Count(table, "<td"); n != 61*60/2 {
		t.Errorf("the page has %d comparisons, want %d", n, 61*60/2)
	}
	var many []*run
	for m := range maxTriangle + 5 {
		f := named("er")
		f.memory, f.tasks = m+1, 2
		x := float64(m%50) / 100
		many = append(many, accuracies(f, .1+x, .13+x, .12+1.1*x)...)
	}
	if tri := studyOf(many, nil).settings[0].triangle(); len(tri.Lines) != maxTriangle ||
		!strings.HasSuffix(tri.Caption, "the pairs of 5 rows more.") {
		t.Errorf("%d lines, and the caption %q", len(tri.Lines), tri.Caption)
	}
}

func runsOf(fakes []fake) (runs []*run) {
	for _, r := range results(fakes) {
		runs = append(runs, newRun(r, ""))
	}
	return runs
}

// TestVerdictsDiffer: better, worse and the page differ for every eye. TestContrast holds that what is written on them
// can be read.
func TestVerdictsDiffer(t *testing.T) {
	light, dark := cssVars(t, pageCSS)
	for i, vars := range []map[string]string{light, dark} {
		for eye, seen := range asSeen {
			for _, pair := range [][2]string{{"better", "worse"}, {"better", "bg"}, {"worse", "bg"}} {
				if d := difference(seen(linear(vars[pair[0]])), seen(linear(vars[pair[1]]))); !(d >= 0.15) {
					t.Errorf("scheme %d, %s: %s and %s differ by %.3f, want 0.15", i, eye, pair[0], pair[1], d)
				}
			}
		}
	}
}
