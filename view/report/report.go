// Package report makes tables, figures and one HTML page from result files. It depends only on files and knows
// nothing of experiments, data or the engine, so every table can be made again years later. Start at [Write] and
// [Table].
package report

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ocl/config"
)

// Options of [Write].
type Options struct {
	Known  []Known  // methods in the order of their rows; others follow as they appear
	Tricks []string // in the order of their marks, which they keep for ever: new ones go last
	// Catalogue says which keys of the config a method reads: rows do not differ in what they do not read. By it a report
	// also finds results whose config was edited. Nil says that all read every key, and asks no result for its key.
	Catalogue  *config.Schema
	PNG        bool     // figures as PNG too, for programs that take neither SVG nor PDF
	LaTeX      bool     // figures and tables for a paper too
	Experiment string   // folder of the experiment that the results of [Table] are of; "" is none
	Examples   Examples // images of classes that are confused; nil shows none
	Mistaken   Mistaken // those that were taken wrong; nil shows none. It needs Examples too
	// draw every row in every figure, however many there are: by default there are bounds, and the tables have the rest
	All bool
}

// ErrLeftOut says that a report was written without some results, which could not be used.
var ErrLeftOut = errors.New("some results are left out")

// Written lists the files that [Write] wrote.
type Written struct {
	Page    string    `json:"report"` // path of report.html
	Files   []string  `json:"files"`  // paths, the page last
	Rows    []Summary `json:"rows"`   // of the main table
	LeftOut []LeftOut `json:"left_out"`
}

// Write reads the results in dirs, each an experiment folder, a run folder, a folder of compressed results
// (NAME.json.gz) or the file of a result, and writes one report about all of them into the folder out: report.html,
// figures/ (SVG and PDF) and tables/ (CSV and Markdown), and what a paper needs if that is wanted. Runs are compared by
// method, memory, protocol and whatever else of their configuration differs; seeds are averaged. An empty out is the
// folder itself where there is one only, or the folder of the file.
//
// A result that cannot be read or was edited is left out: the page names it, and the error wraps [ErrLeftOut] and says
// why, beside what was written. With any other error nothing is returned; that no result can be used is one. Results of
// different numbers versions, kernels or convolutions are reported with a warning on the page. Every file appears whole
// or not at all, and the page last; a second report in the same folder waits for the first. It ends when ctx does, with
// its error.
func Write(ctx context.Context, dirs []string, out string, o Options) (*Written, error) {
	read, err := readAll(ctx, dirs, o.Catalogue)
	if err != nil {
		return nil, err
	}
	if out, err = OutFolder(dirs, out); err != nil {
		return nil, err
	}
	w := Folder{Path: out, Context: ctx}
	w.Make("", "figures", "tables")
	if w.Err != nil {
		return nil, w.Err
	}
	unlock, waited, err := lock(ctx, out, lockPatience)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if waited { // runs may have ended since
		if read, err = readAll(ctx, dirs, o.Catalogue); err != nil {
			return nil, err
		}
	}
	written, err := read.write(&w, dirs, o)
	if err != nil {
		return nil, err
	}
	return written, read.err()
}

// OutFolder is the folder that a report of some folders and files is written to: out, or where that is empty the folder
// that is the only one, or that of the only file.
func OutFolder(dirs []string, out string) (string, error) {
	if out != "" {
		return out, nil
	}
	if len(dirs) > 1 {
		return "", fmt.Errorf("report: %d folders are given, and the report needs a folder of its own. Give one with \"--out DIR\"",
			len(dirs))
	}
	if info, err := os.Stat(dirs[0]); err == nil && info.IsDir() {
		return dirs[0], nil
	}
	return filepath.Dir(dirs[0]), nil
}

// study makes the study that a report prints, from the results that were read.
func (r *reading) study(o Options) *study {
	st := newStudy(r.runs, r.notes, o.Known, o.Catalogue)
	for _, l := range r.left {
		st.warnings = append(st.warnings, fmt.Sprintf("%s is left out: %s.", l.Path, l.Reason))
	}
	styleVariants(st.rows, o.Tricks)
	st.png = o.PNG
	for _, s := range st.settings {
		s.all = o.All
	}
	return st
}

// write draws a report of what was read in dirs.
func (r *reading) write(w *Folder, dirs []string, o Options) (*Written, error) {
	st := r.study(o)
	p, figures, undrawn := newPage(st)
	p.illustrate(w.Context, o.Examples, o.Mistaken)
	tables := append(p.tables(), undrawn...)
	for _, f := range figures {
		if w.Err == nil {
			f.write(w)
		}
		tables = append(tables, f.table())
	}
	for _, t := range tables {
		if w.Err != nil {
			break
		}
		w.Write("tables/"+t.ID+".csv", t.csvBytes())
		w.Write("tables/"+t.ID+".md", t.markdown())
	}
	if o.LaTeX && w.Err == nil {
		st.latex(w, p, figures, dirs)
	}
	w.Write("report.html", render(p))
	if w.Err != nil {
		return nil, w.Err
	}
	return &Written{Page: filepath.Join(w.Path, "report.html"), Files: w.Files, Rows: st.summaries(),
		LeftOut: append([]LeftOut{}, r.left...)}, nil
}
