package chart

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

var (
	blue = Look{Class: "b", Light: "#0072B2", Dark: "#2F9BE0"}
	red  = Look{Class: "r", Light: "#D55E00", Dark: "#F2703A", Dash: []float64{8, 3}, Marker: Square}
)

// known is a chart whose places are computed by hand below. The axis runs from 0 to 100.
func known() *Lines {
	l := &Lines{
		XLabel: "tasks", YLabel: "accuracy, %", XMin: 1, XMax: 5,
		Series: []Series{
			{Label: "ER", Look: blue, Width: 2, Y: []float64{100, 50, 25, 50, 75}, Half: []float64{math.NaN(), 10, 10, 10, 10}},
			{Label: "MIR", Look: red, Width: 2, Y: []float64{0, 20, math.NaN(), 40, 20}},
		},
		Say: func(y, half float64) string { return fmt.Sprintf("%g ± %g", y, half) },
	}
	l.Scale(0, 100, 1)
	return l
}

// The area between the axes of known in the wide layout: 720 × 400 pixels, 13 pixels a line of text. In Liberation Sans
// a digit is 1139 units of 2048 wide, M 1706, I 569 and R 1479.
const (
	left   = 3*1139.0/2048*13 + 8                                         // "100" and a gap
	right  = 720 - 2 - (1706.0+569+1479)/2048*13/certain - toLabel - near // "MIR", its marker and gaps
	top    = 13 + 14.0
	bottom = 400 - 2.9*13 - 6
)

// of returns the marks of a role, of all series or of one.
func (d *Drawing) of(role Role, series ...string) []Mark {
	var out []Mark
	for _, m := range d.Marks {
		if m.Role == role && (len(series) == 0 || m.Series == series[0]) {
			out = append(out, m)
		}
	}
	return out
}

// same says that two places are the same but for rounding.
func same(a, b Point) bool { return math.Abs(a.X-b.X) < 1e-6 && math.Abs(a.Y-b.Y) < 1e-6 }

func wantPoints(t *testing.T, what string, got []Point, want ...Point) {
	t.Helper()
	ok := len(got) == len(want)
	for i := 0; ok && i < len(got); i++ {
		ok = same(got[i], want[i])
	}
	if !ok {
		t.Errorf("%s: got %.2f, want %.2f", what, got, want)
	}
}

func TestLinesAreWhereTheirValuesAre(t *testing.T) {
	d := Draw(known(), Wide)
	x := func(i float64) float64 { return left + (i-1)/4*(right-left) }
	y := func(v float64) float64 { return bottom - v/100*(bottom-top) }
	if d.Width != 720 || d.Height != 400 || !d.Labelled {
		t.Errorf("%g × %g, labelled %v; want 720 × 400 with labels", d.Width, d.Height, d.Labelled)
	}
	er := d.of(Line, "ER")
	if len(er) != 1 {
		t.Fatalf("ER has %d lines, want 1", len(er))
	}
	wantPoints(t, "line of ER", er[0].Points, Point{x(1), y(100)}, Point{x(2), y(50)}, Point{x(3), y(25)},
		Point{x(4), y(50)}, Point{x(5), y(75)})
	mir := d.of(Line, "MIR")
	if len(mir) != 2 {
		t.Fatalf("MIR has %d lines, want one on each side of its gap", len(mir))
	}
	wantPoints(t, "MIR before its gap", mir[0].Points, Point{x(1), y(0)}, Point{x(2), y(20)})
	wantPoints(t, "MIR after its gap", mir[1].Points, Point{x(4), y(40)}, Point{x(5), y(20)})
	// A marker at each value, and one beside the label.
	dots := d.of(Dot, "MIR")
	var at []Point
	for _, m := range dots {
		at = append(at, m.Points...)
	}
	wantPoints(t, "markers of MIR", at, Point{x(1), y(0)}, Point{x(2), y(20)}, Point{x(4), y(40)}, Point{x(5), y(20)},
		Point{right + 13, y(20)})
	if dots[1].Tip != "MIR, 2: 20 ± NaN" || dots[4].Tip != "" {
		t.Errorf("markers say %q and %q", dots[1].Tip, dots[4].Tip)
	}
	// The band goes along the upper ends and back along the lower ones, without the first point, which has no interval.
	wantPoints(t, "band of ER", d.of(Band, "ER")[0].Points,
		Point{x(2), y(60)}, Point{x(3), y(35)}, Point{x(4), y(60)}, Point{x(5), y(85)},
		Point{x(5), y(65)}, Point{x(4), y(40)}, Point{x(3), y(15)}, Point{x(2), y(40)})
	label := d.of(Label, "ER")[0]
	wantPoints(t, "label of ER, on its baseline", label.Points, Point{right + 13 + 7, y(75) + 0.35*13})
	if label.Text != "ER" || len(d.of(Lead)) > 0 {
		t.Errorf("the label is %q, with %d lines that lead to labels; want ER, and none", label.Text, len(d.of(Lead)))
	}
}

