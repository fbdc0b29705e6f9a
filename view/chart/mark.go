package chart

import (
	"cmp"
	"fmt"
	"strings"
)

// Point is a place in a drawing: pixels to the right of and below its top left corner.
type Point struct{ X, Y float64 }

// Drawing is a chart laid out.
type Drawing struct {
	Width, Height float64 // pixels
	Font          float64 // size of texts that name no other, in pixels
	Marks         []Mark  // in the order in which they are drawn
	Labelled      bool    // a line chart whose lines carry their labels, so that it needs no legend
	// the page has another drawing of this chart, from which its script takes the values of the lines
	Again bool

	frame frame // of the last line chart
}

// PointsHigh is the height in points of print.
func (d *Drawing) PointsHigh() float64 { return points * d.Height }

func (d *Drawing) add(m Mark) { d.Marks = append(d.Marks, m) }

// right is the right end of all marks but their markers.
func (d *Drawing) right() float64 {
	right := 0.0
	for _, m := range d.Marks {
		for _, p := range m.Points {
			if m.Text != "" {
				p.X += width(m.Text, cmp.Or(m.Size, d.Font)) * (1 - m.Anchor.share())
			}
			right = max(right, p.X)
		}
	}
	return right
}

// Mark is one thing that is drawn: a text, a marker, or a line or polygon through its points.
type Mark struct {
	Role   Role
	Series string  // the label of the series that it belongs to, "" if none
	Look   *Look   // of the series, nil if none
	Points []Point // of a line or polygon; a text starts, ends or is centred at the first, a marker is around each
	Text   string
	Anchor Anchor
	Size   float64   // of a text, 0 for the drawing's own; radius of a marker
	Width  float64   // of a line, 0 for the role's own
	Dash   []float64 // of a line
	Color  string    // #rrggbb instead of the role's
	// of an area: its colour on the scale of heat maps, for pages, whose style sheet has it below the class fSTEP
	Step    int
	At      Point   // of an area: where a page says its values, in the middle of its thickest place
	Opacity float64 // of the inside, 0 for the role's own
	Tip     string  // shown on hover
}

// Anchor says where the point of a text is.
type Anchor int

// The anchors.
const (
	Start Anchor = iota
	Middle
	End
)

// share is the part of the text that lies left of its point.
func (a Anchor) share() float64 { return float64(a) / 2 }

// Look is the colour, the dash and the marker of a series.
type Look struct {
	Class  string    // names the colour in stylesheets: class m-NAME sets the variable --c
	Light  string    // #rrggbb on a light page, and in files
	Dark   string    // #rrggbb on a dark page
	Dash   []float64 // lengths of ink and gap in pixels; empty is solid
	Marker Marker
}

// Role is the purpose of a mark. It decides on the mark's colours, in a page's stylesheet and in files.
type Role int

// The roles.
const (
	Tick    Role = iota // text at an axis
	Grid                // line of the grid
	Zero                // the grid's line at 0
	Lead                // from the end of a line to its label
	Label               // text that names a series
	Band                // interval around a line
	Faint               // the same where many bands overlap
	Whisker             // interval at a point alone
	Hair                // the same where many cross
	Single              // one run behind a mean
	Line                // the line of a series
	Dot                 // marker
	Seed                // small marker of one of the values behind a mean
	Ring                // hollow marker
	Bar                 // part of a bar
	Halo                // below the next
	Beside              // value that another one is compared with, across a bar or a row
	Title               // text above a figure
	Heading             // text above a panel
	Cell                // of a heat map
	Area                // of stacked ones
	Number              // text in a cell
)

// ink says where the colour of a role comes from.
type ink int

const (
	none ink = iota
	page
	text
	muted
	rule
	series // the look's
	own    // the mark's
)

