package chart

import (
	"fmt"
	"math"
	"strconv"
)

// Lines is a line chart over whole-numbered x, such as tasks or steps. Call Scale before it is drawn.
type Lines struct {
	XLabel, YLabel string
	XMin, XMax     int // x runs from here to there
	YMin, YMax     float64
	Percent        bool // the values are read with one decimal
	Sparse         bool // few markers and no values on hover, where a page has many lines
	Series         []Series
	Cuts           []int                        // x of upright lines, such as the ends of tasks
	Say            func(y, half float64) string // a value and its half width in words, for hover

	Zoom bool // the axis need not begin at 0

	step                  float64 // between the marks of the y axis
	floor, ceiling, least float64 // that [Lines.Scale] was given
}

// Series is one line. NaN is a gap.
type Series struct {
	Label  string
	Name   string // in full, where the label is shorter
	Look   Look
	Width  float64 // of the line, in pixels
	Y      []float64
	X      []int       // of Y, rising; nil is XMin, XMin+1, …
	Half   []float64   // half widths of the intervals, NaN without
	Single [][]float64 // the runs behind the mean, drawn thin
	Seeds  []uint64    // of these runs, or of the only one
	Plain  bool        // the runs behind the mean are not drawn, only told
	Hollow bool        // the second of two lines of one look: thinner, with hollow markers
}

const (
	// Crowd is the largest number of series with which single runs are drawn. With more series, they would hide the means,
	// and bands are drawn fainter.
	Crowd = 6
	// many is the largest number of series with which every point has a marker and shows its value on hover.
	many = 12
	// fewSeeds is the largest number of runs behind a mean that are points of their own, without an interval.
	fewSeeds = 2
	// seedRadius is that of such a point, in pixels.
	seedRadius = 1.7
	// maxMarkers is about how many markers a long line has where there are few.
	maxMarkers = 20
)

// End is the index of the last measured point of a series, and its value; ok is false if there is none.
func (s *Series) End() (i int, y float64, ok bool) {
	for i := len(s.Y) - 1; i >= 0; i-- {
		if !math.IsNaN(s.Y[i]) {
			return i, s.Y[i], true
		}
	}
	return 0, 0, false
}

// Thin drops points so that most are left at most, the last one among them. It reports whether any were dropped.
func (s *Series) Thin(most int) bool {
	every := (len(s.Y) + most - 1) / most
	if every < 2 {
		return false
	}
	kept := Series{Single: make([][]float64, len(s.Single))}
	for i := (len(s.Y) - 1) % every; i < len(s.Y); i += every {
		for k, run := range s.Single {
			kept.Single[k] = append(kept.Single[k], run[i])
		}
		kept.X, kept.Y, kept.Half = append(kept.X, s.X[i]), append(kept.Y, s.Y[i]), append(kept.Half, s.Half[i])
	}
	s.X, s.Y, s.Half, s.Single = kept.X, kept.Y, kept.Half, kept.Single
	return true
}

// X returns the position of value i of a series on the axis.
func (l *Lines) X(s *Series, i int) int {
	if s.X != nil {
		return s.X[i]
	}
	return l.XMin + i
}

// ink is the width of the line in pixels.
func (s *Series) ink() float64 {
	if s.Hollow {
		return 0.55 * s.Width
	}
	return s.Width
}

// radius is the radius of the markers in pixels. Wider lines have larger markers.
func (s *Series) radius() float64 { return 1.8 + 0.6*s.Width }

// mark starts a mark of the series.
func (s *Series) mark(r Role, p ...Point) Mark {
	return Mark{Role: r, Series: s.Label, Look: &s.Look, Points: p}
}

// marker is the series' marker around a point.
func (s *Series) marker(at Point, radius float64) Mark {
	if s.Hollow {
		return Mark{Role: Ring, Series: s.Label, Look: &s.Look, Points: []Point{at}, Size: radius}
	}
	return Mark{Role: Dot, Series: s.Label, Look: &s.Look, Points: []Point{at}, Size: radius}
}

// frame is the area of a line chart between its axes.
type frame struct {
	*Lines
	box
}

// at is the place of y where value i of a series is.
func (f frame) at(s *Series, i int, y float64) Point { return Point{f.x(f.X(s, i)), f.y(y)} }

func (f frame) x(x int) float64 {
	if f.XMax <= f.XMin {
		return (f.x0 + f.x1) / 2
	}
	return f.x0 + float64(x-f.XMin)/float64(f.XMax-f.XMin)*(f.x1-f.x0)
}

func (f frame) y(y float64) float64 { return f.y1 - (y-f.YMin)/(f.YMax-f.YMin)*(f.y1-f.y0) }

// clamped is at with y kept between the ends of the axis.
func (f frame) clamped(s *Series, i int, y float64) Point {
	return f.at(s, i, math.Min(math.Max(y, f.YMin), f.YMax))
}

