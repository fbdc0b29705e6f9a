package chart

import (
	"math"
	"strings"
	"testing"
)

// stacks are two bars, the longer one of 80 and 20.
func stacks() *Bars {
	return &Bars{
		Parts: []string{"training", "testing"}, Say: func(v float64) string { return "so long" },
		Bars: []Stack{
			{Label: "ER", Look: blue, Parts: []float64{80, 20}, Text: "100 seconds"},
			{Label: "MIR", Look: red, Parts: []float64{0, 50}, Text: strings.Repeat("many words ", 20)},
		},
	}
}

func TestBarsAreProportional(t *testing.T) {
	d := Draw(stacks(), Wide)
	bars := d.of(Bar)
	if len(bars) != 3 {
		t.Fatalf("%d parts are drawn, want 3: one is zero", len(bars))
	}
	// The longest is as wide as the picture, 720 pixels.
	y := 4 + 1.35*13 + 3
	wantPoints(t, "first part of ER", bars[0].Points, Point{0, y}, Point{576, y}, Point{576, y + 16}, Point{0, y + 16})
	wantPoints(t, "second part of ER", bars[1].Points, Point{576, y}, Point{720, y}, Point{720, y + 16},
		Point{576, y + 16})
	lines := d.of(Label, "MIR")
	if len(lines) < 2 {
		t.Fatal("long words are not broken into lines")
	}
	y += 16 - 3 + 14 + 1.35*13*float64(len(lines)) + 3
	wantPoints(t, "MIR", bars[2].Points, Point{0, y}, Point{360, y}, Point{360, y + 16}, Point{0, y + 16})
	if bars[1].Opacity != 0.6 || bars[1].Tip != "testing: so long" || d.Height != y+16-3+14 {
		t.Errorf("opacity %g, %q, height %g", bars[1].Opacity, bars[1].Tip, d.Height)
	}
	for _, m := range lines {
		if !(width(m.Text, 13) <= 720) {
			t.Errorf("%q is wider than the picture", m.Text)
		}
	}
	if empty := Draw(&Bars{Bars: []Stack{{Label: "ER", Look: blue}}}, Wide); len(empty.of(Bar)) > 0 {
		t.Error("a bar without parts is drawn")
	}
}

// matrix is a heat map of two rows with a gap.
func matrix() *Heat {
	return &Heat{RowLabel: "after", ColLabel: "on", Rows: []string{"1", "2"}, Cols: []string{"1", "2"},
		V: [][]float64{{0.5, math.NaN()}, {0, 1}}}
}

func TestHeatCells(t *testing.T) {
	d := Draw(matrix(), Wide)
	// "1" is 7.2 pixels wide; cells begin at whole pixels.
	const x, y = 16.0, 43.0
	cells := d.of(Cell)[:3]
	wantPoints(t, "first cell", cells[0].Points, Point{x, y}, Point{x + 33, y}, Point{x + 33, y + 33}, Point{x, y + 33})
	wantPoints(t, "cell 2, 2", cells[2].Points, Point{x + 34, y + 34}, Point{x + 67, y + 34}, Point{x + 67, y + 67},
		Point{x + 34, y + 67})
	for i, want := range []string{Hex(HeatColor(10, false)), Hex(HeatColor(0, false)), Hex(HeatColor(20, false))} {
		if cells[i].Color != want {
			t.Errorf("cell %d is %s, want %s", i, cells[i].Color, want)
		}
	}
	numbers := d.of(Number)
	wantPoints(t, "number", numbers[0].Points, Point{x + 17, y + 17 + 0.35*0.85*13})
	if numbers[0].Text != "50" || numbers[2].Text != "100" || numbers[2].Color != "#ffffff" ||
		numbers[1].Color != "#000000" {
		t.Errorf("numbers are %v", numbers)
	}
	if !matrix().HasGaps() || len(d.of(Cell)) != 3+HeatSteps {
		t.Errorf("%d cells, want 3 and a key of %d", len(d.of(Cell)), HeatSteps)
	}
	at, _, _ := pngOf(t, d)
	if got := at(Point{x + 38, y + 38}); !alike(got, HeatColor(20, false)) {
		t.Errorf("the pixel in cell 2, 2 is %v", got)
	}
	// A picture that stands alone is as wide as it needs.
	if alone := Draw(matrix(), File("A title")); alone.Width != 320+File("").Margin {
		t.Errorf("alone it is %g wide", alone.Width)
	}
}

