package chart

import (
	"encoding/xml"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// num prints a coordinate with one decimal at most.
func num(v float64) string {
	// Adding zero turns -0 into 0.
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64)
}

// escapeXML makes a text part of an XML document; characters that XML cannot hold become U+FFFD.
func escapeXML(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic("chart: a text in memory cannot be written: " + err.Error())
	}
	return b.String()
}

// Inline is the drawing as an SVG inside a page whose stylesheet has [StyleSheet]. Its class is "fig" and class; id
// starts the ids of its title and its description. The marks of a series are groups with its label in data-s. Of a line
// chart data-f is the area between its axes, left, right, top and bottom (of a drawing that is there again, also the
// ends of the y axis), and the metadata are what a script needs to say the values.
func (d *Drawing) Inline(class, id, title, description string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="fig %s" viewBox="0 0 %s %s" font-size="%s" role="img" aria-labelledby="%s-t %s-d"`, class,
		num(d.Width), num(d.Height), num(d.Font), id, id)
	f := d.frame
	if f.Lines != nil {
		fmt.Fprintf(&b, ` data-f="%s %s %s %s`, num(f.x0), num(f.x1), num(f.y0), num(f.y1))
		if d.Again { // the other drawing may have another axis
			fmt.Fprintf(&b, ` %s %s`, end(f.YMin), end(f.YMax))
		}
		b.WriteByte('"')
	}
	fmt.Fprintf(&b, `><title id="%s-t">%s</title><desc id="%s-d">%s</desc>`, id, escapeXML(title), id,
		escapeXML(description))
	if f.Lines != nil && !d.Again {
		b.WriteString(`<metadata>` + f.script() + `</metadata>`)
	}
	if d.Again {
		for i := range d.Marks {
			// the script takes them from the other drawing, and where there is no script no mouse is on so narrow a page
			d.Marks[i].Tip = ""
		}
	}
	page := Drawing{Font: d.Font, Marks: joined(d.Marks)}
	page.marks(&b, (*Mark).classes)
	b.WriteString(`</svg>`)
	return b.String()
}

// SVG is the drawing as a file, in the colours of a light page.
func (d *Drawing) SVG(title, description string) []byte {
	return d.file(title, description, "", `fill="#FFFFFF"`, (*Mark).attributes)
}

// Adaptive is the drawing as a file that is light on a light page and dark on a dark one, wherever a browser shows it.
func (d *Drawing) Adaptive(title, description string) []byte {
	style := fmt.Sprintf("<style>\n%s\n@media (prefers-color-scheme:dark){%s}\n%s\n</style>\n",
		d.variables(false), d.variables(true), StyleSheet()+".page{fill:var(--bg)}")
	return d.file(title, description, style, `class="page"`, (*Mark).classes)
}

