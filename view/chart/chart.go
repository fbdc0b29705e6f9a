// Package chart draws line charts, stacked bars and areas, heat maps and comparisons. [Draw] lays a chart out once, for
// a size, into marks: lines, polygons, markers and texts at their places in pixels. The same marks become an SVG for a
// page, whose stylesheet gives it its colours, and files of their own: SVG, PNG and PDF. The package knows nothing of
// methods, runs or results.
package chart

// Chart is a chart that can be drawn: [Lines], [Panels], [Ranked], [Bars], [Areas], [Heat], [Scatter] or [Compare].
type Chart interface {
	// layout adds the chart's marks to d within b, whose height it may extend; it returns the bottom of what it drew.
	layout(d *Drawing, l Layout, b box) float64
}

// Layout is the size that a chart is drawn for.
type Layout struct {
	Width, Height float64 // pixels; bars and heat maps are as high as they need
	Font          float64 // pixels
	Labels        float64 // longest label at a line's end, as a share of the width
	Title         string  // printed above the chart
	Margin        float64 // pixels that stay white on all sides
	Alone         bool    // no page is around: all labels are drawn, even where they must move far or be cut
}

// The layouts of a page: it shows the one that fits.
var (
	Wide   = Layout{Width: 720, Height: 400, Font: 13, Labels: 0.34}
	Narrow = Layout{Width: 328, Height: 290, Font: 12, Labels: 0.36}
	Broad  = Layout{Width: 976, Height: 400, Font: 13, Labels: 0.34} // as wide as the page
	Half   = Layout{Width: 380, Height: 270, Font: 12, Labels: 0.36} // where two stand side by side
	Small  = Layout{Width: 312, Height: 300, Font: 12, Labels: 0.36} // of one panel of several
)

// File is the layout of a figure in a file of its own, under its title.
func File(title string) Layout {
	return Layout{Width: 720, Height: 400, Font: 13, Labels: 0.45, Title: title, Margin: 14, Alone: true}
}

// inch is in pixels.
const inch = 96.0

// The layouts of a paper: 3.25 and 6.75 inches wide, which fit the columns of most conferences, without a title, which
// the caption has. The text is 8.25 points high, and the smallest, in heat maps, 7 points.
var (
	OneColumn  = Layout{Width: 3.25 * inch, Height: 2.4 * inch, Font: 11, Labels: 0.36, Margin: 2, Alone: true}
	TwoColumns = Layout{Width: 6.75 * inch, Height: 3.4 * inch, Font: 11, Labels: 0.34, Margin: 2, Alone: true}
)

// box is an area of a drawing.
type box struct{ x0, y0, x1, y1 float64 }

// Draw lays the chart out.
func Draw(c Chart, l Layout) *Drawing {
	d := &Drawing{Width: l.Width, Font: l.Font}
	b := box{l.Margin, l.Margin, l.Width - l.Margin, l.Height - l.Margin}
	if l.Title != "" {
		size := 1.3 * l.Font
		for _, line := range wrap(l.Title, b.x1-b.x0, size) {
			b.y0 += 1.3 * size
			b.y1 += 1.3 * size
			d.add(Mark{Role: Title, Points: []Point{{b.x0, b.y0 - 0.45*size}}, Text: line, Size: size})
		}
		b.y0 += 0.6 * size
		b.y1 += 0.6 * size
	}
	d.Height = c.layout(d, l, b) + l.Margin
	return d
}
