package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/run/result"
)

// TestFirstScreen: headline and tiles say what the table of comparisons decides, and what is not known.
func TestFirstScreen(t *testing.T) {
	finetune := named("finetune")
	finetune.memory, finetune.title = -1, "Finetune"
	for _, c := range []struct {
		name     string
		runs     []*run
		headline string
		lead     tile
		seeds    string
	}{
		{"decided", slices.Concat(accuracies(named("er"), .20, .30, .40, .50, .60),
			accuracies(named("mir"), .180, .281, .379, .482, .578)),
			"ER is best: 40.0 %", tile{Name: "Lead over the next", Value: "+2.0 ± 0.2 points",
				Note: "over MIR, p < 0.001 (corrected)"}, "5"},
		{"undecided", slices.Concat(accuracies(named("er"), .50, .52, .54), accuracies(named("mir"), .52, .49, .52)),
			"ER leads: 52.0 %", tile{Name: "Lead over the next", Value: "not decided",
				Note: "+1.0 ± 6.6 points over MIR, p = 0.580"}, "3"},
		{"two seeds", slices.Concat(accuracies(named("er"), .500, .501), accuracies(named("mir"), .300, .3015)),
			"ER leads: 50.0 %", tile{Name: "Lead over the next", Value: "+20.0 points",
				Note: "over MIR, two seeds in common: three seeds that both have tell whether the lead is more than luck"}, "2"},
		{"one run each", slices.Concat(accuracies(named("er"), .5), accuracies(named("mir"), .3)),
			"ER leads: 50.0 %", tile{Name: "Lead over the next", Value: "+20.0 points",
				Note: "over MIR, one seed each: three seeds that both have tell whether the lead is more than luck"}, "1"},
		{"reversed", slices.Concat(accuracies(named("er"), .300, .310, .320, .900),
			accuracies(named("mir"), .3500, .3604, .3702)),
			"ER leads: 45.8 %", tile{Name: "Lead over the next", Value: "−5.0 ± 0.0 points",
				Note: "over MIR, p < 0.001 (corrected)"}, "3 to 4"},
		{"a bound", slices.Concat(accuracies(named("er"), .50, .52, .54), accuracies(finetune, .10, .121, .139)),
			"ER: 52.0 %", tile{Name: "Lead over the next", Value: "+40.0 ± 0.2 points",
				Note: "over Finetune, p < 0.001 (corrected)"}, "3"},
		{"one row", accuracies(named("er"), .5), "ER: 50.0 %",
			tile{Name: "Lead over the next", Value: "none", Note: "there is one row"}, "1"},
	} {
		s := studyOf(c.runs, nil).settings[0]
		if got := s.headline(); got != c.headline {
			t.Errorf("%s: the headline is %q, want %q", c.name, got, c.headline)
		}
		if got := s.tiles(); got[1] != c.lead || got[2].Value != c.seeds {
			t.Errorf("%s: the tiles are %q, want %q and %s", c.name, got, c.lead, c.seeds)
		}
	}
}

// TestLeadOfOneSeed: where one seed each says too little, the page and the terminal say how many do, with the command
// that continues the experiment.
func TestLeadOfOneSeed(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "experiment.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	runs := slices.Concat(accuracies(named("er"), .5), accuracies(named("mir"), .3))
	var results []*result.Result
	for _, r := range runs {
		results = append(results, r.Result)
		r.folder = filepath.Join(home, r.Method.Name)
	}
	command := fmt.Sprintf("ocl run --config %s/experiment.yaml --runs 3 --out %s", filepath.ToSlash(home),
		filepath.ToSlash(home))
	want := tile{"Lead over the next", "+20.0 points",
		"over MIR, one seed each: 3 runs of each tell whether the lead is more than luck", command}
	if got := studyOf(runs, nil).settings[0].tiles()[1]; got != want {
		t.Errorf("the page says %q, want %q", got, want)
	}
	var b strings.Builder
	if err := Table(&b, results, Options{Experiment: home}, 100); err != nil {
		t.Fatal(err)
	}
	note := "ER leads by 20.0 points over MIR, one seed each: 3 runs of each tell whether the lead is more than luck: " +
		command
	if got := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(got, note) {
		t.Errorf("the terminal says %s\nwant %s", got, note)
	}
}

