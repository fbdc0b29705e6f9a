package paper

import (
	"context"
	"path/filepath"
	"slices"

	"ocl/view/report"
)

// Options of [Write].
type Options struct {
	Beside bool // the published value beside each cell, with the difference and the verdict
	// Comments says what the results show of the survey's comments, a line for each finding; nil leaves that out.
	Comments func(*Study) map[Comment][]string
}

// Written is what [Write] wrote.
type Written struct {
	Page    string    `json:"report"`   // path of paper.html
	Files   []string  `json:"files"`    // paths, the page last
	Cells   int       `json:"cells"`    // with a published value, each once
	Runs    int       `json:"measured"` // of them measured
	Counts  Counts    `json:"verdicts"` // of cells with a published interval
	LeftOut []LeftOut `json:"left_out"`
}

// paper is the page in the making.
type paper struct {
	*Study
	beside          bool
	Tables          []*table
	Figures, Beyond []*figure // of the survey, and those that it does not have
	checked         map[Comment][]string
}

// Write reads the results in and below folders ([Read]) and writes the tables and figures of the survey from them into
// the folder out: paper.html, tables/ (CSV, Markdown and LaTeX), figures/ (SVG and PDF) and paper.tex, which has all of
// them. An empty out is the folder itself where there is one only. An error that wraps [report.ErrLeftOut] names
// results that were not used, and comes beside what was written. With any other error nothing is returned. Every file
// appears whole or not at all, and the page last. It ends when ctx does, with its error.
func Write(ctx context.Context, dirs []string, out string, o Options) (*Written, error) {
	study, left := Read(ctx, dirs)
	if study == nil {
		return nil, left
	}
	out, err := report.OutFolder(dirs, out)
	if err != nil {
		return nil, err
	}
	p, err := build(ctx, study, o)
	if err != nil {
		return nil, err
	}
	written, err := p.write(ctx, out)
	if err != nil {
		return nil, err
	}
	return written, left
}

// build makes all tables and figures.
func build(ctx context.Context, study *Study, o Options) (*paper, error) {
	p := &paper{Study: study, beside: o.Beside}
	if o.Comments != nil {
		p.checked = o.Comments(study)
	}
	for _, b := range builders {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p.Tables = append(p.Tables, b.build(p, b.label))
	}
	figures := func(builders []figureBuilder) (figures []*figure) {
		for _, b := range builders {
			f := &figure{Label: b.label, Title: b.title, Text: b.text, Panels: b.build(p, b)}
			if o.Beside && slices.Contains([]string{figBars, figDomains, figTricks, figTricksMini}, b.label) {
				f.Text += " Lines across bars of the accuracy are the values of the survey."
			}
			figures = append(figures, f)
		}
		return figures
	}
	p.Figures, p.Beyond = figures(figureBuilders), figures(beyondBuilders)
	return p, ctx.Err()
}

// write writes all files below a folder.
func (p *paper) write(ctx context.Context, out string) (*Written, error) {
	to := report.Folder{Path: out, Context: ctx}
	to.Make("tables", "figures")
	for _, t := range p.Tables {
		name := "tables/" + t.ID()
		to.Write(name+".csv", t.csv())
		to.Write(name+".md", t.markdown())
		to.Write(name+".tex", t.latex())
	}
	for _, f := range slices.Concat(p.Figures, p.Beyond) {
		if to.Err == nil {
			f.write(&to)
		}
	}
	to.Write("paper.tex", p.document())
	to.Write("paper.html", p.page())
	if to.Err != nil {
		return nil, to.Err
	}
	all := p.cells()
	w := &Written{Page: filepath.Join(out, "paper.html"), Files: to.Files, Counts: CountVerdicts(all),
		LeftOut: append([]LeftOut{}, p.LeftOut...)}
	w.Cells, w.Runs = countMeasured(all)
	return w, nil
}

// cells are those of all tables.
func (p *paper) cells() (all []*Cell) {
	for _, t := range p.Tables {
		all = append(all, t.Cells...)
	}
	return all
}
