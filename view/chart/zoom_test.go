package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestZoom: an axis begins at a round number below its data where 0 is far below them, and at 0 in the chart that is
// whole.
func TestZoom(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		y, half []float64
		want    string
	}{
		{[]float64{75, 88}, nil, "75 80 85 90"},
		{[]float64{5, 88}, nil, "0 20 40 60 80 100"},
		{[]float64{80, 80}, nil, "77 78 79 80 81 82 83"},
		{[]float64{75, 88}, []float64{30, nan}, "60 70 80 90 100"}, // a wide interval is cut
		{[]float64{99, 100}, []float64{1, 1}, "97 98 99 100"},
	} {
		l := &Lines{XMin: 1, XMax: 2, Zoom: true, Series: []Series{{Y: c.y, Half: c.half}}}
		l.Scale(0, 100, 1)
		var got []string
		for _, v := range l.yTicks() {
			got = append(got, v.text)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%v ± %v: marks %s, want %s", c.y, c.half, s, c.want)
		}
		if whole := l.Whole(); (l.YMin > 0) != (whole != nil) || whole != nil && whole.YMin != 0 {
			t.Errorf("%v: the whole chart is %+v", c.y, whole)
		}
	}
	r := &Ranked{Start: 75, End: 88}
	if begin, _, tick := r.axis(); begin != 75 || tick != 5 {
		t.Errorf("a ranking from 75 to 88 begins at %v in steps of %v", begin, tick)
	}
	if w := r.Whole(); w == nil || w.Begin() != 0 || w.Whole() != nil || (&Ranked{Start: 3, End: 88}).Begin() != 0 {
		t.Errorf("the whole ranking is %+v", w)
	}
}

// TestNamesBesideAxes: on a phone no name lies on a line of an axis, a bound or a number of an axis.
func TestNamesBesideAxes(t *testing.T) {
	look := Look{Class: "a", Light: "#000000", Dark: "#ffffff"}
	ranked := &Ranked{Unit: "%", End: 60, Bounds: []Bound{{"Finetune 2.0", look, 2}, {"Offline 55.0", look, 55}}}
	for i := range 4 {
		ranked.Rows = append(ranked.Rows, Ranking{Label: fmt.Sprint("a long name of a method ", i), Text: "30.0 ± 2.0",
			Look: look, Size: 4, Value: Value{At: 30, Low: 28, High: 32}})
	}
	lines := &Lines{XLabel: "steps", YLabel: "loss", XMin: 1, XMax: 100_000}
	for i := range 5 {
		lines.Series = append(lines.Series, Series{Label: fmt.Sprint("method ", i), Look: look, Width: 2,
			X: []int{1, 100_000}, Y: []float64{3, 0.01 * float64(i)}})
	}
	lines.Scale(0, 100, 1)
	for _, c := range []Chart{ranked, lines} {
		d := Draw(c, Narrow)
		for _, name := range d.Marks {
			if name.Role != Label {
				continue
			}
			at := name.Points[0]
			w := width(name.Text, d.Font)
			x0 := at.X - w*name.Anchor.share()
			over := func(m Mark, ax0, ay0, ax1, ay1 float64) {
				if ax0 < x0+w && x0 < ax1 && ay0 < at.Y && at.Y-0.7*d.Font < ay1 {
					t.Errorf("%T: %q at %v is over a mark of role %d, %q, from %.0f, %.0f to %.0f, %.0f", c, name.Text, at, m.Role,
						m.Text, ax0, ay0, ax1, ay1)
				}
			}
			for _, m := range d.Marks {
				switch {
				case m.Text != "" && m.Role == Tick && m.Series != name.Series:
					left := m.Points[0].X - width(m.Text, d.Font)*m.Anchor.share()
					over(m, left, m.Points[0].Y-0.7*d.Font, left+width(m.Text, d.Font), m.Points[0].Y)
				case m.Role == Grid || m.Role == Zero || m.Role == Line && c == Chart(ranked):
					over(m, math.Min(m.Points[0].X, m.Points[1].X), math.Min(m.Points[0].Y, m.Points[1].Y),
						math.Max(m.Points[0].X, m.Points[1].X), math.Max(m.Points[0].Y, m.Points[1].Y))
				}
			}
		}
	}
}
