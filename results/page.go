package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"ocl/experiment/result"
	"ocl/report"
	"ocl/report/findings"
	"ocl/report/paper"
	"ocl/survey"
)

// texts are pages below docs as people wrote them, each under its own path. Tables and figures are filled in by the methods of page. The text
// sheet.md.tmpl is that of every table, filled in by the methods of sheetPage.
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
}

// measured are the tables of the survey with cells, in the order of the page.
var measured = []string{survey.ClassIncremental, survey.TricksCIFAR100, survey.TricksMiniImage, survey.DomainIncremental, survey.ErrorAnalysis, survey.TrickTimes}

// openPage reads the committed results. Only results of earlier numbers versions may be left out.
func openPage(root string, runs []run) (*page, error) {
	s, err := paper.Read([]string{filepath.Join(root, "results")})
	if err != nil && !errors.Is(err, report.ErrLeftOut) {
		return nil, err
	}
	for _, l := range s.LeftOut {
		if !slices.ContainsFunc(runs, func(r run) bool {
			return filepath.Join(root, "results", filepath.FromSlash(r.file)) == l.Path && r.Provenance.Numbers < result.Numbers
		}) {
			return nil, fmt.Errorf("%s: %s", l.Path, l.Reason)
		}
	}
	return newPage(root, s, runs), nil
}

func newPage(root string, s *paper.Study, runs []run) *page {
	p := &page{root: root, runs: runs, cells: map[string][]*paper.Cell{}}
	study, confirmation := s.WithoutConfirmation(), s.Confirmation()
	p.confirmation = sheet{name: "confirmation", title: "The confirmation"}
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
	text, err := texts.ReadFile("pages/" + sheetText)
	if err != nil {
		return nil, err
	}
	add := func(name string, text []byte, err error) error {
		files = append(files, file{name, text})
		return err
	}
	var all []*paper.Cell
	for _, s := range p.sheets() {
		all = append(all, s.cells...)
		if run := s.run(); len(run) == 0 {
			continue
		}
		name := "docs/reproduction/" + s.name
		page, bad := fill(sheetText, string(text), &sheetPage{p, s})
		lines, alsoBad := cellsCSV(p.root, s.cells, nil)
		if err := errors.Join(add(name+".md", page, bad), add(name+".csv", lines, alsoBad)); err != nil {
			return nil, err
		}
	}
	for name, label := range map[string]string{"error-analysis": survey.ErrorAnalysis, "run-times": survey.TrickTimes} { // their pages are texts of their own
		lines, err := cellsCSV(p.root, p.cells[label], nil)
		if err := add("docs/reproduction/"+name+".csv", lines, err); err != nil {
			return nil, err
		}
	}
	lines, err := cellsCSV(p.root, all, p.confirmation.cells)
	if err := add("results/cells.csv", lines, err); err != nil {
		return nil, err
	}
	lines, err = p.claimsCSV()
	if err := add("results/claims.csv", lines, err); err != nil {
		return nil, err
	}
	err = fs.WalkDir(texts, "pages", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == sheetText {
			return err
		}
		text, err := texts.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(path, "pages/"), ".tmpl")
		page, err := fill(name, string(text), p)
		return add("docs/"+name, page, err)
	})
	return files, err
}

// fill fills in a text.
func fill(name, text string, from any) ([]byte, error) {
	t, err := template.New(name).Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, from)
	return b.Bytes(), err
}
