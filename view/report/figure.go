package report

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/view/chart"
)

// figure describes one figure. The page, the files in figures/ and the CSV are all made from it, so they show the same
// data under the same title. Exactly one of Ranked, Lines, Heat, Areas and Bars is set.
type figure struct {
	ID      string // names figures/ID.svg and .pdf, tables/ID.csv and the anchor
	Title   string // what is to be seen
	Caption string // what was measured
	Print   string // the same for a paper; "" is Caption
	Alt     string // the figure in words
	Data    *table
	rows    []*row // of the lines
	PNG     bool   // there is figures/ID.png too
	Level   int    // of its heading in the outline of the page, 0 is that of the element
	Ranked  *chart.Ranked
	Lines   *chart.Lines
	Panels  *chart.Panels // what is drawn of Lines where these are too many for one panel
	Heat    *heat
	Areas   *chart.Areas
	Whose   string // label of the row, of which there is one figure in a gallery
	Bars    *chart.Bars
}

// heat is a heat map that is a table on the page, or an image if it has too many cells for one.
type heat struct {
	chart.Heat
	Say     func(i, j int) string // the cell in words, without its value; nil where the number in it must do
	Missing string                // what an empty cell means
	Image   bool                  // an image on the page
	Names   []string              // of the cells, row by row, where they have names
	Lines   []string              // what files have for Rows, where these say more than it; nil is Rows
	Runs    []seedMap             // the single runs behind the mean, where there are several
}

// table is the figure's data under its title.
func (f *figure) table() *table {
	f.Data.Title = f.Title
	return f.Data
}

// chart returns the chart of the figure.
func (f *figure) chart() chart.Chart {
	switch {
	case f.Ranked != nil:
		return f.Ranked
	case f.Panels != nil:
		return f.Panels
	case f.Lines != nil:
		return f.Lines
	case f.Heat != nil:
		return &f.Heat.Heat
	case f.Areas != nil:
		return f.Areas
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

// inline draws the figure as SVG for the page, once for a wide and once for a narrow one, with room for the
// script's switches, or with a legend where the lines cannot carry their names. Panels are pictures of one size, of
// which as many stand beside each other as fit. Heat maps are HTML tables.
func (f *figure) inline() string {
	var b strings.Builder
	f.draw(&b)
	return b.String()
}

// draw is inline, into b.
func (f *figure) draw(b *strings.Builder) {
	if f.Areas != nil {
		b.WriteString(chart.Draw(f.Areas, chart.Half).Inline("panel", f.ID+"-areas", f.Title, f.Alt))
		return
	}
	type variant struct {
		*figure
		class, id string
	}
	variants := []variant{{f, "", ""}}
	if whole := f.whole(); whole != nil {
		variants = []variant{{f, " near", ""}, {whole, " whole", "-0"}}
		b.WriteString(`<div class="zoom"><p class="origin"><label><input type="checkbox"/> axis from 0</label></p>`)
		defer b.WriteString(`</div>`)
	}
	if f.Panels != nil {
		for _, v := range variants {
			if v.class != "" {
				b.WriteString(`<div class="` + strings.TrimSpace(v.class) + `">`)
			}
			b.WriteString(`<p class="axis">` + html.EscapeString(v.Panels.Label()) + `</p><div class="multiples">`)
			for i, p := range v.Panels.Panels {
				alone := chart.Panels{Panels: []chart.Panel{p}}
				b.WriteString(chart.Draw(&alone, chart.Small).Inline("panel", fmt.Sprint(f.ID, "-", i, v.id), p.Title, f.altOf(p)))
			}
			if b.WriteString(`</div>`); v.class != "" {
				b.WriteString(`</div>`)
			}
		}
		b.WriteString(`<div class="toggles broad"></div>`)
		return
	}
	wide, broad := chart.Wide, ""
	if f.Ranked != nil {
		wide, broad = chart.Broad, " broad"
	}
	for _, page := range []struct {
		class string
		chart.Layout
	}{{"wide" + broad, wide}, {"narrow" + broad, chart.Narrow}} {
		var d *chart.Drawing
		id, _, _ := strings.Cut(page.class, " ")
		for _, v := range variants {
			d = chart.Draw(v.chart(), page.Layout)
			d.Again = page.Layout == chart.Narrow || v.id != "" && f.Lines != nil
			b.WriteString(d.Inline(page.class+v.class, f.ID+"-"+id+v.id, f.Title, f.Alt))
		}
		switch {
		case f.Lines == nil:
		case d.Labelled:
			fmt.Fprintf(b, `<div class="toggles %s"></div>`, page.class)
		default:
			fmt.Fprintf(b, `<ul class="legend %s">`, page.class)
			for _, s := range f.Lines.Series {
				b.WriteString(chart.LegendItem(s))
			}
			b.WriteString(`</ul>`)
		}
	}
}

// maxTwice bounds the points of a chart that the page draws a second time, with an axis from 0.
const maxTwice = 1_000

// whole is the figure with an axis from 0; nil where it begins there, or has too many points to be drawn twice.
func (f *figure) whole() *figure {
	whole := *f
	switch {
	case f.Ranked != nil:
		if whole.Ranked = f.Ranked.Whole(); whole.Ranked == nil {
			return nil
		}
	case f.Lines != nil:
		points := 0
		for _, s := range f.Lines.Series {
			points += len(s.Y)
		}
		if whole.Lines = f.Lines.Whole(); whole.Lines == nil || points > maxTwice {
			return nil
		}
		if f.Panels != nil {
			whole.Panels = f.Panels.Whole(whole.Lines)
		}
	default:
		return nil
	}
	return &whole
}

// sayAxis adds to the captions where the axis begins, if that is not 0.
func (f *figure) sayAxis() {
	from := 0.0
	switch {
	case f.Ranked != nil:
		from = f.Ranked.Begin()
	case f.Lines != nil:
		from = f.Lines.YMin
	}
	if from > 0 {
		text := " The axis begins at " + strconv.FormatFloat(from, 'g', 6, 64) + " %, not at 0"
		if f.whole() != nil {
			text += "; on the page a switch shows it from 0"
		}
		text += "."
		if f.Caption += text; f.Print != "" {
			f.Print += text
		}
	}
}

// altOf is a panel in words.
func (f *figure) altOf(p chart.Panel) string {
	said := []string{f.Title}
	for _, s := range p.Lines.Series {
		if _, y, ok := s.End(); ok {
			said = append(said, fmt.Sprintf("%s ends at %.1f", s.Label, y))
		}
	}
	return strings.Join(said, "; ") + "."
}

// parts are the first rows of a ranking and the other ones, on one scale.
func (f *figure) parts() []*figure {
	rows := f.Ranked.Rows
	if len(rows) <= maxRanked {
		return []*figure{f}
	}
	first, rest := *f, *f
	head, tail := *f.Ranked, *f.Ranked
	head.Rows, tail.Rows = rows[:maxRanked], rows[maxRanked:]
	first.Ranked, rest.Ranked, rest.ID = &head, &tail, f.ID+"-rest"
	rest.Title += ", the other rows"
	return []*figure{&first, &rest}
}

// scale fixes the y axis of values in per cent: it holds all values from floor to 100, and 0 if that is not far below
// them. It reports whether an interval is cut.
func (f *figure) scale(floor float64) (cut bool) {
	f.Lines.Zoom = true
	return f.Lines.Scale(floor, 100, 1)
}

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
