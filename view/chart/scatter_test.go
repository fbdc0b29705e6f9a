package chart

import (
	"math"
	"testing"
)

// TestScatter: points are where their values are, every point has its name on hover, and no two names overlap.
func TestScatter(t *testing.T) {
	look := Look{Class: "c0", Light: "#000000", Marker: Circle}
	s := &Scatter{XLabel: "seconds", YLabel: "accuracy, %"}
	for i := range 12 {
		s.Points = append(s.Points, Spot{Label: "method " + string(rune('A'+i)), Look: look, X: 100 + float64(i%3),
			Y: 20 + float64(i%2), Half: math.NaN()})
	}
	s.Points = append(s.Points, Spot{Label: "alone", Look: look, X: 1000, Y: 50, Half: 10})
	d := Draw(s, Narrow)
	dots, names := map[string]Point{}, map[string]box{}
	for _, m := range d.Marks {
		switch {
		case m.Role == Dot:
			dots[m.Series] = m.Points[0]
			if m.Tip != m.Series {
				t.Errorf("the point of %s says %q on hover", m.Series, m.Tip)
			}
		case m.Role == Label:
			at := m.Points[0]
			names[m.Text] = box{at.X, at.Y - 0.8*d.Font, at.X + width(m.Text, d.Font), at.Y + 0.2*d.Font}
		}
	}
	if len(dots) != 13 || dots["alone"].X <= dots["method A"].X || dots["alone"].Y >= dots["method A"].Y {
		t.Errorf("%d points; alone is at %v, method A at %v", len(dots), dots["alone"], dots["method A"])
	}
	if _, there := names["alone"]; !there || len(names) < 2 {
		t.Errorf("names are %v", names)
	}
	for a, x := range names {
		if x.x0 < 0 || x.x1 > d.Width {
			t.Errorf("%s leaves the figure: %v", a, x)
		}
		for b, y := range names {
			if a != b && x.x0 < y.x1 && y.x0 < x.x1 && x.y0 < y.y1 && y.y0 < x.y1 {
				t.Errorf("%s and %s overlap", a, b)
			}
		}
	}
}

// TestScatterOfEquals: both axes have one scale and hold all intervals, the dashed line goes from corner to corner, and
// the legend names the groups.
func TestScatterOfEquals(t *testing.T) {
	look := Look{Class: "c0", Light: "#000000", Marker: Circle}
	s := &Scatter{XLabel: "theirs", YLabel: "ours", Equal: true, Groups: []Group{{Name: "a table", Look: look}},
		Points: []Spot{{Group: "a table", Tip: "one", Look: look, X: 30, Y: 20, Half: 3, Wide: 12},
			{Group: "a table", Tip: "two", Label: "two", Look: look, X: 10, Y: 10, Half: math.NaN()}}}
	d := Draw(s, Layout{Width: 500, Height: 500, Font: 13, Alone: true})
	var diagonal []Point
	dots := map[string]Point{}
	var hairs [][]Point
	texts := map[string]bool{}
	for _, m := range d.Marks {
		switch {
		case m.Role == Zero && m.Dash != nil:
			diagonal = m.Points
		case m.Role == Dot && m.Tip != "":
			dots[m.Tip] = m.Points[0]
			if m.Series != "a table" {
				t.Errorf("the point %s is of %q", m.Tip, m.Series)
			}
		case m.Role == Hair:
			hairs = append(hairs, m.Points)
		case m.Text != "":
			texts[m.Text] = true
		}
	}
	if len(diagonal) != 2 {
		t.Fatal("there is no line where both are equal")
	}
	if at, x := dots["two"],
		(diagonal[1].X-diagonal[0].X)/(diagonal[1].Y-diagonal[0].Y); math.Abs(
		(at.X-diagonal[0].X)-x*(at.Y-diagonal[0].Y)) > 1e-9 {
		t.Errorf("10 and 10 is at %v, not on the line %v", at, diagonal)
	}
	if len(hairs) != 2 || hairs[1][1].X > diagonal[1].X || hairs[1][0].X >= dots["one"].X ||
		hairs[1][1].X <= dots["one"].X {
		t.Errorf("the intervals are %v, want both of the first point, within the axes", hairs)
	}
	for _, name := range []string{"a table", "two", "50"} {
		if !texts[name] {
			t.Errorf("%q is not written", name)
		}
	}
	if texts["one"] {
		t.Error("a point without a label has one")
	}
}
