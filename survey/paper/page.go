package paper

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/survey"
	"ocl/view/chart"
	"ocl/view/report"
)

//go:embed paper.html.tmpl
var pageTemplate string

//go:embed paper.css
var pageCSS string

// page is the HTML page: one file that needs nothing else.
func (p *paper) page() []byte {
	t := template.Must(template.New("paper").Funcs(template.FuncMap{
		"head":    func() template.HTML { return report.Head("The survey's tables and figures", pageCSS) },
		"js":      func() template.JS { return template.JS(report.PageScript()) },
		"chart":   func(pl *panel) template.HTML { return template.HTML(pl.inline()) },
		"line":    func(t *table, r row) tableRow { return tableRow{t, r} },
		"many":    func(notes []string) string { return count.Of(len(notes), "note") },
		"results": func(files []string) string { return count.Of(len(files), "result") },
		"rows":    func(rows []row) string { return count.Some(firstCells(rows)) },
		"scatter": func(pl *panel) template.HTML { return template.HTML(pl.scatter()) },
		"legend":  func(f *figure) template.HTML { return template.HTML(f.legend()) },
		"glue":    report.Glue,
		"prose":   prose,
		"number":  func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) },
	}).Parse(pageTemplate))
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		panic("report: the page: " + err.Error()) // the template is part of the program
	}
	return b.Bytes()
}

// shortNames say in a few words what a table or a figure of the survey has.
var shortNames = map[string]string{
	survey.ClassIncremental: "Methods, new classes", survey.DomainIncremental: "Methods, new domains",
	survey.TricksCIFAR100:  "Tricks, CIFAR-100",
	survey.TricksMiniImage: "Tricks, Mini-ImageNet", survey.ErrorAnalysis: "Errors of old and new classes",
	survey.TrickTimes:      "Run times of tricks",
	survey.Hyperparameters: "Chosen settings", survey.MethodComments: "Comments on methods",
	survey.TrickComments: "Comments on tricks",
	survey.Signals:       "What methods need", survey.Datasets: "Data sets", survey.Disturbances: "Disturbances",
	figCurves: "Curves, new classes", figBars: "Bars, new classes", figErrors: "Curves of errors",
	figTricks: "Bars of tricks, CIFAR-100", figDomains: "Bars, new domains",
	figCIFAR: "Curves, CIFAR-100", figMini: "Curves, Mini-ImageNet", figCORe50: "Curves, CORe50-NC",
	figTricksMini: "Bars of tricks, Mini-ImageNet",
	figNoise:      "Curves, noise", figOcclusion: "Curves, occlusion", figCORe50NI: "Curves, CORe50-NI",
	figAgreement: "All cells", figAnytime: "Within tasks", figTimeAccuracy: "Time and accuracy", figMemory: "Memory",
}

// Short names the table in the list of the page.
func (t *table) Short() string { return shortNames[t.Label] }

// Short names the figure in the list of the page.
func (f *figure) Short() string { return shortNames[f.Label] }

// Ordered are the tables in the order of the page: what was measured, the comparisons of methods first, before words.
func (p *paper) Ordered() []*table {
	order := []string{survey.ClassIncremental, survey.DomainIncremental, survey.TricksCIFAR100, survey.TricksMiniImage,
		survey.ErrorAnalysis, survey.TrickTimes}
	tables := slices.Clone(p.Tables)
	place := func(t *table) int {
		if i := slices.Index(order, t.Label); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(tables, func(a, b *table) int { return place(a) - place(b) })
	return tables
}

// Agreement is the figure that the page begins with, and Others are those that the survey does not have either.
func (p *paper) Agreement() *figure { return p.Beyond[0] }
func (p *paper) Others() []*figure  { return p.Beyond[1:] }

// tableRow is a line of a table for the template, which needs the heads too.
type tableRow struct {
	Table *table
	Row   row
}

// firstCells are the texts that rows begin with.
func firstCells(rows []row) (names []string) {
	for _, r := range rows {
		names = append(names, r.Cells[0].Text)
	}
	return names
}

// Headline is the answer in one line.
func (p *paper) Headline() string {
	counts := CountVerdicts(p.cells())
	if _, measured := countMeasured(p.cells()); measured == 0 {
		return "No cell of the survey was run"
	}
	return fmt.Sprintf("Of the survey's cells %s", counts)
}

// Measured are the lines with a value, and Unmeasured the others.
func (t *table) Measured() []row   { return t.lines(false) }
func (t *table) Unmeasured() []row { return t.lines(true) }

func (t *table) lines(unmeasured bool) (rows []row) {
	for _, r := range t.Rows {
		if r.Unmeasured == unmeasured {
			rows = append(rows, r)
		}
	}
	return rows
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
	return fmt.Sprintf("%d of the survey's %s are measured, by %s. %d of all cells have a published interval: %s.",
		measured, count.Of(cells, "cell"), count.Of(len(p.Runs), "run"), counts.Sum(), counts)
}

// Rule says what the verdicts mean.
func (p *paper) Rule() string {
	return fmt.Sprintf("A cell agrees if the 90 %% interval of the difference lies within ± %d points and ± a fifth of the published value, with at least three runs. "+
		"It differs if Welch's test says so at %.0f %% after Holm's correction over the table's cells of its data set, also with at least three runs. "+
		"It is undecidable if the published interval alone is too wide for any number of runs to agree. Else it is undecided.",
		near, 100*level)
}

// reason is why some results are left out.
type reason struct {
	Text  string
	Files []string
}

// Reasons are why results are left out, each once.
func (p *paper) Reasons() (list []*reason) {
	of := map[string]*reason{}
	for _, l := range p.LeftOut {
		r := of[l.Reason]
		if r == nil {
			r = &reason{Text: l.Reason}
			of[l.Reason], list = r, append(list, r)
		}
		r.Files = append(r.Files, l.Path)
	}
	return list
}

// LeftOutText says how many they are.
func (p *paper) LeftOutText() string {
	return count.Of(len(p.LeftOut), "result") + " could not be used."
}

// AllNotes are about the results.
func (p *paper) AllNotes() []string {
	notes := p.Notes
	if n := len(p.Unused()); n > 0 {
		notes = append(notes, fmt.Sprintf("%s %s in no table: no cell of the survey has their settings.", runsText(n, 0),
			isOrAre(n)))
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

// Name is what a cell measures, without its data set: "ER + RV, M = 5,000".
func (c *Cell) Name() string {
	name := c.Row
	switch c.Table {
	case survey.TricksCIFAR100, survey.TricksMiniImage:
		name = c.Column + " + " + trickName(c.Row)
	case survey.ErrorAnalysis, survey.TrickTimes:
		name = trickName(c.Row) + ", " + c.Column
	}
	if c.Memory > 0 {
		name += ", M = " + count.Number(c.Memory)
	}
	return name
}

// FullName is what a cell measures, and on which data set.
func (c *Cell) FullName() string { return c.Name() + ", " + c.Spec.Benchmark }

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