// TestSmallCellsAreJoined: a large matrix is a few rectangles, which cover the same area.
func TestSmallCellsAreJoined(t *testing.T) {
	h := &Heat{V: make([][]float64, 100)}
	for i := range h.V {
		h.Rows, h.Cols = append(h.Rows, "r"), append(h.Cols, "c")
		h.V[i] = make([]float64, 100)
		h.V[i][i] = 1
	}
	h.V[3][50] = math.NaN()
	d := Draw(h, Wide)
	area, cells := 0.0, d.of(Cell)
	cells = cells[:len(cells)-HeatSteps]
	for _, m := range cells {
		area += (m.Points[1].X - m.Points[0].X) * (m.Points[2].Y - m.Points[1].Y)
	}
	const side = 7.0 // 720 pixels for 100, in steps of half a pixel
	if len(cells) != 299 || area != 9_999*side*side || len(d.of(Number)) > 0 {
		t.Errorf("%d rectangles of %g pixels, want 299 of %g", len(cells), area, 9_999*side*side)
	}
}

// TestRankedPlaces: dots, intervals and bounds of a ranking are where their values are, and nothing leaves the picture.
func TestRankedPlaces(t *testing.T) {
	r := &Ranked{Unit: "%", Bounds: []Bound{{"low 10", red, 10}}, Rows: []Ranking{
		{Label: "ER", Text: "50.0 ± 10.0", Look: blue, Size: 4, Value: Value{50, 40, 60}, Seeds: []float64{45, 55}},
		{Label: strings.Repeat("a long name ", 20), Text: "20.0", Look: red, Size: 4,
			Value: Value{20, math.NaN(), math.NaN()}},
	}}
	for _, l := range []Layout{Broad, Narrow, File("A title")} {
		d := Draw(r, l)
		zero, grid := d.of(Zero)[0].Points[0].X, d.of(Grid)[0].Points[0].X // at 0 and 10
		x := func(v float64) float64 { return zero + v/10*(grid-zero) }
		dots, ticks := d.of(Dot), d.of(Hair)
		if len(dots) != 2 || len(ticks) != 2 || len(d.of(Whisker)) != 1 {
			t.Fatalf("width %g: %d dots, %d values, %d intervals", l.Width, len(dots), len(ticks), len(d.of(Whisker)))
		}
		y := dots[0].Points[0].Y
		wantPoints(t, "dot", dots[0].Points, Point{x(50), y})
		wantPoints(t, "interval", d.of(Whisker)[0].Points, Point{x(40), y}, Point{x(60), y})
		wantPoints(t, "value", ticks[0].Points, Point{x(45), y - seedTick}, Point{x(45), y + seedTick})
		if bound := d.of(Line)[0].Points; !(math.Abs(bound[0].X-x(10)) < 1e-6) || !(dots[1].Points[0].Y > y) {
			t.Errorf("width %g: the bound is at %v", l.Width, bound)
		}
		for _, m := range d.Marks {
			if m.Text == "" {
				continue
			}
			if a := d.extent(m); !(a.x0 >= -1e-6 && a.x1 <= d.Width && a.y1 <= d.Height) {
				t.Errorf("width %g: %q leaves the picture: %.1f", l.Width, m.Text, a)
			}
		}
	}
}

// TestPanelsShareAxes: each panel has its title above it, and the same scale.
func TestPanelsShareAxes(t *testing.T) {
	p := &Panels{YLabel: "accuracy, %"}
	for _, title := range []string{"one", "two", "three", "four", "five"} {
		l := known()
		l.YLabel = ""
		p.Panels = append(p.Panels, Panel{title, l})
	}
	for columns, l := range map[int]Layout{3: Broad, 1: Narrow, 2: File("A title")} {
		d := Draw(p, l)
		heads, zeros := d.of(Heading), d.of(Zero)
		if len(heads) != 5 || len(zeros) != 5 || !d.Labelled {
			t.Fatalf("%d titles, %d axes, labelled %v", len(heads), len(zeros), d.Labelled)
		}
		for i := range heads {
			if same := heads[i].Points[0].Y == heads[0].Points[0].Y; same != (i < columns) ||
				!(zeros[i].Points[0].Y > heads[i].Points[0].Y) {
				t.Errorf("width %g: panel %d is at %v", l.Width, i, heads[i].Points[0])
			}
			if !(zeros[i].Points[0].Y <= d.Height) {
				t.Errorf("width %g: panel %d leaves the picture", l.Width, i)
			}
		}
	}
}

// TestShades: shades of a colour differ in lightness, on light and on dark pages, and shade 0 is the colour.
func TestShades(t *testing.T) {
	for _, hex := range []string{"#0C5BAF", "#58C0E6", "#161616", "#F5F5F5"} {
		for _, dark := range []bool{false, true} {
			seen := map[string]bool{}
			for shade := range 5 {
				seen[Shade(hex, shade, dark)] = true
			}
			if len(seen) != 5 || Shade(hex, 0, dark) != hex {
				t.Errorf("%s has the shades %v", hex, seen)
			}
		}
	}
}