func (l *Lines) layout(d *Drawing, lay Layout, b box) float64 {
	font := lay.Font
	ticks := l.yTicks()
	left := 0.0
	for _, t := range ticks {
		left = max(left, width(t.text, font))
	}
	if need := 1.2 * font * float64(len(l.Series)-1); lay.Alone {
		// A figure in a file has no legend to replace the labels, so it grows until they fit.
		b.y1 = max(b.y1, b.y0+need+5*font+20)
	}
	f := frame{l, box{b.x0 + left + 8, b.y0 + font + 14, b.x1 - 16, b.y1 - 2.9*font - 6}}
	labels := l.labels(lay, &f, b.x1-2)
	if l.YLabel != "" {
		d.add(Mark{Role: Tick, Points: []Point{{b.x0, b.y0 + font}}, Text: l.From(l.YLabel)})
	}
	for _, t := range ticks {
		role, y := Grid, f.y(t.at)
		if t.at == 0 {
			role = Zero
		}
		d.add(Mark{Role: role, Points: []Point{{f.x0, y}, {f.x1, y}}})
		d.add(Mark{Role: Tick, Points: []Point{{f.x0 - 6, y + 0.35*font}}, Text: t.text, Anchor: End})
	}
	for _, x := range l.Cuts {
		d.add(Mark{Role: Grid, Points: []Point{{f.x(x), f.y0}, {f.x(x), f.y1}}})
	}
	gap := widest(font, strconv.Itoa(l.XMax)) + 0.6*font
	for _, t := range l.xTicks(gap / (f.x1 - f.x0) * float64(l.XMax-l.XMin)) {
		d.add(Mark{Role: Tick, Points: []Point{{f.x(t), f.y1 + 1.5*font}}, Text: strconv.Itoa(t), Anchor: Middle})
	}
	d.add(Mark{Role: Tick, Points: []Point{{(f.x0 + f.x1) / 2, f.y1 + 2.9*font}}, Text: l.XLabel, Anchor: Middle})
	// Bands lie below all lines, so that none hides another series.
	for i := range l.Series {
		l.Series[i].bands(d, f)
	}
	for i := range l.Series {
		l.Series[i].line(d, f)
		if labels != nil {
			l.Series[i].label(d, f, labels[i], font)
		}
	}
	d.Labelled, d.frame = labels != nil, f
	return b.y1
}

// bands draws the intervals of a series and its single runs.
func (s *Series) bands(d *Drawing, f frame) {
	crowded := len(f.Series) > Crowd
	role := Band
	if crowded {
		role = Faint
	}
	for _, part := range pieces(len(s.Y), func(i int) bool { return i < len(s.Half) && !math.IsNaN(s.Y[i]+s.Half[i]) }) {
		if len(part) < 2 {
			i := part[0]
			d.add(s.mark(Whisker, f.clamped(s, i, s.Y[i]-s.Half[i]), f.clamped(s, i, s.Y[i]+s.Half[i])))
			continue
		}
		m := s.mark(role)
		for _, i := range part {
			m.Points = append(m.Points, f.clamped(s, i, s.Y[i]+s.Half[i]))
		}
		for k := range part {
			i := part[len(part)-1-k]
			m.Points = append(m.Points, f.clamped(s, i, s.Y[i]-s.Half[i]))
		}
		d.add(m)
	}
	for _, single := range s.Single {
		if crowded || s.Plain {
			break
		}
		if len(s.Single) > fewSeeds || f.Sparse {
			s.polylines(d, f, single, s.mark(Single))
			continue
		}
		for i, y := range single {
			if math.IsNaN(y) {
				continue
			}
			m := s.mark(Seed, f.at(s, i, y))
			m.Size = seedRadius
			d.add(m)
		}
	}
}

// line draws the line of a series and its markers.
func (s *Series) line(d *Drawing, f frame) {
	m := s.mark(Line)
	m.Width, m.Dash, m.Tip = s.ink(), s.Look.Dash, s.Label
	s.polylines(d, f, s.Y, m)
	sparse, every := f.Sparse || len(f.Series) > many, 1
	if sparse {
		every = max(5, len(s.Y)/maxMarkers)
	}
	last, _, _ := s.End()
	for i, y := range s.Y {
		if math.IsNaN(y) || i%every > 0 && i != last {
			continue
		}
		m := s.marker(f.at(s, i, y), s.radius())
		if !sparse && f.Say != nil {
			half := math.NaN()
			if i < len(s.Half) {
				half = s.Half[i]
			}
			m.Tip = fmt.Sprintf("%s, %d: %s", s.Label, f.X(s, i), f.Say(y, half))
		}
		d.add(m)
	}
}

// polylines joins the measured points; a gap stays a gap.
func (s *Series) polylines(d *Drawing, f frame, y []float64, m Mark) {
	for _, part := range pieces(len(y), func(i int) bool { return !math.IsNaN(y[i]) }) {
		if len(part) < 2 {
			continue
		}
		m.Points = nil
		for _, i := range part {
			m.Points = append(m.Points, f.at(s, i, y[i]))
		}
		d.add(m)
	}
}

// pieces are the runs of consecutive indices for which ok holds.
func pieces(n int, ok func(int) bool) [][]int {
	var out [][]int
	for i := range n {
		switch {
		case !ok(i):
			continue
		case i > 0 && ok(i-1):
			out[len(out)-1] = append(out[len(out)-1], i)
		default:
			out = append(out, []int{i})
		}
	}
	return out
}
