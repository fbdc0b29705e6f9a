package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"unicode"

	"ocl/internal/count"
	"ocl/view/chart"
)

//go:embed page.html.tmpl
var pageTemplate string

//go:embed page.css
var pageCSS string

//go:embed script/table.mjs
var tableJS string

//go:embed script/dom.mjs
var domJS string

//go:embed script/chart.mjs
var chartJS string

//go:embed script/deck.mjs
var deckJS string

//go:embed script/triangle.mjs
var triangleJS string

//go:embed script/page.mjs
var pageJS string

// page has the data of the template.
type page struct {
	Title     string
	Scope     string // what a report of several settings is about
	First     []firstScreen
	Warnings  []string
	Notes     []string
	Results   *table
	Settings  []pageSetting
	Sections  []pageSection
	Metrics   *table
	Meanings  []fact // of the metrics
	Signals   *table
	Runs      *table
	Origin    *table
	Recipes   []recipe
	Footnotes []string // of the main table
	Several   bool     // more than one setting
	styles    []chart.Look
	Frame     *Frame // nil on a page that is written
}

// firstScreen answers for a setting what was best.
type firstScreen struct {
	ID       string
	Headline string
	Shared   string // what all rows have in common
	Tiles    []tile
	Ranking  *figure // nil where nothing was measured
	Curve    *figure
}

// pageSetting says what was run in a setting.
type pageSetting struct {
	Name  string
	Facts []fact
}

// newPage builds the page of a study and returns it with the figures to draw, and the tables of the figures that are
// not drawn.
func newPage(st *study) (p *page, drawn []*figure, undrawn []*table) {
	p = &page{
		Title: st.title(), Scope: count.Of(len(st.rows), "row") + " in " + count.Of(len(st.settings), "stream"),
		Warnings: st.warnings, Notes: slices.Clone(st.notes), Several: len(st.settings) > 1,
		Results: st.resultsTable(), Sections: st.sections(), Metrics: st.metricsTable(), Meanings: st.meanings(),
		Signals: st.signalsTable(),
		Runs:    st.runsTable(), Origin: st.provenanceTable(), Recipes: st.recipes(), styles: st.styles(),
	}
	for _, s := range st.settings {
		first := firstScreen{ID: s.id("first"), Headline: s.headline(), Shared: s.shared(), Tiles: s.tiles(),
			Ranking: s.rankingFigure(), Curve: s.accuracyFigure()}
		p.First = append(p.First, first)
		if !p.Several {
			first.Curve.Level = 2 // the headline above is the heading of the whole page
		}
		if first.Ranking != nil {
			first.Ranking.Level = first.Curve.Level
			drawn = append(drawn, first.Ranking)
		}
		drawn = append(drawn, first.Curve)
		p.Settings = append(p.Settings, pageSetting{Name: upper(s.Name), Facts: s.facts()})
		p.Footnotes = append(p.Footnotes, s.footnotes()...)
		if note := s.foreignNote(); note != "" {
			p.Notes = append(p.Notes, note)
		}
	}
	if p.Several {
		p.Notes = append(p.Notes, fmt.Sprintf("Compare only rows of the same stream: the %d streams of this report differ in data, tasks or protocol.",
			len(st.settings)))
	}
	for _, s := range p.Sections {
		figures, rest := s.figures()
		drawn = append(drawn, figures...)
		for _, f := range rest {
			undrawn = append(undrawn, f.table())
		}
	}
	for _, f := range drawn {
		f.PNG = st.png
		f.sayAxis()
	}
	return p, drawn, undrawn
}

// tables returns the tables of the page, without those of its figures.
func (p *page) tables() []*table {
	all := []*table{p.Results, p.Metrics, p.Signals, p.Runs, p.Origin}
	for _, s := range p.Sections {
		if s.Table != nil {
			all = append(all, s.Table)
		}
		for _, b := range s.Blocks {
			if b.Table != nil {
				all = append(all, b.Table)
			}
		}
	}
	for _, c := range p.confused() {
		all = append(all, c.Data)
	}
	return all
}

// title heads the page.
func (st *study) title() string {
	var methods []string
	seen := map[string]bool{}
	for _, g := range st.rows {
		if t := g.title(); !seen[t] {
			seen[t] = true
			methods = append(methods, t)
		}
	}
	if len(methods) > 5 {
		methods = append(methods[:4], count.Of(len(methods)-4, "other method"))
	}
	var where []string
	for _, s := range st.settings {
		if name := settingName(s.stream); !slices.Contains(where, name) {
			where = append(where, name)
		}
	}
	if len(where) > 2 {
		where = append(where[:1], count.Of(len(where)-1, "other setting"))
	}
	return count.And(methods) + " on " + count.And(where)
}