func TestAxes(t *testing.T) {
	d := Draw(known(), Wide)
	var texts []string
	for _, m := range d.of(Tick) {
		texts = append(texts, m.Text)
	}
	if got, want := strings.Join(texts, "|"), "accuracy, %|0|20|40|60|80|100|1|2|3|4|5|tasks"; got != want {
		t.Errorf("the axes say %s, want %s", got, want)
	}
	forty := d.of(Tick)[3]
	wantPoints(t, "40", forty.Points, Point{left - 6, bottom - 0.4*(bottom-top) + 0.35*13})
	if forty.Anchor != End {
		t.Error("the marks of the y axis do not end at the axis")
	}
	wantPoints(t, "2", d.of(Tick)[8].Points, Point{left + (right-left)/4, bottom + 1.5*13})
	wantPoints(t, "line at 0", d.of(Zero)[0].Points, Point{left, bottom}, Point{right, bottom})
	wantPoints(t, "line at 100", d.of(Grid)[4].Points, Point{left, top}, Point{right, top})
}

// TestPicturesAlone: the same chart under its title is moved down by it, and keeps a margin.
func TestPicturesAlone(t *testing.T) {
	d := Draw(known(), File("A title"))
	const size = 1.3 * 13
	margin := File("").Margin
	down := margin + 1.3*size + 0.6*size
	if d.Width != 720 || !(math.Abs(d.Height-(400+1.9*size)) <= 1e-6) {
		t.Errorf("%g × %g", d.Width, d.Height)
	}
	wantPoints(t, "title", d.of(Title)[0].Points, Point{margin, margin + 1.3*size - 0.45*size})
	wantPoints(t, "highest line", d.of(Grid)[4].Points, Point{margin + left, down + top},
		Point{right - margin, down + top})
}

func TestOneTaskIsInTheMiddle(t *testing.T) {
	l := &Lines{XMin: 1, XMax: 1, Series: []Series{{Label: "ER", Look: blue, Width: 2, Y: []float64{50},
		Half: []float64{10}}}}
	l.Scale(0, 100, 1)
	d := Draw(l, Wide)
	zero, dot, whisker := d.of(Zero)[0].Points, d.of(Dot)[0].Points[0], d.of(Whisker)[0].Points
	if !(math.Abs(dot.X-(zero[0].X+zero[1].X)/2) <= 1e-6) || whisker[0].X != dot.X ||
		!(whisker[0].Y > dot.Y && dot.Y > whisker[1].Y) {
		t.Errorf("a task alone is at %.1f, its interval from %.1f to %.1f", dot, whisker[0], whisker[1])
	}
	if len(d.of(Line))+len(d.of(Band)) > 0 {
		t.Error("a point alone has a line or a band")
	}
}

