package chart

import "slices"

// Bars are stacked horizontal bars, each below the words that say what it shows.
type Bars struct {
	Parts []string // what the parts of each bar are
	Bars  []Stack
	Say   func(v float64) string // a part in words, for hover
}

// Stack is one bar: its parts add up.
type Stack struct {
	Label string
	Look  Look
	Parts []float64
	Text  string    // the values in words
	Tips  []string  // of the parts, shown on hover; nil is their names and values
	Marks []float64 // values that are compared with the bar's, as lines across it
}

// Sum is the length of the bar.
func (s Stack) Sum() float64 {
	sum := 0.0
	for _, v := range s.Parts {
		sum += v
	}
	return sum
}

// opacities of the parts of a bar; the first part is the fullest.
var opacities = []float64{1, 0.6, 0.3, 0.12}

const (
	barHeight = 16.0
	barGap    = 14.0 // to the next bar's words

	// certain is the share of the room that a text may fill, measured with the widths of Liberation Sans. A browser that
	// lacks this font uses another one; DejaVu Sans, for example, is a seventh wider.
	certain = 0.85
)

func (c *Bars) layout(d *Drawing, l Layout, b box) float64 {
	longest := 0.0
	for _, s := range c.Bars {
		longest = max(longest, s.Sum(), slices.Max(append(s.Marks, 0)))
	}
	if longest == 0 {
		longest = 1
	}
	scale := (b.x1 - b.x0) / longest
	y := b.y0 + 4
	for i := range c.Bars {
		s := &c.Bars[i]
		for _, line := range wrap(s.Label+": "+s.Text, certain*(b.x1-b.x0), l.Font) {
			y += 1.35 * l.Font
			d.add(Mark{Role: Label, Series: s.Label, Look: &s.Look, Points: []Point{{b.x0, y - 0.25*l.Font}}, Text: line})
		}
		x, top, bottom := b.x0, y+3, y+3+barHeight
		for k, v := range s.Parts {
			if !(v > 0) && !(v == 0 && len(s.Parts) == 1) { // a bar of nothing is a line, which can be looked into
				continue
			}
			m := Mark{Role: Bar, Series: s.Label, Look: &s.Look, Opacity: opacities[k%len(opacities)]}
			m.Points = []Point{{x, top}, {x + v*scale, top}, {x + v*scale, bottom}, {x, bottom}}
			switch {
			case s.Tips != nil:
				m.Tip = s.Tips[k]
			case c.Say != nil:
				m.Tip = c.Parts[k] + ": " + c.Say(v)
			}
			d.add(m)
			x += v * scale
		}
		for _, v := range s.Marks {
			d.beside(b.x0+v*scale, top-3, bottom+3)
		}
		y = bottom - 3 + barGap
	}
	return y
}

// beside draws a value that another one is compared with, as a line that can be seen on any colour.
func (d *Drawing) beside(x, top, bottom float64) {
	for _, role := range []Role{Halo, Beside} {
		d.add(Mark{Role: role, Points: []Point{{x, top}, {x, bottom}}})
	}
}