// render prints the page.
func render(p *page) []byte {
	t := template.Must(template.New("page").Funcs(template.FuncMap{
		"inline":  func(f *figure) template.HTML { return template.HTML(f.inline()) },
		"parts":   (*figure).parts,
		"more":    func(f *figure) string { return count.Of(len(f.Ranked.Rows), "more row") },
		"srcset":  func(u template.URL) template.Srcset { return template.Srcset(u) },
		"step":    chart.HeatStep,
		"none":    func(v float64) bool { return math.IsNaN(v) },
		"whole":   func(v float64) string { return count.Fixed(100*v, 0) },
		"percent": count.Percent,
		"facets":  facetsOf,
		"glue":    Glue,
		"head":    func() template.HTML { return head(p.Title, styleSheet(p.styles)+p.frame().Style) },
		"js":      func() template.JS { return template.JS(PageScript() + p.frame().Script) },
		"swatch":  func(c cell) template.HTML { return template.HTML(p.swatchOf(c.Mark)) },
	}).Parse(pageTemplate))
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		panic("report: the page: " + err.Error()) // the template is part of the program
	}
	return bytes.Map(xmlRune, b.Bytes())
}

// frame returns the parts that another program adds to the page.
func (p *page) frame() Frame {
	if p.Frame == nil {
		return Frame{}
	}
	return *p.Frame
}

// facetsOf are the attributes by which the page's script filters a line of a table; none where it is of no row or of
// two.
func facetsOf(line []cell) template.HTMLAttr {
	var g *row
	for _, c := range line {
		if c.row != nil && g != nil {
			return ""
		}
		if c.row != nil {
			g = c.row
		}
	}
	if g == nil {
		return ""
	}
	tricks, memory := "none", "none"
	if list := g.tricks(); len(list) > 0 {
		tricks = strings.ToUpper(strings.Join(list, " + "))
	}
	if g.memory >= 0 {
		memory = count.Number(g.memory)
	}
	var b strings.Builder
	for _, a := range [][2]string{{"method", g.methodTitle()}, {"trick", tricks}, {"memory", memory},
		{"data", g.setting.Name}} {
		if a[0] != "data" || g.setting.among > 1 {
			fmt.Fprintf(&b, ` data-%s="%s"`, a[0], template.HTMLEscapeString(a[1]))
		}
	}
	return template.HTMLAttr(b.String())
}

// xmlRune is r, or U+FFFD for what neither the page nor its figures can hold, such as a control character in a name
// from a file.
func xmlRune(r rune) rune {
	if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
		return unicode.ReplacementChar
	}
	return r
}

// Glue puts no-break spaces between a number, its sign and its unit.
func Glue(s string) string {
	return strings.NewReplacer(" %", "\u00a0%", " ± ", "\u00a0±\u00a0", "p = ", "p\u00a0=\u00a0", "p < ",
		"p\u00a0<\u00a0").Replace(s)
}

// Symbols draws every swatch that the tables of the page use, once.
func (p *page) Symbols() template.HTML {
	used := map[string]bool{}
	for _, t := range p.tables() {
		for _, row := range t.Rows {
			for _, c := range row {
				used[c.Mark] = true
			}
		}
	}
	var b strings.Builder
	b.WriteString(`<svg class="defs" aria-hidden="true"><defs>`)
	for _, s := range p.styles {
		if used[s.Class] {
			fmt.Fprintf(&b, `<g id="sw-%s">%s</g>`, s.Class, chart.Swatch(chart.Series{Look: s, Width: 2}))
		}
	}
	b.WriteString(`</defs></svg>`)
	return template.HTML(b.String())
}

// swatchOf is the swatch of a style's class.
func (p *page) swatchOf(class string) string {
	for _, s := range p.styles {
		if s.Class == class {
			return fmt.Sprintf(`<svg class="sw m-%s" aria-hidden=true><use href="#sw-%s"/></svg>`, s.Class, s.Class)
		}
	}
	return ""
}

// Title is the cell in words, without its value; "" where the number in it and the names of its row and column must do.
func (h *heat) Title(i, j int) string {
	if h.Say == nil || h.Size() == "small" {
		return ""
	}
	return h.Say(i, j)
}

// Lined says that the rows have names, which take room.
func (h *heat) Lined() bool {
	return slices.ContainsFunc(h.Rows, func(name string) bool { return strings.Contains(name, " ") })
}

// Size says how large the cells of the table on the page are.
func (h *heat) Size() string {
	switch n := len(h.Cols); {
	case n > 40:
		return "tiny"
	case n > 12:
		return "small"
	}
	return "big"
}