// TestSteps: a series may say where its values are, and each may have its own places.
func TestSteps(t *testing.T) {
	l := &Lines{
		XLabel: "steps", XMax: 100, Say: func(y, _ float64) string { return fmt.Sprint(y) },
		Series: []Series{
			{Label: "ER", Look: blue, Width: 2, X: []int{20, 40, 100}, Y: []float64{100, 50, 0}, Half: []float64{10, 10, 10}},
			{Label: "MIR", Look: red, Width: 2, X: []int{50, 75}, Y: []float64{50, 25}},
		},
	}
	l.Scale(0, 100, 1)
	d := Draw(l, Wide)
	grid := d.of(Grid)[4].Points // at 100
	zero := d.of(Zero)[0].Points
	at := func(x, y float64) Point {
		return Point{zero[0].X + x/100*(zero[1].X-zero[0].X), zero[0].Y + y/100*(grid[0].Y-zero[0].Y)}
	}
	wantPoints(t, "line of ER", d.of(Line, "ER")[0].Points, at(20, 100), at(40, 50), at(100, 0))
	wantPoints(t, "line of MIR", d.of(Line, "MIR")[0].Points, at(50, 50), at(75, 25))
	wantPoints(t, "band of ER", d.of(Band, "ER")[0].Points, at(20, 100), at(40, 60), at(100, 10), at(100, 0), at(40, 40),
		at(20, 90))
	if tip := d.of(Dot, "MIR")[1].Tip; tip != "MIR, 75: 25" {
		t.Errorf("the second value of MIR says %q", tip)
	}
	if n := len(d.of(Lead, "ER")) + 2*len(d.of(Lead, "MIR")); n < 2 {
		t.Error("no line leads from where MIR ends to its label")
	}
}

// TestLongLines: a line of many points has few markers where the chart is to be sparse, its last point among them.
func TestLongLines(t *testing.T) {
	l := &Lines{XMin: 1, XMax: 1000, Sparse: true,
		Series: []Series{{Label: "ER", Look: blue, Width: 2, Y: make([]float64, 1000)}}}
	l.Scale(0, 100, 1)
	d := Draw(l, Wide)
	dots := d.of(Dot)
	dots = dots[:len(dots)-1] // that of the label
	if n := len(dots); n < 15 || n > 25 || !(math.Abs(dots[n-1].Points[0].X-d.of(Zero)[0].Points[1].X) <= 1e-6) {
		t.Errorf("%d markers on a line of 1,000 points, the last at %v", n, dots[n-1].Points)
	}
}

func TestScale(t *testing.T) {
	free, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		y, half            []float64
		floor, ceiling, at float64
		want               string // the marks
		cut                bool
	}{
		{[]float64{0.013, -0.004}, nil, -free, free, 0, "-0.005 0 0.005 0.01 0.015", false},
		{[]float64{3, 5.4}, nil, -free, free, 0, "0 2 4 6", false},
		{[]float64{-20, -310}, nil, -free, free, 0, "-400 -300 -200 -100 0", false},
		{[]float64{0, nan}, nil, -free, free, 0, "0 0.2 0.4 0.6 0.8 1", false},
		{[]float64{0, 0}, nil, 0, 100, 1, "0 0.2 0.4 0.6 0.8 1", false},
		{[]float64{98}, []float64{50}, 0, 100, 1, "0 20 40 60 80 100", false}, // what lies beyond 100 is not cut
		{[]float64{30, -5}, []float64{1, 40}, -100, 100, 1, "-10 0 10 20 30 40", true},
	} {
		l := &Lines{XMin: 1, XMax: 2, Series: []Series{{Y: c.y, Half: c.half}}}
		cut := l.Scale(c.floor, c.ceiling, c.at)
		var got []string
		for _, v := range l.yTicks() {
			got = append(got, v.text)
		}
		if s := strings.Join(got, " "); s != c.want || cut != c.cut {
			t.Errorf("%v ± %v: marks %s, cut %v, want %s, %v", c.y, c.half, s, cut, c.want, c.cut)
		}
	}
}

