package report

import (
	"fmt"
	"math"
	"strings"

	"ocl/internal/count"
	"ocl/report/chart"
)

// figure describes one figure. The page, the files in figures/ and the CSV are all made from it, so they show the same data
// under the same title. Exactly one of Lines, Heat and Bars is set.
type figure struct {
	ID      string // names figures/ID.svg and .pdf, tables/ID.csv and the anchor
	Title   string // what is to be seen
	Caption string // what was measured
	Alt     string // the figure in words
	Data    *table
	PNG     bool // there is figures/ID.png too
	Lines   *chart.Lines
	Heat    *heat
	Bars    *chart.Bars
}

// heat is a heat map that is a table on the page, or an image if it has too many cells for one.
type heat struct {
	chart.Heat
	Say     func(i, j int) string // the cell in words, without its value; nil where the number in it must do
	Missing string                // what an empty cell means
	Whose   string                // the row's label
	Image   bool                  // an image on the page
}

// table is the figure's data under its title.
func (f *figure) table() *table {
	f.Data.Title = f.Title
	return f.Data
}

// chart is what is drawn.
func (f *figure) chart() chart.Chart {
	switch {
	case f.Lines != nil:
		return f.Lines
	case f.Heat != nil:
		return &f.Heat.Heat
	}
	return f.Bars
}

// write writes figures/ID.svg, .pdf and .png.
func (f *figure) write(w *Folder) {
	d, description := chart.Draw(f.chart(), chart.File(f.Title)), f.Alt+" "+f.Caption
	w.Write("figures/"+f.ID+".pdf", d.PDF(f.Title, description))
	if f.PNG {
		w.Write("figures/"+f.ID+".png", d.PNG())
	}
	w.Write("figures/"+f.ID+".svg", d.SVG(f.Title, description))
}

// inline draws lines and bars as SVG for the page, once for a wide and once for a narrow one, with room for the
// script's switches, or with a legend where the lines cannot carry their names. Heat maps are HTML tables.
func (f *figure) inline() string {
	var b strings.Builder
	for _, page := range []struct {
		class string
		chart.Layout
	}{{"wide", chart.Wide}, {"narrow", chart.Narrow}} {
		d := chart.Draw(f.chart(), page.Layout)
		b.WriteString(d.Inline(page.class, f.ID+"-"+page.class, f.Title, f.Alt))
		switch {
		case f.Lines == nil:
		case d.Labelled:
			fmt.Fprintf(&b, `<div class="toggles %s"></div>`, page.class)
		default:
			fmt.Fprintf(&b, `<ul class="legend %s">`, page.class)
			for _, s := range f.Lines.Series {
				b.WriteString(chart.LegendItem(s))
			}
			b.WriteString(`</ul>`)
		}
	}
	return b.String()
}

// scale fixes the y axis of values in per cent: it holds 0 and 1 and all values from floor to 100. It reports whether
// an interval is cut.
func (f *figure) scale(floor float64) (cut bool) { return f.Lines.Scale(floor, 100, 1) }

// percentText prints a value in per cent (not a fraction) with its half width.
func percentText(y, half float64) string {
	return count.PlusMinus(y, half, func(v float64) string { return count.Fixed(v, 1) })
}

// plainText prints a value that is no share with its half width.
func plainText(y, half float64) string {
	return count.PlusMinus(y, half, count.Significant)
}

// valueText is say, or that there is no value.
func valueText(say func(y, half float64) string, y, half float64) string {
	if math.IsNaN(y) {
		return "not measured"
	}
	return say(y, half)
}
