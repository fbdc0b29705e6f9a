package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"ocl/run/result"
	"ocl/survey"
	"ocl/survey/findings"
	"ocl/survey/paper"
	"ocl/view/report"
)

// texts are pages below docs as people wrote them, each under its own path. Tables and figures are filled in by the
// methods of page. The text sheet.md.tmpl is that of every table, filled in by the methods of sheetPage.
//
//go:embed pages
var texts embed.FS

const sheetText = "sheet.md.tmpl"

// page has what a generated page is filled in from.
type page struct {
	root         string // of the repository
	runs         []run  // all committed results, those of earlier numbers versions too
	cells        map[string][]*paper.Cell
	claims       []findings.Finding
	confirmation sheet // the cells of the confirmation, from its runs alone
	Confirmed    int   // how many runs of the confirmation are made
	study        *paper.Study
	shift        *paper.Shift
	torch        map[uint64]float64 // accuracies of ER in PyTorch, by seed
}

// measured are the tables of the survey with cells, in the order of the page.
var measured = []string{survey.ClassIncremental, survey.TricksCIFAR100, survey.TricksMiniImage,
	survey.DomainIncremental, survey.ErrorAnalysis, survey.TrickTimes}

// openPage reads the committed results. Only results of earlier numbers versions may be left out.
func openPage(root string, runs []run) (*page, error) {
	s, err := paper.Read(context.Background(), []string{filepath.Join(root, "survey", "results")})
	if err != nil && !errors.Is(err, report.ErrLeftOut) {
		return nil, err
	}
	for _, l := range s.LeftOut {
		if !slices.ContainsFunc(runs, func(r run) bool {
			return filepath.Join(root, "survey", "results", filepath.FromSlash(r.file)) == l.Path &&
				r.Provenance.Numbers < result.Numbers
		}) {
			return nil, fmt.Errorf("%s: %s", l.Path, l.Reason)
		}
	}
	p := newPage(root, s, runs)
	p.torch, err = readPeer(filepath.Join(root, "survey", "results", "cifar100", "torch.csv"))
	return p, err
}

func newPage(root string, s *paper.Study, runs []run) *page {
	p := &page{root: root, runs: runs, study: s, cells: map[string][]*paper.Cell{}}
	study, confirmation := s.WithoutConfirmation(), s.Confirmation()
	p.shift, p.Confirmed = s.Shift(), len(confirmation.Runs)
	p.confirmation = sheet{Name: "confirmation", Title: "The confirmation", columns: []string{survey.CIFAR100}}
	for _, label := range measured {
		p.cells[label] = study.Cells(label)
		for _, c := range confirmation.Cells(label) {
			if c.Verdict != paper.NoVerdict && c.Repeat == "" {
				p.confirmation.cells = append(p.confirmation.cells, c)
			}
		}
	}
	p.claims = findings.Check(s)
	return p
}

// pages are the pages below docs and the CSV files of the tables.
func (p *page) pages() (files []file, err error) {
	var all []*paper.Cell
	for _, s := range p.sheets() {
		all = append(all, s.cells...)
		if name := "docs/reproduction/" + s.Name; len(s.run()) > 0 {
			files = append(files, file{name + ".md", fill("pages/"+sheetText, &sheetPage{p, s})},
				file{name + ".csv", p.cellsCSV(s.cells, nil)})
		}
	}
	files = append(files,
		// their pages are texts of their own
		file{"docs/reproduction/error-analysis.csv", p.cellsCSV(p.cells[survey.ErrorAnalysis], nil)},
		file{"docs/reproduction/run-times.csv", p.cellsCSV(p.cells[survey.TrickTimes], nil)},
		file{"survey/results/cells.csv", p.cellsCSV(all, p.confirmation.cells)},
		file{"survey/results/claims.csv", p.claimsCSV()})
	err = fs.WalkDir(texts, "pages", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() != sheetText {
			files = append(files, file{"docs/" + strings.TrimSuffix(strings.TrimPrefix(path, "pages/"), ".tmpl"), fill(path, p)})
		}
		return err
	})
	return files, err
}

// fill fills in a text.
func fill(path string, from any) []byte {
	var b bytes.Buffer
	if err := template.Must(template.ParseFS(texts, path)).Execute(&b, from); err != nil {
		panic(err) // the texts are part of the program
	}
	return b.Bytes()
}