// file is an SVG file of the drawing: its style, a page that is painted as paint says, and the marks with their
// attributes.
func (d *Drawing) file(title, description, style, paint string, attributes func(*Mark) string) []byte {
	var b strings.Builder
	w, h := num(d.Width), num(d.Height)
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" font-family="%s" font-size="%s" role="img">
<title>%s</title>
<desc>%s</desc>
%s<rect width="%s" height="%s" %s/>
`, w, h, w, h, family, num(d.Font), escapeXML(title), escapeXML(description), style, w, h, paint)
	d.marks(&b, attributes)
	b.WriteString("\n</svg>\n")
	return []byte(b.String())
}

// classes are the attributes of a mark that a style sheet colours.
func (m *Mark) classes() string {
	if m.Role == Area {
		return fmt.Sprintf(` class="%s f%d" data-at="%.0f %.0f"`, roles[Area].class, m.Step, m.At.X, m.At.Y)
	}
	return ` class="` + roles[m.Role].class + `"` + m.special()
}

// variables sets the colours of [StyleSheet] and of the looks in the drawing, in the order in which they come.
func (d *Drawing) variables(dark bool) string {
	var b strings.Builder
	b.WriteString("svg{")
	for _, i := range []ink{page, text, muted, rule} {
		c := inks[i].light
		if dark {
			c = inks[i].dark
		}
		fmt.Fprintf(&b, "%s:%s;", inks[i].variable, c)
	}
	b.WriteString("}")
	seen := map[string]bool{}
	for _, m := range d.Marks {
		if m.Look == nil || seen[m.Look.Class] {
			continue
		}
		seen[m.Look.Class] = true
		c := m.Look.Light
		if dark {
			c = m.Look.Dark
		}
		fmt.Fprintf(&b, ".m-%s{--c:%s}", m.Look.Class, c)
	}
	return b.String()
}

// special are the attributes that differ from those of the mark's role.
func (m *Mark) special() string {
	s := dashes(m.Dash)
	if m.Width > 0 {
		s += fmt.Sprintf(` stroke-width="%s"`, num(m.Width))
	}
	if m.Opacity > 0 {
		s += fmt.Sprintf(` fill-opacity="%g"`, m.Opacity)
	}
	if m.Color != "" {
		s += fmt.Sprintf(` fill="%s"`, m.Color)
	}
	return s
}

// attributes are the mark's colours where no stylesheet gives them.
func (m *Mark) attributes() string {
	p := m.paint()
	var s string
	switch {
	case p.fill == "":
		s = ` fill="none"`
	case p.fillOpacity < 1:
		s = fmt.Sprintf(` fill="%s" fill-opacity="%g"`, p.fill, p.fillOpacity)
	default:
		s = fmt.Sprintf(` fill="%s"`, p.fill)
	}
	if p.stroke != "" {
		s += fmt.Sprintf(` stroke="%s" stroke-width="%s" stroke-linejoin="round"`, p.stroke,
			strconv.FormatFloat(p.width, 'g', 4, 64))
	}
	if p.stroke != "" && p.strokeOpacity < 1 {
		s += fmt.Sprintf(` stroke-opacity="%g"`, p.strokeOpacity)
	}
	return s + dashes(m.Dash)
}

func dashes(d []float64) string {
	if len(d) == 0 {
		return ""
	}
	v := make([]string, len(d))
	for i, x := range d {
		v[i] = num(x)
	}
	return ` stroke-dasharray="` + strings.Join(v, " ") + `"`
}

// marks writes all marks, those of a series in groups; attributes gives each its colours.
func (d *Drawing) marks(b *strings.Builder, attributes func(*Mark) string) {
	group := ""
	for i := range d.Marks {
		m := &d.Marks[i]
		if m.Series != group {
			if group != "" {
				b.WriteString(`</g>`)
			}
			if group = m.Series; group != "" {
				fmt.Fprintf(b, `<g class="m-%s" data-s="%s">`, escapeXML(m.Look.Class), escapeXML(m.Series))
			}
		}
		m.element(b, d.Font, attributes(m))
	}
	if group != "" {
		b.WriteString(`</g>`)
	}
}

// joined are marks in which markers that follow each other and differ in their places alone are one, as a page of many
// rows has thousands of them.
func joined(marks []Mark) (out []Mark) {
	for _, m := range marks {
		if n := len(out); n > 0 && m.marker() && m.Tip == "" {
			before, same := out[n-1].Points, m
			same.Points = before
			if reflect.DeepEqual(same, out[n-1]) {
				out[n-1].Points = slices.Concat(before, m.Points)
				continue
			}
		}
		out = append(out, m)
	}
	return out
}

// element writes one mark.
func (m *Mark) element(b *strings.Builder, font float64, attributes string) {
	if m.Text != "" {
		at := m.Points[0]
		fmt.Fprintf(b, `<text%s x="%s" y="%s"`, attributes, num(at.X), num(at.Y))
		if m.Size > 0 && m.Size != font {
			fmt.Fprintf(b, ` font-size="%s"`, num(m.Size))
		}
		b.WriteString([]string{Start: "", Middle: ` text-anchor="middle"`, End: ` text-anchor="end"`}[m.Anchor])
		fmt.Fprintf(b, `>%s</text>`, escapeXML(m.Text))
		return
	}
	if m.Role == Cell {
		attributes += ` shape-rendering="crispEdges"`
	}
	fmt.Fprintf(b, `<path%s d="%s"`, attributes, m.path())
	if m.Tip == "" {
		b.WriteString(`/>`)
		return
	}
	fmt.Fprintf(b, `><title>%s</title></path>`, escapeXML(m.Tip))
}

// path is the outline of a line, polygon or marker.
func (m *Mark) path() string {
	var b strings.Builder
	if m.marker() {
		for _, at := range m.Points {
			b.WriteString("M" + num(at.X) + " " + num(at.Y) + m.Look.Marker.path(m.Size))
		}
		return b.String()
	}
	for i, p := range m.Points {
		switch {
		case i == 0:
			b.WriteString("M" + num(p.X) + " " + num(p.Y))
		case num(p.Y) == num(m.Points[i-1].Y):
			b.WriteString("H" + num(p.X))
		case num(p.X) == num(m.Points[i-1].X):
			b.WriteString("V" + num(p.Y))
		default:
			b.WriteString("L" + num(p.X) + " " + num(p.Y))
		}
	}
	if m.closed() {
		b.WriteString("z")
	}
	return b.String()
}

// path is the marker as a relative path around the current point, which is shorter than an absolute one.
func (m Marker) path(r float64) string {
	lines, closed := m.strokes()
	if lines == nil {
		c, d := num(r), num(2*r)
		return fmt.Sprintf("m-%s 0a%s %s 0 1 0 %s 0a%s %s 0 1 0 -%s 0z", c, c, c, d, c, c, d)
	}
	var b strings.Builder
	from := Point{}
	for _, line := range lines {
		for i, p := range line {
			command := "l"
			if i == 0 {
				command = "m"
			}
			p = Point{p.X * r, p.Y * r}
			b.WriteString(command + num(p.X-from.X) + " " + num(p.Y-from.Y))
			from = p
		}
	}
	if closed {
		b.WriteString("z")
	}
	return b.String()
}

// LegendItem is an entry of a list that names series: its swatch and its label, in an li that the page's script finds
// by the label.
func LegendItem(s Series) string {
	return fmt.Sprintf(`<li data-s="%s"><svg class="sw m-%s" aria-hidden="true">%s</svg>%s</li>`, escapeXML(s.Label),
		escapeXML(s.Look.Class), Swatch(s), escapeXML(s.Label))
}

// swatch is the size of a swatch.
const swatchWidth, swatchHeight = 34.0, 12.0

// Swatch is the inside of an SVG of 34 × 12 pixels for legends and tables: a piece of a line with its marker.
func Swatch(s Series) string {
	line := s.mark(Line, Point{1, swatchHeight / 2}, Point{swatchWidth - 1, swatchHeight / 2})
	line.Width, line.Dash = s.ink(), s.Look.Dash
	dot := s.marker(Point{swatchWidth / 2, swatchHeight / 2}, 4)
	line.Series, dot.Series = "", "" // the page gives the colour
	d := Drawing{Marks: []Mark{line, dot}}
	var b strings.Builder
	d.marks(&b, (*Mark).classes)
	return b.String()
}
