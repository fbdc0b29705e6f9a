package chart

import (
	"math"
	"strconv"
	"strings"
)

// Compare is a grouped chart: each row has a value of every group, side by side, as bars or as dots.
type Compare struct {
	Groups []Group
	Rows   []Row
	Unit   string // behind the last number of the axis
	// bars from 0, with the value behind their ends, in the looks of the groups; otherwise dots with intervals, in the
	// looks of the rows
	Bars bool
}

// Group is a series of values, one in each row of a [Compare], or a kind of points of a [Scatter]. The legend shows its
// name and look. The dots of the first group of a [Compare] are filled, those of the others hollow.
type Group struct {
	Name string
	Look Look
}

// Row has the values of one thing.
type Row struct {
	Label  string
	Look   Look
	Values []Value   // one for each group
	Marks  []float64 // what each value is compared with, a line across it; NaN is none, and nil are none
}

// Value is a value with an interval. What is NaN is not drawn.
type Value struct{ At, Low, High float64 }

const (
	dotStep    = 11.0 // between the dots of a row
	barStep    = 18.0 // between its bars, which have words at their ends
	compareGap = 9.0  // between rows
	dotRadius  = 4.0
	toText     = 6.0 // from a bar, an axis or a marker to its words
)

func (c *Compare) layout(d *Drawing, l Layout, b box) float64 {
	labels, longest, above := []string{}, 0.0, 0.0
	for _, r := range c.Rows {
		labels = append(labels, r.Label)
		for _, v := range r.Values {
			if !math.IsNaN(v.At) {
				longest, above = max(longest, v.At, v.top()), max(above, width(c.say(v.At), l.Font))
			}
		}
		for _, v := range r.Marks {
			if !math.IsNaN(v) {
				longest = max(longest, v)
			}
		}
	}
	tick := tickStep(longest, 6)
	end := max(tick, math.Ceil(longest/tick-1e-9)*tick)
	x0 := b.x0 + widest(l.Font, labels...) + 2*toText
	x1 := b.x1 - width(c.say(end), l.Font)/2
	if c.Bars {
		x1 = b.x1 - toText - above
	}
	x := func(v float64) float64 { return x0 + v/end*(x1-x0) }
	top := b.y0 + 1.2*l.Font
	role := dotOf
	if c.Bars {
		role = func(int) Role { return Bar }
	}
	legend(d, l, c.Groups, Point{x0, top}, role)

	height := c.step()*float64(len(c.Groups)) + compareGap
	top += 1.2 * l.Font
	bottom := top + height*float64(len(c.Rows))
	for i := 0.0; i*tick <= end+tick/2; i++ {
		v := i * tick
		role := Grid
		if v == 0 {
			role = Zero
		}
		d.add(Mark{Role: role, Points: []Point{{x(v), top}, {x(v), bottom}}})
		text := thousands(strconv.FormatFloat(v, 'g', 6, 64))
		if v > end-tick/2 {
			text += " " + c.Unit
		}
		d.add(Mark{Role: Tick, Points: []Point{{x(v), bottom + 1.4*l.Font}}, Text: text, Anchor: Middle})
	}
	for i := range c.Rows {
		c.row(d, &c.Rows[i], x, top+height*float64(i)+compareGap/2, l.Font)
	}
	return bottom + 1.8*l.Font
}

// step is the distance between two values of a row in pixels.
func (c *Compare) step() float64 {
	if c.Bars {
		return barStep
	}
	return dotStep
}

// interval says whether the value has an interval.
func (v Value) interval() bool { return !math.IsNaN(v.Low) && !math.IsNaN(v.High) }

// top is the upper end of the interval, or the value where there is none.
func (v Value) top() float64 {
	if v.interval() {
		return v.High
	}
	return v.At
}

// say returns the value with half of its interval and its unit, for the text on hover.
func (v Value) say(unit string) string {
	text := strconv.FormatFloat(v.At, 'f', 1, 64)
	if v.interval() {
		text += " ± " + strconv.FormatFloat((v.High-v.Low)/2, 'f', 1, 64)
	}
	return text + " " + unit
}

// say returns a value with its unit, for the text at the end of a bar.
func (c *Compare) say(v float64) string {
	text := strconv.FormatFloat(v, 'f', 0, 64)
	if v < 10 {
		text = strconv.FormatFloat(v, 'f', 1, 64)
	}
	return thousands(text) + " " + c.Unit
}

// thousands sets a comma before the last three digits of a whole number below a million.
func thousands(text string) string {
	if n := len(text); n > 3 && n <= 6 && !strings.Contains(text, ".") {
		return text[:n-3] + "," + text[n-3:]
	}
	return text
}

// legend draws the names of groups from a place to the right, each behind its mark.
func legend(d *Drawing, l Layout, groups []Group, at Point, role func(group int) Role) {
	for k := range groups {
		s := &groups[k]
		m := Mark{Role: role(k), Series: s.Name, Look: &s.Look, Points: []Point{{at.X + dotRadius, at.Y - 0.35*l.Font}},
			Size: dotRadius}
		if m.Role == Bar {
			middle := m.Points[0]
			m.Points = rectangle(middle.X-dotRadius, middle.Y-dotRadius, middle.X+dotRadius, middle.Y+dotRadius)
		}
		d.add(m)
		at.X += 2*dotRadius + toText
		d.add(Mark{Role: Label, Points: []Point{at}, Text: s.Name})
		at.X += width(s.Name, l.Font) + 3*toText
	}
}

// dotOf is the role of the dots of a group.
func dotOf(group int) Role {
	if group == 0 {
		return Dot
	}
	return Ring
}

// row draws a row from y down.
func (c *Compare) row(d *Drawing, r *Row, x func(float64) float64, y, font float64) {
	step := c.step()
	middle := y + step*float64(len(c.Groups))/2
	d.add(Mark{Role: Label, Points: []Point{{x(0) - 2*toText, middle + 0.35*font}}, Text: r.Label, Anchor: End})
	for k, v := range r.Values {
		at := y + step*(float64(k)+0.5)
		if math.IsNaN(v.At) {
			continue
		}
		look, series := &r.Look, r.Label
		if c.Bars {
			look, series = &c.Groups[k].Look, c.Groups[k].Name
			d.add(Mark{Role: Bar, Series: series, Look: look, Points: rectangle(x(0), at-step/2+1, x(v.At), at+step/2-1),
				Tip: r.Label + ": " + v.say(c.Unit)})
			if v.interval() {
				d.add(Mark{Role: Zero, Points: []Point{{x(v.Low), at}, {x(v.High), at}}})
			}
			end := v.top()
			if k < len(r.Marks) && r.Marks[k] > end {
				end = r.Marks[k]
			}
			d.add(Mark{Role: Label, Points: []Point{{x(end) + toText, at + 0.35*font}}, Text: c.say(v.At)})
			continue
		}
		if v.interval() {
			d.add(Mark{Role: Whisker, Series: series, Look: look, Points: []Point{{x(max(v.Low, 0)), at}, {x(v.High), at}}})
		}
		d.add(Mark{Role: dotOf(k), Series: series, Look: look, Points: []Point{{x(v.At), at}}, Size: dotRadius})
	}
	for k, v := range r.Marks {
		if at := y + step*(float64(k)+0.5); !math.IsNaN(v) {
			d.beside(x(v), at-step/2+1, at+step/2-1)
		}
	}
}

// rectangle is the corners of an area.
func rectangle(x0, y0, x1, y1 float64) []Point {
	return []Point{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}}
}
