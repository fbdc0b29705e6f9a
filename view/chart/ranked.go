package chart

import (
	"cmp"
	"math"
	"strconv"
)

// Ranked sets things below each other, the first one best: for each a dot with its interval and the values behind it,
// and its name beside it. What they are measured against are lines through all of them.
type Ranked struct {
	Rows   []Ranking
	Bounds []Bound
	Start  float64 // the least value of all: the axis begins there unless 0 is near it. 0 makes it begin at 0
	End    float64 // that the axis goes to at least
	Unit   string  // behind the last number of the axis
}

// Ranking is a thing that is ranked.
type Ranking struct {
	Label, Text string // its name, and its value in words
	Tip         string // shown on hover; "" is both
	Look        Look
	Size        float64 // radius of the dot in pixels
	Value       Value
	Seeds       []float64 // the values behind the mean, drawn as thin marks
}

// Bound is a value that others are measured against.
type Bound struct {
	Label string
	Look  Look
	At    float64
}

// seedTick is half of the length of the mark of a value behind a mean, in pixels: it stands out above and below the
// dot.
const seedTick = 7.5

// From and to where the lines of axes go where names stand above the rows, below the top of a row and of the next one,
// in lines of text.
const (
	nameBelow = 1.6
	nameAbove = 0.3
)

// axis returns the begin of the axis, the largest value, and the distance between two marks.
func (r *Ranked) axis() (begin, longest, tick float64) {
	longest = r.End
	for _, row := range r.Rows {
		longest = max(longest, row.Value.top())
		for _, v := range row.Seeds {
			longest = max(longest, v)
		}
	}
	for _, bound := range r.Bounds {
		longest = max(longest, bound.At)
	}
	if !distant(r.Start, longest) {
		return 0, longest, tickStep(longest, 6)
	}
	tick = tickStep(max(longest-r.Start, leastSpan), 6)
	return math.Floor(r.Start/tick+1e-9) * tick, longest, tick
}

// Begin is the value at the begin of the axis.
func (r *Ranked) Begin() float64 {
	begin, _, _ := r.axis()
	return begin
}

// Whole is the chart with an axis from 0, nil where it begins there already.
func (r *Ranked) Whole() *Ranked {
	if r.Begin() == 0 {
		return nil
	}
	whole := *r
	whole.Start = 0
	return &whole
}

// rankGap is between rows of a ranking, in lines of text.
const rankGap = 0.75

func (r *Ranked) layout(d *Drawing, l Layout, b box) float64 {
	font, narrow := l.Font, l.Width < 500 && !l.Alone
	texts := 0.0
	var labels []string
	for _, row := range r.Rows {
		labels = append(labels, row.Label)
		texts = max(texts, width(row.Text, font))
	}
	begin, longest, tick := r.axis()
	end := max(begin+tick, math.Ceil(longest/tick-1e-9)*tick)
	x0, x1 := b.x0+dotRadius, b.x1-2*font
	if !narrow {
		x0 = b.x0 + min(widest(font, labels...)/certain, 0.4*(b.x1-b.x0)) + 2*toText
		x1 = b.x1 - texts/certain - 2*toText
	}
	x := func(v float64) float64 { return x0 + (v-begin)/(end-begin)*(x1-x0) }
	step := (1 + rankGap) * font
	if narrow {
		step += 1.2 * font
	}
	top := b.y0 + 0.4*font + 1.3*font*float64(len(r.Bounds))
	bottom := top + step*float64(len(r.Rows)) + 0.3*font
	// Where names stand above the rows, no line of an axis goes through them.
	down := func(m Mark, at, from float64) {
		m.Points = []Point{{at, from}, {at, bottom}}
		if !narrow {
			d.add(m)
			return
		}
		for i := range r.Rows {
			y := top + step*float64(i)
			m.Points = []Point{{at, y + nameBelow*font}, {at, y + step + nameAbove*font}}
			if i == len(r.Rows)-1 {
				m.Points[1].Y = bottom
			}
			d.add(m)
		}
	}
	for i := math.Round(begin / tick); i*tick <= end+tick/2; i++ {
		v, role := i*tick, Grid
		if i == 0 {
			role = Zero
		}
		down(Mark{Role: role}, x(v), top)
		text := thousands(strconv.FormatFloat(v, 'g', 6, 64))
		if v > end-tick/2 {
			text += " " + r.Unit
		}
		d.add(Mark{Role: Tick, Points: []Point{{x(v), bottom + 1.3*font}}, Text: text, Anchor: Middle})
	}
	for i := range r.Bounds {
		bound := &r.Bounds[i]
		y := b.y0 + font*(1+1.3*float64(i))
		down(Mark{Role: Line, Series: bound.Label, Look: &bound.Look, Width: 1.5, Dash: bound.Look.Dash, Tip: bound.Label},
			x(bound.At), y+0.3*font)
		at, anchor, half := x(bound.At), Middle, width(bound.Label, font)/certain/2
		if at-half < b.x0 {
			at, anchor = b.x0, Start
		} else if at+half > b.x1 {
			at, anchor = b.x1, End
		}
		d.add(Mark{Role: Tick, Points: []Point{{at, y}}, Text: bound.Label, Anchor: anchor})
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		y := top + step*float64(i)
		name := Mark{Role: Label, Series: row.Label, Look: &row.Look,
			Points: []Point{{x0 - 2*toText, y + 0.5*step + 0.35*font}},
			Text:   cut(row.Label, certain*(x0-2*toText-b.x0)+0.01, font), Anchor: End}
		value := Mark{Role: Tick, Series: row.Label, Look: &row.Look, Points: []Point{{b.x1, name.Points[0].Y}},
			Text: row.Text, Anchor: End}
		at := y + 0.5*step
		if narrow {
			at = y + step - 0.85*font
			name.Points, name.Anchor, name.Text = []Point{{b.x0, y + 1.25*font}}, Start,
				cut(row.Label, certain*(b.x1-b.x0)-width(row.Text, font)-2*toText, font)
			value.Points[0].Y = y + 1.25*font
		}
		d.add(name)
		d.add(value)
		row.draw(d, x, at, begin)
	}
	return bottom + 1.8*font
}

// draw draws the interval of a row, the values behind its mean, and the mean.
func (row *Ranking) draw(d *Drawing, x func(float64) float64, y, begin float64) {
	mark := func(role Role, points ...Point) Mark {
		return Mark{Role: role, Series: row.Label, Look: &row.Look, Points: points}
	}
	if v := row.Value; v.interval() {
		d.add(mark(Whisker, Point{x(max(v.Low, begin)), y}, Point{x(v.High), y}))
	}
	for _, v := range row.Seeds {
		d.add(mark(Hair, Point{x(v), y - seedTick}, Point{x(v), y + seedTick}))
	}
	if !math.IsNaN(row.Value.At) {
		m := mark(Dot, Point{x(row.Value.At), y})
		m.Size, m.Tip = row.Size, cmp.Or(row.Tip, row.Label+": "+row.Text)
		d.add(m)
	}
}
