package report

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestDeckIsJSONAsWritten: names of classes may have characters that do not show, and the file has no others and still
// the names.
func TestDeckIsJSONAsWritten(t *testing.T) {
	d := deck{Names: []string{"a\x7fb", "\u202ec", "\u009b", "\U000e0001", "\ue000", "ü \U0001f600 <&>"}}
	text := shown("report.html", []byte(d.JSON()))
	var again deck
	if err := json.Unmarshal(text, &again); err != nil || !slices.Equal(again.Names, d.Names) {
		t.Errorf("%q is read as %q: %v", text, again.Names, err)
	}
}

// TestDeck: the page prints few heat maps, or the first one of many, and its script finds all rows and all single runs.
func TestDeck(t *testing.T) {
	pageOf := func(fakes []fake) (string, *deck) {
		var runs []*run
		for _, r := range results(fakes) {
			runs = append(runs, newRun(r, ""))
		}
		p, _, _ := newPage(studyOf(runs, nil))
		page := string(shown("report.html", render(p))) // as it is written
		// names of classes too, which have all characters
		for part := range strings.SplitSeq(page, `<script type="application/json">`) {
			if text, _, found := strings.Cut(part, "</script>"); found && strings.HasPrefix(text, `{"Rows"`) &&
				!json.Valid([]byte(text)) {
				t.Errorf("the page holds data that are no JSON: %s", text)
			}
		}
		_, page, _ = strings.Cut(page, `id="matrix-section"`)
		page, _, _ = strings.Cut(page, "</section>")
		_, text, found := strings.Cut(page, `<script type="application/json">`)
		if !found {
			return page, nil
		}
		text, _, _ = strings.Cut(text, "</script>")
		d := new(deck)
		if err := json.Unmarshal([]byte(text), d); err != nil {
			t.Fatal(err)
		}
		return page, d
	}
	if page, d := pageOf(pair(1)[1:]); d != nil || strings.Count(page, "<table class=\"heat") != 1 {
		t.Errorf("a page of one run has a deck: %s", page)
	}
	page, d := pageOf(pair(3))
	if d == nil || len(d.Maps) != 2 || len(d.Maps[0].Runs) != 3 || d.Maps[1].Runs[2].Seed != 3 ||
		strings.Count(page, "<table class=\"heat") != 2 || strings.Contains(page, "Not drawn") {
		t.Fatalf("the deck of two rows is %+v on\n%s", d, page)
	}
	if c := d.Before + d.Maps[1].Caption + d.After; !strings.HasPrefix(c, "Accuracy matrix of Finetune: each row") ||
		strings.Contains(d.Maps[0].Caption, "each row") || !strings.HasSuffix(c, "3 runs.") {
		t.Errorf("the caption is %q, %q, %q", d.Before, d.Maps[1].Caption, d.After)
	}
	if lines := strings.Split(d.Maps[0].Runs[0].Cells, " "); len(lines) != 10 || len(lines[0]) != 2 ||
		len(lines[9]) != 20 {
		t.Errorf("the cells of a run are %q", lines)
	}
	page, d = pageOf(twelveFakes())
	if d == nil || len(d.Maps) != 12 || strings.Count(page, "<table class=\"heat") != 1 ||
		!strings.Contains(page, `<p class="note others">`) || d.Note != "" {
		t.Errorf("the deck of twelve rows is %+v on\n%s", d, page)
	}
	if _, d = pageOf(studyFakes()); d == nil || len(d.Maps) != 25 || len(d.Maps[0].Runs) != 0 || d.Note == "" {
		t.Errorf("the deck of 250 runs is %+v", d)
	}
}