// roles are the classes and colours of all roles.
var roles = [...]struct {
	class        string
	fill, stroke ink
	width        float64
	opacity      float64 // of the fill, or of the stroke where nothing is filled; 0 is opaque
}{
	Tick:    {"ax", muted, none, 0, 0},
	Grid:    {"grid", none, rule, 1, 0},
	Zero:    {"zero", none, muted, 1, 0},
	Lead:    {"lead", none, muted, 0.75, 0.5},
	Label:   {"end", text, none, 0, 0},
	Band:    {"band", series, none, 0, 0.18},
	Faint:   {"faint", series, none, 0, 0.09},
	Whisker: {"err", none, series, 4, 0.5},
	Hair:    {"hair", none, series, 1.25, 0.6},
	Single:  {"thin", none, series, 0.75, 0.45},
	Line:    {"ln", none, series, 2, 0},
	Dot:     {"mk", series, series, 1.25, 0},
	Seed:    {"seed", series, none, 0, 0.55},
	Ring:    {"ring", page, series, 1.25, 0},
	Bar:     {"bar", series, series, 0.75, 0},
	Halo:    {"halo", none, page, 6, 0},
	Beside:  {"beside", none, text, 2, 0},
	Title:   {"ttl", text, none, 0, 0},
	Heading: {"head", text, none, 0, 0},
	Cell:    {"cell", own, none, 0, 0},
	Area:    {"area", own, none, 0, 0},
	Number:  {"num", own, none, 0, 0},
}

// inks are the colours of a figure in a file of its own: the name of the variable that has it in stylesheets, and the
// colour on a light and on a dark page.
var inks = map[ink]struct{ variable, light, dark string }{
	page:  {"--bg", "#FFFFFF", "#0D1117"},
	text:  {"--ink", "#1B1F24", "#E8EAED"},
	muted: {"--muted", "#57606A", "#A3ABB5"},
	rule:  {"--line", "#D9DDE2", "#353B43"},
}

// StyleSheet gives the roles their colours on a page that declares --bg, --ink, --muted and --line.
func StyleSheet() string {
	name := map[ink]string{none: "none", page: "var(--bg)", text: "var(--ink)", muted: "var(--muted)", rule: "var(--line)",
		series: "var(--c)"}
	var b strings.Builder
	for _, r := range roles {
		if r.fill == own {
			continue
		}
		fmt.Fprintf(&b, ".%s{fill:%s", r.class, name[r.fill])
		if r.stroke != none {
			fmt.Fprintf(&b, ";stroke:%s;stroke-width:%g", name[r.stroke], r.width)
		}
		if r.opacity > 0 && r.fill != none {
			fmt.Fprintf(&b, ";fill-opacity:%g", r.opacity)
		} else if r.opacity > 0 {
			fmt.Fprintf(&b, ";stroke-opacity:%g", r.opacity)
		}
		b.WriteString("}")
	}
	return b.String()
}

// paint is a role's colours in a file: light ones, "" where nothing is filled or stroked.
type paint struct {
	fill, stroke               string
	fillOpacity, strokeOpacity float64
	width                      float64
}

func (m *Mark) paint() paint {
	r := roles[m.Role]
	color := func(i ink) string {
		switch i {
		case series:
			return m.Look.Light
		case own:
			return m.Color
		}
		return inks[i].light
	}
	p := paint{color(r.fill), color(r.stroke), 1, 1, m.width()}
	if m.Opacity > 0 {
		p.fillOpacity = m.Opacity
	} else if r.opacity > 0 && r.fill != none {
		p.fillOpacity = r.opacity
	} else if r.opacity > 0 {
		p.strokeOpacity = r.opacity
	}
	return p
}

// width is the width of the mark's line.
func (m *Mark) width() float64 {
	if m.Width > 0 {
		return m.Width
	}
	return roles[m.Role].width
}

// closed says that the points are the corners of a polygon.
func (m *Mark) closed() bool { return roles[m.Role].fill != none && !m.marker() && m.Text == "" }

// marker says that the mark is a marker.
func (m *Mark) marker() bool { return m.Role == Dot || m.Role == Ring || m.Role == Seed }
