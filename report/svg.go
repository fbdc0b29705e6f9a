package report

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// layout is the size an inline picture is drawn for; the page shows the one that fits.
type layout struct {
	class  string // CSS class: wide or narrow
	width  float64
	height float64
	font   float64 // pixels
	labels int     // longest line-end label in characters
}

var layouts = []layout{
	{"wide", 720, 400, 13, 34},
	{"narrow", 328, 290, 12, 13},
}

// num prints a coordinate with one decimal at most.
func num(v float64) string {
	// Adding zero turns -0 into 0.
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64)
}

// inline draws lines and bars as SVG for the page, once for each layout. Heat maps are HTML tables.
func (f *figure) inline() string {
	var b strings.Builder
	for _, l := range layouts {
		switch {
		case f.Lines != nil:
			f.Lines.inline(&b, f, l)
		case f.Bars != nil:
			f.Bars.inline(&b, f, l)
		}
	}
	return b.String()
}

// begin opens an SVG with its title and description; the stylesheet of the page gives it its colours.
func begin(b *strings.Builder, f *figure, l layout, height float64) {
	id := f.ID + "-" + l.class
	fmt.Fprintf(b, `<svg class="fig %s" viewBox="0 0 %s %s" font-size="%s" role="img" aria-labelledby="%s-t %s-d"><title id="%s-t">%s</title><desc id="%s-d">%s</desc>`,
		l.class, num(l.width), num(height), num(l.font), id, id, id, html.EscapeString(f.Title), id, html.EscapeString(f.Alt))
}

// frame is the plotting area of a line chart.
type frame struct {
	l              *lines
	x0, y0, x1, y1 float64
}

func (r frame) x(v float64) float64 {
	if r.l.XMax <= 1 {
		return (r.x0 + r.x1) / 2
	}
	return r.x0 + (v-1)/float64(r.l.XMax-1)*(r.x1-r.x0)
}

func (r frame) y(v float64) float64 {
	return r.y1 - (v-r.l.YMin)/(r.l.YMax-r.l.YMin)*(r.y1-r.y0)
}

// inline draws a line chart.
func (l *lines) inline(b *strings.Builder, f *figure, lay layout) {
	begin(b, f, lay, lay.height)
	fr := frame{l, 40, lay.font + 14, lay.width - 16, lay.height - 2.9*lay.font - 6}
	ends, labelled := l.endLabels(lay, &fr)
	// Grid and axes.
	fmt.Fprintf(b, `<text class="ax" x="0" y="%s">%s</text>`, num(lay.font), html.EscapeString(l.YLabel))
	for _, t := range l.yTicks() {
		y := fr.y(t)
		class := "grid"
		if t == 0 {
			class = "grid zero"
		}
		fmt.Fprintf(b, `<path class="%s" d="M%s %sH%s"/><text class="ax e" x="%s" y="%s">%s</text>`,
			class, num(fr.x0), num(y), num(fr.x1), num(fr.x0-6), num(y+lay.font*0.35), l.tickText(t))
	}
	for _, t := range l.xTicks(int((fr.x1 - fr.x0) / (2.6 * lay.font))) {
		fmt.Fprintf(b, `<text class="ax m" x="%s" y="%s">%d</text>`, num(fr.x(float64(t))), num(fr.y1+1.5*lay.font), t+l.XOffset)
	}
	fmt.Fprintf(b, `<text class="ax m" x="%s" y="%s">%s</text>`, num((fr.x0+fr.x1)/2), num(fr.y1+2.9*lay.font), html.EscapeString(l.XLabel))
	for i := range l.Series {
		s := &l.Series[i]
		class := "s m-" + s.Style.class
		if l.crowded() {
			class += " crowd"
		}
		if s.Hollow {
			class += " hollow"
		}
		fmt.Fprintf(b, `<g class="%s" data-s="%s">`, class, html.EscapeString(s.Label))
		s.draw(b, fr)
		if labelled && ends[i] == ends[i] {
			x, y, _ := s.endOf()
			px, py := fr.x(float64(x)), fr.y(y)
			if math.Abs(ends[i]-py) > 2 {
				fmt.Fprintf(b, `<path class="lead" d="M%s %sL%s %s"/>`, num(px+5), num(py), num(fr.x1+11), num(ends[i]))
			}
			fmt.Fprintf(b, `<text class="end" x="%s" y="%s">%s</text>`, num(fr.x1+14), num(ends[i]+lay.font*0.35), html.EscapeString(s.Label))
		}
		b.WriteString(`</g>`)
	}
	b.WriteString(`</svg>`)
	if labelled {
		// Filled by the script, which can hide lines.
		fmt.Fprintf(b, `<div class="toggles %s"></div>`, lay.class)
	} else {
		l.legend(b, lay)
	}
}

