package chart

import (
	"math"
	"strings"
	"testing"
)

// pairs are two rows of two values, one without an interval and one that is missing.
func pairs() *Compare {
	none := math.NaN()
	return &Compare{Groups: []Group{{"ours", blue}, {"theirs", red}}, Unit: "%", Rows: []Row{
		{Label: "ER", Look: blue, Values: []Value{{20, 15, 25}, {40, 35, 47}}},
		{Label: "MIR", Look: red, Values: []Value{{10, none, none}, {none, none, none}}},
	}}
}

func TestCompareDots(t *testing.T) {
	d := Draw(pairs(), Wide)
	filled, hollow := append(d.of(Dot, "ER"), d.of(Dot, "MIR")...), append(d.of(Ring, "ER"), d.of(Ring, "MIR")...)
	whiskers := d.of(Whisker)
	if len(filled) != 2 || len(hollow) != 1 || len(whiskers) != 2 {
		t.Fatalf("%d filled dots, %d hollow ones and %d intervals, want 2, 1 and 2", len(filled), len(hollow), len(whiskers))
	}
	// The axis goes from 0 to 50.
	x0 := widest(13, "MIR") + 12
	x := func(v float64) float64 { return x0 + v/50*(720-width("50 %", 13)/2-x0) }
	for _, c := range []struct {
		name string
		m    Mark
		want float64
	}{{"ER", filled[0], 20}, {"MIR", filled[1], 10}, {"ER of the others", hollow[0], 40}} {
		if at := c.m.Points[0].X; !(math.Abs(at-x(c.want)) < 1e-9) {
			t.Errorf("%s is at %g, want %g", c.name, at, x(c.want))
		}
	}
	y := hollow[0].Points[0].Y
	wantPoints(t, "interval", whiskers[1].Points, Point{x(35), y}, Point{x(47), y})
	if gap := y - filled[0].Points[0].Y; gap != dotStep {
		t.Errorf("the values of a row are %g apart, want %g", gap, dotStep)
	}
	var ticks []string
	for _, m := range d.of(Tick) {
		ticks = append(ticks, m.Text)
	}
	if got := strings.Join(ticks, ","); got != "0,10,20,30,40,50 %" {
		t.Errorf("the axis says %s", got)
	}
	if d.Height <= d.of(Tick)[0].Points[0].Y {
		t.Error("the axis is below the picture")
	}
}

func TestCompareBars(t *testing.T) {
	c := pairs()
	c.Bars, c.Unit = true, "ms"
	d := Draw(c, Wide)
	first := d.of(Bar, "ours")[1] // the first is in the legend
	other := d.of(Bar, "theirs")[1]
	length := func(m Mark) float64 { return m.Points[1].X - m.Points[0].X }
	if !(math.Abs(2*length(first)-length(other)) < 1e-9) {
		t.Errorf("40 is %g long and 20 is %g", length(other), length(first))
	}
	var words []string
	for _, m := range d.of(Label) {
		words = append(words, m.Text)
		if right := m.Points[0].X + width(m.Text, 13)*(1-m.Anchor.share()); right > 720 {
			t.Errorf("%q ends at %g, outside the picture", m.Text, right)
		}
	}
	if got := strings.Join(words, ","); got != "ours,theirs,ER,20 ms,40 ms,MIR,10 ms" {
		t.Errorf("the words are %s", got)
	}
	// the first is the axis; 15 to 25 is half of 20
	if line := d.of(Zero)[1]; !(math.Abs(line.Points[1].X-line.Points[0].X-length(first)/2) < 1e-9) {
		t.Errorf("the interval is drawn from %v", line.Points)
	}
	for v, want := range map[float64]string{3.14: "3.1 ms", 999: "999 ms", 1210.4: "1,210 ms"} {
		if say := c.say(v); say != want {
			t.Errorf("%g is %s, want %s", v, say, want)
		}
	}
}

// TestAdaptive: a file that adapts has each colour of its looks twice, and none at its marks.
func TestAdaptive(t *testing.T) {
	text := string(Draw(pairs(), Wide).Adaptive("<ER>", "more & more"))
	light, dark, ok := strings.Cut(text, "@media (prefers-color-scheme:dark)")
	if !ok {
		t.Fatal("it is the same on a dark page")
	}
	for _, l := range []Look{blue, red} {
		if !strings.Contains(light, ".m-"+l.Class+"{--c:"+l.Light+"}") ||
			!strings.Contains(dark, ".m-"+l.Class+"{--c:"+l.Dark+"}") {
			t.Errorf("it lacks a colour of %s", l.Class)
		}
	}
	_, marks, _ := strings.Cut(dark, "</style>")
	if strings.Contains(marks, "#") {
		t.Error("a mark has a colour of its own")
	}
	// and the style
	if got, want := len(geometry(t, text)), len(geometry(t, string(Draw(pairs(), Wide).SVG("T", "D")))); got != want+1 {
		t.Errorf("it draws %d things, want %d as in a file", got, want)
	}
}

// TestMarksBeside: a value that another one is compared with is a line across its row or bar, with a halo, and no text
// lies over it.
func TestMarksBeside(t *testing.T) {
	c := pairs()
	c.Bars, c.Rows[0].Marks = true, []float64{60, math.NaN()}
	d := Draw(c, Wide)
	marks, halos := d.of(Beside), d.of(Halo)
	if len(marks) != 1 || len(halos) != 1 {
		t.Fatalf("%d marks and %d halos, want one each", len(marks), len(halos))
	}
	bar := d.of(Bar, "ours")[1].Points
	at := bar[0].X + 3*(bar[1].X-bar[0].X) // the bar is 20 long
	if x := marks[0].Points[0].X; !(math.Abs(x-at) < 1e-6) || marks[0].Points[1].X != x ||
		!(marks[0].Points[0].Y < bar[2].Y && bar[0].Y < marks[0].Points[1].Y) {
		t.Errorf("the mark goes from %v to %v, want across the bar at %g", marks[0].Points[0], marks[0].Points[1], at)
	}
	for _, m := range d.of(Label) {
		if a := d.extent(m); m.Text == "20 %" && !(a.x0 > at) {
			t.Errorf("%q lies over the mark", m.Text)
		}
	}
	b := stacks()
	b.Bars[1].Marks = []float64{100}
	if marks := Draw(b, Wide).of(Beside); len(marks) != 1 || !(math.Abs(marks[0].Points[0].X-720) < 1e-6) {
		t.Errorf("marks of bars are %v", marks)
	}
}
