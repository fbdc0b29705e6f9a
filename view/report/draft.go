package report

import (
	"html/template"
	"path/filepath"

	"ocl/run/result"
	"ocl/view/chart"
)

// Found is a result in memory, and the folder of its run or the file of a result that stands for itself.
type Found struct {
	Result *result.Result
	Folder string
}

// Frame has the parts that another program adds to the page of a [Draft]: HTML for its top, the style of that, and a
// script for the module of the page.
type Frame struct {
	Top    template.HTML
	Style  string
	Script string
}

// Draft is a report in memory. Nothing of it is written.
type Draft struct {
	Page  []byte
	files map[string]func() []byte
}

// NewDraft makes the page that [Write] would write of these results, of which there is at least one, with a frame.
// A
// result with the outcome [result.Running] enters a mean only if its row has no other.
func NewDraft(found []Found, notes []string, left []LeftOut, o Options, frame Frame) *Draft {
	read := reading{notes: notes, left: left}
	for _, f := range found {
		r := newRun(f.Result, f.Folder)
		if f.Result.Outcome.State == result.Running { // it has no result.json yet
			r.file = filepath.Join(f.Folder, "config.yaml")
		}
		read.runs = append(read.runs, r)
	}
	p, figures, tables := newPage(read.study(o))
	p.Frame = &frame
	d := &Draft{Page: shown("report.html", render(p)), files: map[string]func() []byte{}}
	tables = append(tables, p.tables()...)
	for _, f := range figures {
		tables = append(tables, f.table())
		drawn := func(draw func(*chart.Drawing) []byte) func() []byte {
			return func() []byte { return draw(chart.Draw(f.chart(), chart.File(f.Title))) }
		}
		description := f.Alt + " " + f.Caption
		d.files["figures/"+f.ID+".svg"] = drawn(func(g *chart.Drawing) []byte { return g.SVG(f.Title, description) })
		d.files["figures/"+f.ID+".pdf"] = drawn(func(g *chart.Drawing) []byte { return g.PDF(f.Title, description) })
	}
	for _, t := range tables {
		d.files["tables/"+t.ID+".csv"], d.files["tables/"+t.ID+".md"] = t.csvBytes, t.markdown
	}
	return d
}

// File makes a file that the page links, such as tables/results.csv; ok is false where it links none of this name.
// Calls must not overlap.
func (d *Draft) File(name string) (text []byte, ok bool) {
	make, ok := d.files[name]
	if !ok {
		return nil, false
	}
	return shown(name, make()), true
}