// endLabels makes room at the right for labels and places them; labelled is false where they are too long or collide.
func (l *lines) endLabels(lay layout, fr *frame) (at []float64, labelled bool) {
	longest := 0
	for _, s := range l.Series {
		longest = max(longest, utf8.RuneCountInString(s.Label))
	}
	if longest == 0 || longest > lay.labels {
		return nil, false
	}
	var want []float64
	var which []int
	for i := range l.Series {
		if _, y, ok := l.Series[i].endOf(); ok {
			want = append(want, fr.y(y))
			which = append(which, i)
		}
	}
	placed, ok := spread(want, lay.font*1.2, fr.y0, fr.y1, 4*lay.font)
	if !ok {
		return nil, false
	}
	fr.x1 -= float64(longest)*lay.font*0.56 + 8
	at = make([]float64, len(l.Series))
	for i := range at {
		at[i] = math.NaN()
	}
	for k, i := range which {
		at[i] = placed[k]
	}
	return at, true
}

// legend lists the series below a picture whose lines cannot carry their names.
func (l *lines) legend(b *strings.Builder, lay layout) {
	fmt.Fprintf(b, `<ul class="legend %s">`, lay.class)
	for i := range l.Series {
		s := &l.Series[i]
		fmt.Fprintf(b, `<li data-s="%s">%s%s</li>`, html.EscapeString(s.Label), swatch(s), html.EscapeString(s.Label))
	}
	b.WriteString(`</ul>`)
}

// swatch is a short piece of a method's line with its marker.
func swatch(s *series) string {
	class := "sw m-" + s.Style.class
	if s.Hollow {
		class += " hollow"
	}
	return fmt.Sprintf(`<svg class="%s" aria-hidden="true">%s</svg>`, class, swatchPaths(s.Style, s.ink()))
}

// ink is the width of a series' line in pixels.
func (s *series) ink() float64 {
	if s.Hollow {
		return 0.55 * s.Width
	}
	return s.Width
}

// swatchPaths is what a swatch of 34 × 12 pixels draws.
func swatchPaths(s style, width float64) string {
	return fmt.Sprintf(`<path class="ln" d="M1 6H33" stroke-width="%s"%s/><path class="mk" d="M17 6%s"/>`, num(width), dashAttr(s.dash), s.marker.path(4))
}

func dashAttr(d []float64) string {
	if len(d) == 0 {
		return ""
	}
	var v []string
	for _, x := range d {
		v = append(v, num(x))
	}
	return ` stroke-dasharray="` + strings.Join(v, " ") + `"`
}

// path is the marker as a relative SVG path around the current point, r its radius.
func (m marker) path(r float64) string {
	p := func(format string, v ...float64) string {
		a := make([]any, len(v))
		for i := range v {
			a[i] = num(v[i])
		}
		return fmt.Sprintf(format, a...)
	}
	switch m {
	case square:
		return p("m%s %sh%sv%sh%sz", -r*.85, -r*.85, r*1.7, r*1.7, -r*1.7)
	case triangle:
		return p("m0 %sl%s %sh%sz", -r*1.1, r*1.1, r*1.9, -r*2.2)
	case downTriangle:
		return p("m0 %sl%s %sh%sz", r*1.1, r*1.1, -r*1.9, -r*2.2)
	case diamond:
		return p("m0 %sl%s %sl%s %sl%s %sz", -r*1.25, r*1.25, r*1.25, -r*1.25, r*1.25, -r*1.25, -r*1.25)
	case cross:
		return p("m%s %sl%s %sm%s 0l%s %s", -r*.8, -r*.8, r*1.6, r*1.6, -r*1.6, r*1.6, -r*1.6)
	case plus:
		return p("m%s 0h%sm%s %sv%s", -r, 2*r, -r, -r, 2*r)
	}
	return p("m%s 0a%s %s 0 1 0 %s 0a%s %s 0 1 0 %s 0z", -r, r, r, 2*r, r, r, -2*r)
}

// manySeries is the number of series up to which every point has its marker and its value on hover.
const manySeries = 12

