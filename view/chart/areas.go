package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Areas are shares of a whole that change along the x axis, stacked upon each other.
type Areas struct {
	XLabel, YLabel string
	X              []string    // names of the places on the x axis
	Parts          []string    // from bottom to top; the first one has the strongest colour
	V              [][]float64 // a line for each part: fractions at each place; NaN is nothing
}

// The steps of the scale of heat maps that the first and the last part have: weaker ones could not be told from the
// page.
const firstStep, lastStep = HeatSteps - 1, 4

func (a *Areas) layout(d *Drawing, l Layout, b box) float64 {
	font := l.Font
	f := box{b.x0 + width("100", font) + 8, b.y0 + font + 14, b.x1 - widest(font, a.Parts...)/certain - toLabel,
		b.y1 - 2.9*font - 6}
	step := (f.x1 - f.x0) / float64(max(len(a.X)-1, 1))
	x := func(i int) float64 { return f.x0 + float64(i)*step }
	y := func(share float64) float64 { return f.y1 - share*(f.y1-f.y0) }
	d.add(Mark{Role: Tick, Points: []Point{{b.x0, b.y0 + font}}, Text: a.YLabel})
	for v := 0; v <= 100; v += 20 {
		role := Grid
		if v == 0 {
			role = Zero
		}
		at := y(float64(v) / 100)
		d.add(Mark{Role: role, Points: []Point{{f.x0, at}, {f.x1, at}}})
		d.add(Mark{Role: Tick, Points: []Point{{f.x0 - 6, at + 0.35*font}}, Text: strconv.Itoa(v), Anchor: End})
	}
	for i := 0; i < len(a.X); i += every(widest(font, a.X...)+0.6*font, step) {
		d.add(Mark{Role: Tick, Points: []Point{{x(i), f.y1 + 1.5*font}}, Text: a.X[i], Anchor: Middle})
	}
	d.add(Mark{Role: Tick, Points: []Point{{(f.x0 + f.x1) / 2, f.y1 + 2.9*font}}, Text: a.XLabel, Anchor: Middle})
	below := make([]float64, len(a.X)) // the sum of the parts so far
	var areas []Mark
	labelled := math.Inf(1)
	for k, part := range a.V {
		above := make([]float64, len(a.X))
		first, thickest := -1, 0
		for i, v := range part {
			above[i] = below[i]
			if v > 0 {
				above[i] += v
				if first < 0 {
					first, thickest = i, i
				}
				if v > part[thickest] {
					thickest = i
				}
			}
		}
		if first < 0 {
			continue
		}
		m := Mark{Role: Area, Step: a.step(k), Color: Hex(HeatColor(a.step(k), false)), Tip: a.tip(k),
			At: Point{x(thickest), y((above[thickest] + below[thickest]) / 2)}}
		from := max(first-1, 0) // an area grows from nothing
		for i := from; i < len(a.X); i++ {
			m.Points = append(m.Points, Point{x(i), y(above[i])})
		}
		if len(a.X) == 1 {
			m.Points = append(m.Points, Point{f.x1, y(above[0])})
		}
		m.Points = append(m.Points, Point{f.x1, f.y1}, Point{x(from), f.y1})
		areas = append(areas, m)
		last := len(a.X) - 1
		middle := y((above[last] + below[last]) / 2)
		if above[last] > below[last] && labelled-middle >= 1.15*font {
			d.add(Mark{Role: Label, Points: []Point{{f.x1 + toLabel, middle + 0.35*font}}, Text: a.Parts[k]})
			labelled = middle
		}
		below = above
	}
	// Each area reaches down to the axis, and those below it are drawn upon it: their common border is written once.
	slices.Reverse(areas)
	d.Marks = append(d.Marks, areas...)
	return b.y1
}

// step is a part's step on the scale of heat maps.
func (a *Areas) step(k int) int {
	if len(a.Parts) < 2 {
		return firstStep
	}
	return firstStep - int(math.Round(float64(k)/float64(len(a.Parts)-1)*(firstStep-lastStep)))
}

// tip says a part in words: its shares at each place from the first one where it has any.
func (a *Areas) tip(k int) string {
	var places, shares []string
	for i, v := range a.V[k] {
		if !math.IsNaN(v) {
			places, shares = append(places, a.X[i]), append(shares, strconv.FormatFloat(100*v, 'f', 0, 64))
		}
	}
	where := strings.Join(places, ", ")
	if n := len(places); n > 3 {
		where = places[0] + " to " + places[n-1]
	}
	return fmt.Sprintf("%s\n%s %s: %s %%", a.Parts[k], a.XLabel, where, strings.Join(shares, ", "))
}
