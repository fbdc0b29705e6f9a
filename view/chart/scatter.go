package chart

import (
	"cmp"
	"math"
	"strconv"
)

// Scatter is points by two values that are not negative, each with its name beside it.
type Scatter struct {
	XLabel, YLabel string
	Points         []Spot
	Equal          bool    // both axes have one scale, and a line goes where the values are equal
	Groups         []Group // of points, which a legend above them names; nil is no legend
}

// Spot is a point of a [Scatter].
type Spot struct {
	Label string // "" is no name beside it
	Group string // of [Scatter.Groups]; "" means none
	Tip   string // shown on hover; "" is the label
	Look  Look
	X, Y  float64
	Half  float64 // half of the interval of Y; NaN without
	Wide  float64 // half of the interval of X; 0 without
}

// fineRadius is the radius in pixels of a point with intervals in both directions. It is small, as many intervals
// cross.
const fineRadius = 3.0

func (s *Scatter) layout(d *Drawing, l Layout, b box) float64 {
	right, top := 0.0, 0.0
	for _, p := range s.Points {
		right, top = max(right, p.X), max(top, p.Y)
		if s.Equal {
			right = max(right, p.X+p.Wide, p.Y)
			top = right
		}
	}
	xStep, yStep := tickStep(right, 4), tickStep(top, 5)
	if s.Equal {
		xStep = tickStep(right, 6)
		yStep = xStep
	}
	xEnd, yEnd := max(xStep, math.Ceil(right/xStep-1e-9)*xStep), max(yStep, math.Ceil(top/yStep-1e-9)*yStep)
	number := func(v float64) string { return thousands(strconv.FormatFloat(v, 'g', 6, 64)) }
	left := width(number(yEnd), l.Font)
	f := box{b.x0 + left + 8, b.y0 + l.Font + 14, b.x1 - width(number(xEnd), l.Font)/2, b.y1 - 2.9*l.Font - 6}
	if s.Groups != nil {
		f.y0 += 1.8 * l.Font
		legend(d, l, s.Groups, Point{b.x0, b.y0 + l.Font}, func(int) Role { return Dot })
	}
	x := func(v float64) float64 { return f.x0 + v/xEnd*(f.x1-f.x0) }
	y := func(v float64) float64 { return f.y1 - v/yEnd*(f.y1-f.y0) }
	d.add(Mark{Role: Tick, Points: []Point{{b.x0, f.y0 - 14}}, Text: s.YLabel})
	for v := 0.0; v <= yEnd+yStep/2; v += yStep {
		role := Grid
		if v == 0 {
			role = Zero
		}
		d.add(Mark{Role: role, Points: []Point{{f.x0, y(v)}, {f.x1, y(v)}}})
		d.add(Mark{Role: Tick, Points: []Point{{f.x0 - 6, y(v) + 0.35*l.Font}}, Text: number(v), Anchor: End})
	}
	for v := 0.0; v <= xEnd+xStep/2; v += xStep {
		if s.Equal && v > 0 {
			d.add(Mark{Role: Grid, Points: []Point{{x(v), f.y0}, {x(v), f.y1}}})
		}
		d.add(Mark{Role: Tick, Points: []Point{{x(v), f.y1 + 1.5*l.Font}}, Text: number(v), Anchor: Middle})
	}
	if s.Equal {
		d.add(Mark{Role: Zero, Points: []Point{{x(0), y(0)}, {x(xEnd), y(yEnd)}}, Dash: []float64{6, 4}})
	}
	d.add(Mark{Role: Tick, Points: []Point{{(f.x0 + f.x1) / 2, f.y1 + 2.9*l.Font}}, Text: s.XLabel, Anchor: Middle})
	for i := range s.Points {
		p := &s.Points[i]
		if !math.IsNaN(p.Half) {
			d.add(p.interval(Point{x(p.X), y(min(p.Y+p.Half, yEnd))}, Point{x(p.X), y(max(p.Y-p.Half, 0))}))
		}
		if p.Wide > 0 {
			d.add(p.interval(Point{x(max(p.X-p.Wide, 0)), y(p.Y)}, Point{x(min(p.X+p.Wide, xEnd)), y(p.Y)}))
		}
	}
	for i := range s.Points {
		p := &s.Points[i]
		d.add(Mark{Role: Dot, Series: p.series(), Look: &p.Look, Points: []Point{{x(p.X), y(p.Y)}}, Size: p.radius(),
			Tip: cmp.Or(p.Tip, p.Label)})
	}
	s.names(d, l, f, x, y)
	return b.y1
}

// series is the name of the point's group, or its own label without one.
func (p *Spot) series() string { return cmp.Or(p.Group, p.Label) }

// interval is one of the intervals of a point.
func (p *Spot) interval(from, to Point) Mark {
	m := Mark{Role: Whisker, Series: p.series(), Look: &p.Look, Points: []Point{from, to}}
	if p.Wide > 0 {
		m.Role = Hair
	}
	return m
}

// radius is the radius of the point in pixels.
func (p *Spot) radius() float64 {
	if p.Wide > 0 {
		return fineRadius
	}
	return dotRadius
}

// names puts the names of points beside them, above or below where another name is in the way, and leaves out those
// without room: every point has its name on hover.
func (s *Scatter) names(d *Drawing, l Layout, f box, x, y func(float64) float64) {
	var taken []box
	free := func(b box) bool {
		for _, t := range taken {
			if b.x0 < t.x1 && t.x0 < b.x1 && b.y0 < t.y1 && t.y0 < b.y1 {
				return false
			}
		}
		return b.x0 >= f.x0 && b.x1 <= l.Width && b.y0 >= f.y0-l.Font && b.y1 <= f.y1
	}
	for _, p := range s.Points {
		taken = append(taken, box{x(p.X) - dotRadius, y(p.Y) - dotRadius, x(p.X) + dotRadius, y(p.Y) + dotRadius})
	}
	for i := range s.Points {
		p := &s.Points[i]
		if p.Label == "" {
			continue
		}
		w := width(p.Label, l.Font)
		for _, at := range []Point{{x(p.X+p.Wide) + 7, y(p.Y) + 0.35*l.Font}, {x(p.X-p.Wide) - 7 - w, y(p.Y) + 0.35*l.Font},
			{x(p.X) - w/2, y(p.Y) - 8}, {x(p.X) - w/2, y(p.Y) + 8 + 0.8*l.Font}} {
			if b := (box{at.X, at.Y - 0.8*l.Font, at.X + w, at.Y + 0.2*l.Font}); free(b) {
				taken = append(taken, b)
				d.add(Mark{Role: Label, Series: p.series(), Look: &p.Look, Points: []Point{at}, Text: p.Label})
				break
			}
		}
	}
}
