package report

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestSections: anchors and titles differ, and every figure is in the table of docs/report.md.
func TestSections(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sections {
		for _, word := range []string{"id " + s.ID, "nav " + s.Nav, "title " + s.Title} {
			if seen[word] {
				t.Errorf("two sections have the %s", word)
			}
			seen[word] = true
		}
	}
	doc, err := os.ReadFile("../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	var runs []*run
	for _, r := range results(analysed()) {
		runs = append(runs, newRun(r, ""))
	}
	st := studyOf(runs, nil)
	_, drawn, _ := newPage(st)
	if len(drawn) < 10 {
		t.Fatalf("%d figures", len(drawn))
	}
	for _, f := range drawn {
		id := f.ID
		for _, g := range st.rows {
			id = strings.Replace(id, "-"+g.slug, "-ROW", 1)
		}
		if !strings.Contains(string(doc), fmt.Sprintf("`%s`", id)) {
			t.Errorf("docs/report.md has no row for the figure %s", id)
		}
	}
}

// TestEmptySections: a section that shows nothing of any setting is left out, also from the list of sections.
func TestEmptySections(t *testing.T) {
	kept := sections
	defer func() { sections = kept }()
	none := func(*setting) *figure { return nil }
	sections = []section{{"full", "Full", "A full one", drawn((*setting).timeFigure), nil},
		{"empty", "Empty", "An empty one", drawn(none), nil}}
	p, drawn, _ := newPage(studyOf([]*run{newRun(pair(1)[0].make(), "")}, nil))
	page := render(p)
	// with the ranking and the curve of the first screen
	if strings.Contains(string(page), "mpty one") || strings.Contains(string(page), "empty-section") ||
		strings.Count(string(page), "full-section") != 3 || len(drawn) != 3 {
		t.Errorf("%d figures are drawn, and the page is %s", len(drawn), page)
	}
}
