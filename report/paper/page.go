package paper

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/report"
	"ocl/report/chart"
)

//go:embed paper.html.tmpl
var pageTemplate string

//go:embed paper.css
var pageCSS string

// page is the HTML page: one file that needs nothing else.
func (p *paper) page() []byte {
	t := template.Must(template.New("paper").Funcs(template.FuncMap{
		"css":    func() template.CSS { return template.CSS(report.PageStyle() + pageCSS) },
		"js":     func() template.JS { return template.JS(report.PageScript()) },
		"chart":  func(pl *panel) template.HTML { return template.HTML(pl.inline()) },
		"legend": func(f *figure) template.HTML { return template.HTML(f.legend()) },
		"glue":   report.Glue,
		"prose":  prose,
		"number": func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) },
	}).Parse(pageTemplate))
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		panic("report: the page: " + err.Error()) // the template is part of the program
	}
	return b.Bytes()
}

// prose is a text with commands between backquotes.
func prose(s string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(s, "`") {
		if i%2 == 1 {
			b.WriteString("<code>" + html.EscapeString(part) + "</code>")
			continue
		}
		b.WriteString(html.EscapeString(part))
	}
	return template.HTML(b.String())
}

// Answer is the page in two sentences.
func (p *paper) Answer() string {
	all := p.cells()
	cells, measured := countMeasured(all)
	counts := CountVerdicts(all)
	return fmt.Sprintf("%d of the survey's %s are measured, by %s. %d of all cells have a published interval: %d agree, %d differ, %d are undecided, and %d were not run.",
		measured, count.Of(cells, "cell"), count.Of(len(p.Runs), "run"), counts.Sum(), counts[Agrees], counts[Differs], counts[Undecided], counts[NotRun])
}

// Rule says what the verdicts mean.
func (p *paper) Rule() string {
	return fmt.Sprintf("A cell agrees if the 90 %% interval of the difference lies within ± %d points and ± a fifth of the published value, with at least three runs. "+
		"It differs if Welch's test says so at %.0f %% after Holm's correction over the table's cells of its data set. Else it is undecided.", near, 100*level)
}

// LeftOutText says how many they are.
func (p *paper) LeftOutText() string {
	return count.Of(len(p.LeftOut), "result") + " could not be used."
}

// AllNotes are about the results.
func (p *paper) AllNotes() []string {
	notes := p.Notes
	if n := len(p.Unused()); n > 0 {
		notes = append(notes, fmt.Sprintf("%s %s in no table: no cell of the survey has their settings.", runsText(n, 0), isOrAre(n)))
	}
	return notes
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Commands are the cells of a table that say how to run them, each once.
func (t *table) Commands() []*Cell {
	var cells []*Cell
	for _, c := range t.Cells {
		if c.Repeat == "" && c.Command() != "" {
			cells = append(cells, c)
		}
	}
	return cells
}

// Name is a cell in words.
func (c *Cell) Name() string {
	name := c.Row
	if c.Column != "" {
		name += ", " + c.Column
	}
	if c.Memory > 0 {
		name += ", M = " + count.Number(c.Memory)
	}
	return name
}

// State is the number of runs of a cell in words.
func (c *Cell) State() string {
	if len(c.Runs) == 0 {
		return notRun
	}
	return runsText(c.Ours.N, c.Diverged())
}

// inline is the panel as an SVG for the page. Lines have their names in the legend of the figure.
func (pl *panel) inline() string {
	l := chart.Narrow
	l.Labels = 0
	return chart.Draw(pl.chart, l).Inline("panel", pl.ID, pl.Name, pl.Alt)
}

// legend names the lines of all panels of a figure, with switches where the page has its script.
func (f *figure) legend() string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, p := range f.Panels {
		for _, s := range p.series {
			if !seen[s.Label] {
				seen[s.Label] = true
				b.WriteString(chart.LegendItem(s))
			}
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return `<ul class="legend">` + b.String() + `</ul>`
}