// draw draws band, single runs, mean and markers.
func (s *series) draw(b *strings.Builder, fr frame) {
	many := fr.l.Sparse || len(fr.l.Series) > manySeries
	for _, part := range pieces(len(s.Y), func(i int) bool { return i < len(s.Half) && !math.IsNaN(s.Y[i]+s.Half[i]) }) {
		if len(part) < 2 {
			i := part[0]
			fmt.Fprintf(b, `<path class="err" d="M%s %sV%s"/>`, num(fr.x(float64(i+1))), num(fr.clampY(s.Y[i]-s.Half[i])), num(fr.clampY(s.Y[i]+s.Half[i])))
			continue
		}
		var up, down strings.Builder
		for k, i := range part {
			j := part[len(part)-1-k]
			fmt.Fprintf(&up, "%s %s ", num(fr.x(float64(i+1))), num(fr.clampY(s.Y[i]+s.Half[i])))
			fmt.Fprintf(&down, "%s %s ", num(fr.x(float64(j+1))), num(fr.clampY(s.Y[j]-s.Half[j])))
		}
		fmt.Fprintf(b, `<path class="band" d="M%s%sz"/>`, up.String(), strings.TrimSpace(down.String()))
	}
	for _, single := range s.Single {
		if fr.l.crowded() {
			break
		}
		if d := linePath(single, fr); d != "" {
			fmt.Fprintf(b, `<path class="thin" d="%s"/>`, d)
		}
	}
	if d := linePath(s.Y, fr); d != "" {
		fmt.Fprintf(b, `<path class="ln" stroke-width="%s"%s d="%s"><title>%s</title></path>`, num(s.ink()), dashAttr(s.Style.dash), d, html.EscapeString(s.Label))
	}
	last, _, _ := s.endOf()
	for i, y := range s.Y {
		if math.IsNaN(y) || many && i%5 > 0 && i+1 != last {
			continue
		}
		fmt.Fprintf(b, `<path class="mk" d="M%s %s%s"`, num(fr.x(float64(i+1))), num(fr.y(y)), s.Style.marker.path(3))
		if !many {
			fmt.Fprintf(b, `><title>%s, %d: %s</title></path>`, html.EscapeString(s.Label), i+1+fr.l.XOffset, fr.l.text(y, at1(s.Half, i)))
		} else {
			b.WriteString(`/>`)
		}
	}
}

func at1(v []float64, i int) float64 {
	if i < len(v) {
		return v[i]
	}
	return math.NaN()
}

// estimateText prints a value in per cent (not a fraction) with its half width.
func estimateText(y, half float64) string {
	e := estimate{y / 100, half / 100, 1}
	return e.text("")
}

func (r frame) clampY(v float64) float64 {
	return r.y(math.Min(math.Max(v, r.l.YMin), r.l.YMax))
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

// linePath joins the measured points; a gap stays a gap.
func linePath(y []float64, fr frame) string {
	var b strings.Builder
	for _, part := range pieces(len(y), func(i int) bool { return !math.IsNaN(y[i]) }) {
		if len(part) < 2 {
			continue
		}
		for k, i := range part {
			c := " "
			if k == 0 {
				c = "M"
			}
			fmt.Fprintf(&b, "%s%s %s", c, num(fr.x(float64(i+1))), num(fr.y(y[i])))
		}
	}
	return b.String()
}

// inline draws stacked bars, the label above each bar so that it fits a phone.
func (l *bars) inline(b *strings.Builder, f *figure, lay layout) {
	const barHeight = 16
	var text [][]string
	pitch := 0.0
	chars := int(lay.width / (lay.font * 0.56))
	height := 4.0
	for _, r := range l.Bars {
		t := wrap(r.Label+": "+r.Text, chars)
		text = append(text, t)
		pitch = float64(len(t))*lay.font*1.35 + barHeight + 14
		height += pitch
	}
	begin(b, f, lay, height)
	longest := 0.0
	for _, r := range l.Bars {
		longest = math.Max(longest, total(r.Parts))
	}
	if longest == 0 {
		longest = 1
	}
	y := 4.0
	for i, r := range l.Bars {
		fmt.Fprintf(b, `<g class="s m-%s" data-s="%s">`, r.Style.class, html.EscapeString(r.Label))
		for _, t := range text[i] {
			y += lay.font * 1.35
			fmt.Fprintf(b, `<text class="end" x="0" y="%s">%s</text>`, num(y-lay.font*0.25), html.EscapeString(t))
		}
		x := 0.0
		for k, v := range r.Parts {
			w := v / longest * lay.width
			if w > 0 {
				fmt.Fprintf(b, `<path class="bar" fill-opacity="%s" d="M%s %sh%sv%dh%sz"><title>%s: %s</title></path>`,
					num(partOpacity[k%len(partOpacity)]), num(x), num(y+3), num(w), barHeight, num(-w), html.EscapeString(l.Parts[k]), duration(v))
			}
			x += w
		}
		y += barHeight + 14
		b.WriteString(`</g>`)
	}
	b.WriteString(`</svg>`)
}

func total(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum
}