// TestRanking: rows stand in the order of their means with their runs; bounds are lines, and one or two runs have no
// interval.
func TestRanking(t *testing.T) {
	finetune := named("finetune")
	finetune.memory, finetune.title = -1, "Finetune"
	s := studyOf(slices.Concat(accuracies(finetune, .05, .06, .07), accuracies(named("mir"), .2, .3),
		accuracies(named("er"), .38, .4, .42)), nil).settings[0]
	f := s.rankingFigure()
	er, mir := f.Ranked.Rows[0], f.Ranked.Rows[1]
	if er.Label != "ER" || mir.Label != "MIR" || len(f.Ranked.Rows) != 2 || len(f.Ranked.Bounds) != 1 ||
		f.Ranked.Bounds[0].Label != "Finetune 6.0" {
		t.Fatalf("ranked are %+v below %+v", f.Ranked.Rows, f.Ranked.Bounds)
	}
	if !(math.Abs(er.Value.At-40) < 1e-9) || !(er.Value.Low < 38 && er.Value.High > 42) || er.Text != "40.0 ± 5.0" {
		t.Errorf("ER is drawn as %+v", er)
	}
	if !math.IsNaN(mir.Value.Low) || len(mir.Seeds) != 2 || mir.Text != "25.0" {
		t.Errorf("MIR, with two runs, is drawn as %+v", mir)
	}
	if csv := string(f.table().csvBytes()); !strings.Contains(csv, "mir,500,standard,0.25,") ||
		!strings.Contains(csv, ",2,0.2 0.3\n") {
		t.Errorf("the file has\n%s", csv)
	}
	if none := studyOf([]*run{newRun(fake{method: "er", memory: 5, state: "interrupted", seed: 1}.make(), "")},
		nil); none.settings[0].rankingFigure() == nil {
		t.Error("a run that was interrupted is not ranked")
	}
}

// TestPanels: more than five lines are shared among panels, whose titles say what their labels leave out, and each
// panel has the bounds.
func TestPanels(t *testing.T) {
	figureOf := func(fakes []fake) *figure {
		var runs []*run
		for _, r := range results(fakes) {
			runs = append(runs, newRun(r, ""))
		}
		return studyOf(runs, nil).settings[0].accuracyFigure()
	}
	if f := figureOf(pair(3)); f.Panels != nil {
		t.Error("two lines have panels")
	}
	panels := func(f *figure) (said []string) {
		for _, p := range f.Panels.Panels {
			var labels []string
			for _, s := range p.Lines.Series {
				labels = append(labels, s.Label)
			}
			said = append(said, p.Title+": "+strings.Join(labels, ", "))
		}
		return said
	}
	want := []string{"memory 200: A-GEM, ER, ER + RV, ER + NCM, ER + RV + NCM, Finetune, Offline",
		"memory 1,000: A-GEM, ER, ER + RV, ER + NCM, ER + RV + NCM, Finetune, Offline"}
	if got := panels(figureOf(twelveFakes())); !slices.Equal(got, want) {
		t.Errorf("the panels are %q, want %q", got, want)
	}
	for _, said := range panels(figureOf(sixtyFakes())) {
		if n := strings.Count(said, ","); n > maxLines+1 {
			t.Errorf("a panel has too many lines: %s", said)
		}
	}
}

// TestFiveHundredRuns: the page of a study of 500 runs stays below 1 MB.
func TestFiveHundredRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out the large page")
	}
	dir, fakes := t.TempDir(), studyFakes()
	if len(fakes) != 500 {
		t.Fatalf("%d runs, want 500", len(fakes))
	}
	save(t, dir, fakes)
	w, err := Write(t.Context(), []string{dir}, filepath.Join(t.TempDir(), "report"),
		Options{Known: catalogued, Tricks: []string{"rv", "ncm", "lb", "ss", "kdc"}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(w.Page)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 1_000_000 {
		t.Errorf("the page has %d bytes, want at most 1,000,000", info.Size())
	}
	t.Logf("the page has %d bytes", info.Size())
}

// TestAxisOfItsData: dots and lines far above 0 have an axis of their own; the caption says so, and the page has them
// with an axis from 0 too.
func TestAxisOfItsData(t *testing.T) {
	far := studyOf(slices.Concat(accuracies(named("er"), .88), accuracies(named("mir"), .75)), nil)
	_, figures, _ := newPage(far)
	for _, f := range figures[:2] {
		if text := f.inline(); f.whole() == nil || !strings.Contains(text, "axis from 0") ||
			!strings.Contains(text, " near\"") || !strings.Contains(text, " whole\"") {
			t.Errorf("%s: the page has no axis from 0 beside the other one", f.ID)
		}
		if !strings.Contains(f.Caption, " %, not at 0; on the page a switch shows it from 0.") {
			t.Errorf("%s: the caption is %q", f.ID, f.Caption)
		}
	}
	near := studyOf(slices.Concat(accuracies(named("er"), .88), accuracies(named("mir"), .05)), nil)
	_, figures, _ = newPage(near)
	for _, f := range figures[:1] {
		if f.whole() != nil || strings.Contains(f.inline(), "axis from 0") || strings.Contains(f.Caption, "not at 0") {
			t.Errorf("%s: data that begin near 0 have two axes", f.ID)
		}
	}
}
