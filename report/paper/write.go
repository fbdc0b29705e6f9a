package paper

import (
	"path/filepath"

	"ocl/report"
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
	study   *Study
	beside  bool
	tables  []*table
	figures []*figure
	checked map[Comment][]string
}

// Write reads the results in and below folders ([Read]) and writes the tables and figures of the survey from them into the folder out:
// paper.html, tables/ (CSV, Markdown and LaTeX), figures/ (SVG and PDF) and paper.tex, which has all of them. An empty out is the folder
// itself where there is one only. An error that wraps [report.ErrLeftOut] names results that were not used, and comes beside what was
// written. With any other error nothing is returned. Every file appears whole or not at all, and the page last.
func Write(dirs []string, out string, o Options) (*Written, error) {
	study, left := Read(dirs)
	if study == nil {
		return nil, left
	}
	out, err := report.OutFolder(dirs, out)
	if err != nil {
		return nil, err
	}
	p, err := build(study, o)
	if err != nil {
		return nil, err
	}
	written, err := p.write(out)
	if err != nil {
		return nil, err
	}
	return written, left
}

// build makes all tables and figures.
func build(study *Study, o Options) (*paper, error) {
	p := &paper{study: study, beside: o.Beside}
	if o.Comments != nil {
		p.checked = o.Comments(study)
	}
	for _, b := range builders {
		t, err := b.build(p, b.label)
		if err != nil {
			return nil, err
		}
		p.tables = append(p.tables, t)
	}
	for _, b := range figureBuilders {
		f, err := b.build(p, b)
		if err != nil {
			return nil, err
		}
		p.figures = append(p.figures, f)
	}
	return p, nil
}

// write writes all files below a folder.
func (p *paper) write(out string) (*Written, error) {
	if err := p.draw(); err != nil {
		return nil, err
	}
	page, err := p.page()
	if err != nil {
		return nil, err
	}
	to := report.Folder{Path: out}
	to.Make("tables", "figures")
	for _, t := range p.tables {
		name := "tables/" + t.ID()
		to.Write(name+".csv", t.csv())
		to.Write(name+".md", t.markdown())
		to.Write(name+".tex", t.latex())
	}
	for _, f := range p.figures {
		f.write(&to)
	}
	to.Write("paper.tex", p.document())
	to.Write("paper.html", page)
	if to.Err != nil {
		return nil, to.Err
	}
	w := &Written{Page: filepath.Join(out, "paper.html"), Files: to.Files, Counts: p.counts(), LeftOut: append([]LeftOut{}, p.study.LeftOut...)}
	w.Cells, w.Runs = p.measured()
	return w, nil
}

// counts are the verdicts of all tables.
func (p *paper) counts() Counts {
	all := Counts{}
	for _, t := range p.tables {
		for v, n := range CountVerdicts(t.Cells) {
			all[v] += n
		}
	}
	return all
}

// measured counts the cells with a published value, each once, and those of them that were measured.
func (p *paper) measured() (cells, measured int) {
	for _, t := range p.tables {
		for _, c := range t.Cells {
			if c.Repeat == "" {
				cells++
				if c.Ours.N > 0 {
					measured++
				}
			}
		}
	}
	return cells, measured
}