func TestXTicks(t *testing.T) {
	for _, c := range []struct {
		min, max int
		gap      float64
		want     string
	}{
		{1, 1, 0, "[1]"}, {1, 5, 1, "[1 2 3 4 5]"}, {1, 20, 1.5, "[1 5 10 15 20]"}, {1, 23, 2, "[1 5 10 15 20 23]"},
		{1, 22, 2, "[1 5 10 15 22]"}, {1, 7, 9, "[1 7]"},
		{3, 20, 1, "[3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20]"}, {3, 20, 1.5, "[3 10 15 20]"},
		{9, 30, 2, "[9 15 20 25 30]"},
		{0, 4990, 300, "[0 500 1000 1500 2000 2500 3000 3500 4000 4500 4990]"},
		{0, 90_000, 15_000, "[0 20000 40000 60000 90000]"}, {0, 0, 1, "[0]"},
	} {
		if got := fmt.Sprint((&Lines{XMin: c.min, XMax: c.max}).xTicks(c.gap)); got != c.want {
			t.Errorf("from %d to %d, %g apart: %s, want %s", c.min, c.max, c.gap, got, c.want)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		want   []float64
		lo, hi float64
		at     string
		ok     bool
	}{
		{[]float64{10, 50}, 0, 100, "[10 50]", true},
		{[]float64{50, 50, 50}, 0, 100, "[46 50 54]", true},
		{[]float64{50, 48, 49}, 0, 100, "[53 45 49]", true},
		{[]float64{2, 0}, 0, 100, "[4 0]", true},
		{[]float64{100, 99}, 0, 100, "[100 96]", true},
		{[]float64{1, 1, 1}, 0, 7, "[0 4 8]", false}, // no room
		{nil, 0, 100, "[]", true},
	} {
		at, ok := spread(c.want, 4, c.lo, c.hi)
		if got := fmt.Sprint(at); got != c.at || ok != c.ok {
			t.Errorf("%v within %g and %g: %s, %v; want %s, %v", c.want, c.lo, c.hi, got, ok, c.at, c.ok)
		}
	}
}

// extent is where a text is drawn: above its baseline by what Liberation Sans' capitals need, below it by little.
func (d *Drawing) extent(m Mark) box {
	size := m.Size
	if size == 0 {
		size = d.Font
	}
	w := width(m.Text, size)
	x := m.Points[0].X - w*m.Anchor.share()
	return box{x, m.Points[0].Y - 0.73*size, x + w, m.Points[0].Y + 0.1*size}
}

// TestAloneManyLabelsFit: a picture without a page around it grows with its labels.
func TestAloneManyLabelsFit(t *testing.T) {
	l := &Lines{XLabel: "tasks", XMin: 1, XMax: 2}
	for range 60 {
		l.Series = append(l.Series, Series{Label: "ER", Look: blue, Width: 2, Y: []float64{1, 0}})
	}
	l.Scale(0, 100, 1)
	d := Draw(l, File("A title"))
	labels, ticks := d.of(Label), d.of(Tick)
	if got, lowest := labels[len(labels)-1].Points[0].Y, ticks[len(ticks)-1].Points[0].Y; len(labels) != 60 ||
		!(got <= lowest) {
		t.Errorf("the last of %d labels is at %.1f, below the axis' label at %.1f", len(labels), got, lowest)
	}
	if page := Draw(l, Wide); page.Labelled || page.Height != 400 {
		t.Error("on a page, where a legend can stand, it grows too")
	}
}

// TestTextsNeverOverlap draws charts of any shape in all layouts.
func TestTextsNeverOverlap(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := &Lines{XLabel: "tasks learnt", YLabel: "average accuracy, %", XMin: r.IntN(2) * r.IntN(2000)}
		n := 1 + r.IntN(200)
		if seed%2 == 0 {
			n = 1 + r.IntN(25)
		}
		l.XMax = l.XMin + n - 1
		for range 1 + r.IntN(24) {
			s := Series{Label: strings.Repeat("Wide i", 1+r.IntN(4)), Look: blue, Width: 2}
			size := math.Pow(10, float64(r.IntN(6)-3))
			for range 1 + r.IntN(n) {
				s.Y = append(s.Y, size*r.NormFloat64())
			}
			l.Series = append(l.Series, s)
		}
		l.Scale(math.Inf(-1), math.Inf(1), 0)
		for _, lay := range []Layout{Wide, Narrow, OneColumn, TwoColumns,
			File(strings.Repeat("What is to be seen ", 1+r.IntN(9)))} {
			d := Draw(l, lay)
			var texts []Mark
			for _, m := range d.Marks {
				if m.Text == "" {
					continue
				}
				a := d.extent(m)
				if !(a.x0 >= 0 && a.y0 >= 0 && a.x1 <= d.Width && a.y1 <= d.Height) {
					t.Fatalf("seed %d, width %g: %q leaves the picture: %.1f", seed, lay.Width, m.Text, a)
				}
				for _, o := range texts {
					if b := d.extent(o); a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1 {
						t.Fatalf("seed %d, width %g: %q overlaps %q", seed, lay.Width, m.Text, o.Text)
					}
				}
				texts = append(texts, m)
			}
			if lay.Alone && !d.Labelled {
				t.Fatalf("seed %d: a picture that stands alone has no labels", seed)
			}
		}
	}
}
