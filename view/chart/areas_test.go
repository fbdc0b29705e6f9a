package chart

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestAreas: areas lie upon each other, begin where they have something, and have the colours of the scale, the first
// one the strongest.
func TestAreas(t *testing.T) {
	nan := math.NaN()
	a := &Areas{XLabel: "after task", YLabel: "share, %", X: []string{"1", "2", "3"},
		Parts: []string{"task 1", "task 2", "task 3"},
		V:     [][]float64{{1, 0.5, 0.25}, {nan, 0.5, 0.75}, {nan, nan, nan}}}
	d := Draw(a, Half)
	var areas []Mark
	var labels []string
	for _, m := range d.Marks {
		switch m.Role {
		case Area:
			areas = append(areas, m)
		case Label:
			labels = append(labels, m.Text)
		}
	}
	if len(areas) != 2 || strings.Join(labels, " ") != "task 1 task 2" {
		t.Fatalf("%d areas with the labels %q", len(areas), labels)
	}
	slices.Reverse(areas) // the lowest one is drawn last, upon the others
	low, high := areas[0].Points, areas[1].Points
	bottom, top := low[len(low)-1].Y, low[0].Y
	if len(low) != 5 || len(high) != 5 || high[2].Y != top || high[0].Y != top ||
		math.Abs(low[2].Y-top-0.75*(bottom-top)) > 1e-9 || high[3] != low[3] || high[1].X != low[1].X {
		t.Errorf("the areas are %v and %v", low, high)
	}
	if at := areas[0].At; at.X != low[0].X || at.Y != (top+bottom)/2 {
		t.Errorf("the values of the first area are said at %v", at)
	}
	if at := areas[1].At; at.X != high[2].X || at.Y <= top || at.Y >= low[2].Y {
		t.Errorf("the values of the second area are said at %v, outside it", at)
	}
	if areas[0].Step != HeatSteps-1 || areas[1].Step >= areas[0].Step ||
		areas[1].Tip != "task 2\nafter task 2, 3: 50, 75 %" {
		t.Errorf("the areas have the steps %d and %d, and the second says %q", areas[0].Step, areas[1].Step, areas[1].Tip)
	}
	if text := d.Inline("panel", "a", "T", "D"); !strings.Contains(text, `class="area f20" data-at="`) ||
		strings.Contains(text, "fill=") {
		t.Errorf("on the page: %s", text)
	}
	if text := string(d.SVG("T", "D")); !strings.Contains(text, `fill="`+Hex(HeatColor(HeatSteps-1, false))+`"`) {
		t.Errorf("in a file: %s", text)
	}
	one := Draw(&Areas{X: []string{"1"}, Parts: []string{"task 1"}, V: [][]float64{{1}}}, Half)
	for _, m := range one.Marks {
		if m.Role == Area && m.Points[1].X-m.Points[0].X < 100 {
			t.Errorf("the area of one task is %v", m.Points)
		}
	}
}
