package paper

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"ocl/config"
	"ocl/view/chart"
)

// TestAgreement: the page begins with a point for each accuracy that was run, where both values say, and those that
// differ have names.
func TestAgreement(t *testing.T) {
	s := committed(t)
	p, err := build(t.Context(), s, Options{Beside: true})
	if err != nil {
		t.Fatal(err)
	}
	scatter := p.Agreement().Panels[0].chart.(*chart.Scatter)
	points := map[string]chart.Spot{}
	for _, spot := range scatter.Points {
		if _, dup := points[spot.Tip]; dup {
			t.Errorf("two points say %q", spot.Tip)
		}
		points[spot.Tip] = spot
	}
	want := 0
	for _, table := range compared {
		for _, c := range s.Cells(table.label) {
			if c.Repeat != "" || c.Ours.N == 0 || c.Row == bestRow || c.Spec.Method == "offline" {
				continue
			}
			want++
			found := false
			for tip, spot := range points {
				if strings.HasPrefix(tip, c.FullName()+". ocl ") && spot.X == c.Published.Mean && spot.Y == c.Ours.Mean {
					found = true
					if named := spot.Label != ""; named != (c.Verdict == Differs) {
						t.Errorf("%s has the name %q and the verdict %s", tip, spot.Label, c.Verdict)
					}
					if few := math.IsNaN(spot.Half); few != (c.Ours.N < 3) {
						t.Errorf("%s, of %d runs, has the interval %g", tip, c.Ours.N, spot.Half)
					}
				}
			}
			if !found {
				t.Errorf("%s of %s is not in the picture", c.FullName(), c.Table)
			}
		}
	}
	if len(points) != want || want < 50 {
		t.Errorf("%d points, want %d", len(points), want)
	}
	page := string(p.page())
	if first, table := strings.Index(page, `id="beyond-agreement"`), strings.Index(page, `id="table-nc"`); first < 0 ||
		table < first {
		t.Error("the page does not begin with the picture of all cells")
	}
}

// TestDifferingCellsAreNamed: the point of a cell that differs has the name of the cell.
func TestDifferingCellsAreNamed(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(3) {
		write(t, dir, fmt.Sprintf("er-s%d.json.gz", seed+1), fake(er, seed+1, config.EvalFinal))
	}
	p, err := build(t.Context(), mustRead(t, dir), Options{Beside: true})
	if err != nil {
		t.Fatal(err)
	}
	points := p.Agreement().Panels[0].chart.(*chart.Scatter).Points
	if len(points) != 1 || points[0].Label != "ER, M = 5,000" || !strings.Contains(points[0].Tip, "differs") {
		t.Errorf("the points are %+v", points)
	}
}

// TestTablesAreNamedInWords: the list of the page names tables and figures by what they compare, measured tables come
// first, and rows without a run can be opened.
func TestTablesAreNamedInWords(t *testing.T) {
	p, err := build(t.Context(), committed(t), Options{Beside: true})
	if err != nil {
		t.Fatal(err)
	}
	page := string(p.page())
	_, nav, _ := strings.Cut(page, `<nav `)
	nav, _, _ = strings.Cut(nav, `</nav>`)
	if strings.Contains(nav, ">tab") || strings.Contains(nav, ">fig") || strings.Contains(nav, "></a>") ||
		!strings.Contains(nav, `title="table:nc">Methods, new classes</a>`) {
		t.Errorf("the list is %s", nav)
	}
	if order := p.Ordered(); len(order) != len(p.Tables) || order[0].Label != "table:nc" || order[1].Label != "table:ni" {
		t.Errorf("the tables begin with %s and %s", order[0].Label, order[1].Label)
	}
	unmeasured := 0
	for _, table := range p.Tables {
		if len(table.Measured())+len(table.Unmeasured()) != len(table.Rows) {
			t.Errorf("%s loses rows", table.Label)
		}
		for _, r := range table.Unmeasured() {
			unmeasured++
			for _, c := range r.Cells[1:] {
				if c.Number {
					t.Errorf("%s: the row %s was run, and is folded", table.Label, r.Cells[0].Text)
				}
			}
		}
	}
	if unmeasured == 0 || !strings.Contains(page, "<summary>Not run: ") {
		t.Error("no row without a run is folded")
	}
	if strings.Contains(page, ">N/A") || strings.Contains(page, "; paper ") {
		t.Error("the pictures have the row N/A or the published value as text")
	}
}
