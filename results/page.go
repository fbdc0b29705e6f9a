package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"text/template"

	"ocl/experiment/result"
	"ocl/report"
	"ocl/report/paper"
	"ocl/survey"
)

// reproductionText is docs/reproduction.md as people wrote it. Tables and figures are filled in by the methods of page.
//
//go:embed reproduction.md.tmpl
var reproductionText string

// page has what a generated page is filled in from.
type page struct {
	root  string // of the repository
	study *paper.Study
	runs  []run // all committed results, those of earlier numbers versions too
	cells map[string][]*paper.Cell
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
	return newPage(root, s, runs)
}

func newPage(root string, s *paper.Study, runs []run) (*page, error) {
	p := &page{root: root, study: s, runs: runs, cells: map[string][]*paper.Cell{}}
	for _, label := range measured {
		cells, err := s.Cells(label)
		if err != nil {
			return nil, err
		}
		p.cells[label] = cells
	}
	return p, nil
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
