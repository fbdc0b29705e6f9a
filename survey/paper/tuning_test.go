package paper

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ocl/learn/method"
)

// TestTuningPageHasTheSettings: docs/tuning.md names the settings of settings.csv and the choices of the records that
// it links to.
func TestTuningPageHasTheSettings(t *testing.T) {
	text, err := os.ReadFile("../../docs/tuning.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## The settings of the tables")
	rows := map[string][]string{} // by title of the method
	for line := range strings.Lines(section) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); strings.HasPrefix(line, "| ") && len(cells) == 5 {
			rows[strings.TrimPrefix(cells[0], "| ")] = cells
		}
	}
	symbols := map[string]string{"lambda": "λ", "candidates": "C", "subset_size": "n"}
	link := regexp.MustCompile(`\(\.\./(results/\S+\.json)\)`)
	for name, s := range chosen() {
		info, err := method.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		row := rows[strings.TrimSuffix(info.Title, "-Greedy")]
		if row == nil {
			t.Errorf("the page has no row of %s", info.Title)
			continue
		}
		want := strconv.FormatFloat(s.lr, 'f', -1, 64) + ", weight decay " + strconv.FormatFloat(s.weightDecay, 'f', -1, 64)
		if s.option != "" {
			want += fmt.Sprintf(", %s = %g", symbols[s.option], s.value)
		}
		if !strings.HasPrefix(row[1]+",", want+",") {
			t.Errorf("%s: the page has the setting %q, settings.csv has %q", info.Title, row[1], want)
		}
		for _, found := range link.FindAllStringSubmatch(row[4], -1) {
			rate, score := chosenBy(t, found[1])
			if choice := regexp.MustCompile(`(^| )` + regexp.QuoteMeta(rate) + `( and weight decay [0-9.]+)? with ` +
				regexp.QuoteMeta(score) + ` %`); !choice.MatchString(row[3]) {
				t.Errorf("%s: %s chooses %s with %s %%, the page has %q", info.Title, found[1], rate, score, row[3])
			}
		}
	}
	if len(rows) < len(chosen()) {
		t.Errorf("%d rows of %d methods", len(rows), len(chosen()))
	}
}

// chosenBy is the learning rate that a record of `ocl tune` chooses, and its score in per cent.
func chosenBy(t *testing.T, path string) (rate, score string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Grid   struct{ Axes []struct{ Key string } }
		Chosen int
		Points []struct {
			Values []string
			Score  float64
		}
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for i, a := range r.Grid.Axes {
		if a.Key == "optimizer.lr" {
			rate = r.Points[r.Chosen].Values[i]
		}
	}
	return rate, fmt.Sprintf("%.1f", 100*r.Points[r.Chosen].Score)
}
