package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"ocl/internal/count"
	"ocl/run/metric/compare"
)

// maxTriangle bounds the rows that a page compares in pairs. All settings of a page together have at most the cells of
// one triangle of so many rows: a hundred rows take 300 kB.
const maxTriangle = 100

// tallTriangle is from how many rows on a triangle scrolls by itself, so that the numbers of its columns stay in view.
const tallTriangle = 20

// triangle is the comparison of every two rows of a setting on the page, the best row first. Each line has a cell for
// each row above it.
type triangle struct {
	ID, Title, Caption string
	Lines              []triangleLine
}

// triangleLine is a row with its differences from the rows above it.
type triangleLine struct {
	Rank  int
	Name  cell
	Cells []verdictCell
}

// verdictCell is a difference. Its text has a mark where the difference is decided.
type verdictCell struct {
	Class string // b is better, w is worse, "" is neither
	Text  string // "▼3.1"
	Tip   string // the rest of it: interval, probability and seeds
}

// Tall says that the triangle scrolls by itself.
func (t *triangle) Tall() bool { return len(t.Lines) >= tallTriangle }

// Columns are the numbers of the rows that others are compared with.
func (t *triangle) Columns() (numbers []int) { return upTo(1, len(t.Lines)-1) }

// triangle compares the rows in the order of the ranking, the bounds last; nil where no two rows have two seeds in
// common.
func (s *setting) triangle() *triangle {
	pairs := map[[2]*row]pairing{}
	for _, p := range s.pairings() {
		if p.N()+p.Others >= 2 {
			pairs[[2]*row{p.first, p.second}] = p
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	rows, bounds := s.ranked()
	compared := s.compared()
	rows = slices.DeleteFunc(slices.Concat(rows, bounds), func(g *row) bool { return !slices.Contains(compared, g) })
	most, left := int(maxTriangle/math.Sqrt(float64(max(1, s.among)))), 0
	if n := len(rows); n > most {
		rows, left = rows[:most], n-most
	}
	t := &triangle{ID: s.id("triangle"), Title: s.titled("Which rows differ")}
	for i, g := range rows {
		line := triangleLine{Rank: i + 1, Name: cell{Text: g.Short, Raw: g.Short, Mark: g.style.Class}}
		for _, other := range rows[:i] {
			p, ok := pairs[[2]*row{g, other}]
			if reversed, found := pairs[[2]*row{other, g}]; found {
				p, ok = pairing{g, other, reversed.Reversed()}, true
			}
			line.Cells = append(line.Cells, p.verdictCell(ok))
		}
		t.Lines = append(t.Lines, line)
	}
	t.Caption = "Average accuracy of the row minus that of the row with the number of the column, in points. ▲ is better and ▼ is worse: the paired t-test decides, with p below 0.05 " +
		"after Holm's correction over all pairs. Without a mark it is not decided."
	if left > 0 {
		t.Caption += fmt.Sprintf(" The CSV file has the pairs of %s more.", count.Of(left, "row"))
	}
	return t
}

// verdictCell is the first row minus the second; ok is false where they have no two seeds in common.
func (p pairing) verdictCell(ok bool) verdictCell {
	switch {
	case !ok:
		return verdictCell{Text: "·", Tip: "no two seeds in common"}
	case p.N() == 0:
		return verdictCell{Text: "·", Tip: string(p.Reason)}
	}
	c := verdictCell{Text: signed(p.Mean), Tip: "points"}
	if p.N() > fewSeeds && !math.IsNaN(p.Half) {
		c.Tip = "± " + count.Percent(p.Half) + " points"
	}
	if p.Reason != "" && p.Reason != compare.NotSignificant {
		c.Tip += ", " + string(p.Reason)
	} else {
		c.Tip += ", " + p.chance()
	}
	c.Tip += ", " + count.Of(p.N(), "seed")
	size := strconv.FormatFloat(math.Abs(100*p.Mean), 'f', 1, 64)
	switch p.Verdict {
	case compare.FirstHigher:
		c.Class, c.Text = "b", "▲"+size
	case compare.SecondHigher:
		c.Class, c.Text = "w", "▼"+size
	}
	return c
}
