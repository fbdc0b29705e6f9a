package runs

import (
	"encoding/csv"
	"path/filepath"
	"strings"
	"testing"

	"ocl/run/result"
)

// TestWideTable: each run has a line for each classifier, with its metrics and times, in columns that all lines share.
func TestWideTable(t *testing.T) {
	dir := t.TempDir()
	first, second := small(), small()
	second.Config.Seed, second.Method.Tricks = 8, []string{"lb", "rv"}
	put(t, filepath.Join(dir, "a"), first, "")
	put(t, filepath.Join(dir, "b"), second, "")
	found, _, err := result.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	path, err := WideOf(t.Context(), found, dir)
	if err != nil || path != filepath.Join(dir, "runs.csv") {
		t.Fatal(path, err)
	}
	records, err := csv.NewReader(strings.NewReader(read(t, path))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	classifiers := 1 + len(first.Classifiers)
	if want := 1 + 2*classifiers; len(records) != want {
		t.Fatalf("%d lines, want %d", len(records), want)
	}
	of := func(line int) map[string]string {
		m := map[string]string{}
		for i, name := range records[0] {
			m[name] = records[line][i]
		}
		return m
	}
	a, b := of(1), of(1+classifiers)
	if a["run"] != "a" || a["seed"] != "7" || a["method"] != first.Method.Name ||
		a["average_accuracy"] != number(*first.Metrics.AverageAccuracy) ||
		a["seconds"] != number(first.Seconds.Train+first.Seconds.Prepare+first.Seconds.Test) {
		t.Errorf("the first line is %v", a)
	}
	if b["run"] != "b" || b["seed"] != "8" || b["tricks"] != "lb+rv" || b["outcome"] != first.Outcome.State {
		t.Errorf("the line of the second run is %v", b)
	}
	for _, m := range result.AllMetrics() {
		if v, there := a[m.Key]; !there || (v == "") != (m.Of(first.Metrics) == nil) {
			t.Errorf("%s is %q", m.Key, v)
		}
	}
	if classifiers > 1 && (of(2)["run"] != "a" || of(2)["classifier"] == a["classifier"]) {
		t.Errorf("the second classifier has the line %v", of(2))
	}
}
