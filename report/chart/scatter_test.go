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
		s.Points = append(s.Points, Spot{Label: "method " + string(rune('A'+i)), Look: look, X: 100 + float64(i%3), Y: 20 + float64(i%2), Half: math.NaN()})
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
