package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/run/metric"
	"ocl/run/result"
	"ocl/survey/reproduce"
	"ocl/view/chart"
)

// TestDerived: runs.csv and the charts are what the committed results give.
func TestDerived(t *testing.T) {
	p, err := committedPage()
	if err != nil {
		t.Fatal(err)
	}
	files, err := p.derived()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if there, err := os.ReadFile(filepath.Join("../..", f.name)); err != nil || !bytes.Equal(there, f.text) {
			t.Errorf("%s is not what the results give (%v). Run \"go run ./survey/results\" in the root of the repository",
				f.name, err)
		}
	}
}

// TestCommittedRunsAreReproduced: what `ocl verify --committed` has in itself gives each committed run its own bits,
// whatever it evaluated.
func TestCommittedRunsAreReproduced(t *testing.T) {
	runs, err := allRuns()
	if err != nil {
		t.Fatal(err)
	}
	var ended []*result.Result
	for _, r := range runs {
		if r.Outcome.State != result.Interrupted {
			ended = append(ended, r.Result)
		}
	}
	compared := 0
	for _, g := range reproduce.Check(reproduce.Committed(), ended) {
		if compared += len(g.Repeats); g.Verdict() != reproduce.Same {
			t.Errorf("%v: %s %s", reproduce.Learned(g.Runs[0].Config), g.Verdict(), g.Why)
		}
	}
	if compared != len(ended) {
		t.Errorf("%d runs are compared by their bits, want all %d", compared, len(ended))
	}
}

// TestFiles: each committed result is compressed, names no place, and can be read.
func TestFiles(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name := filepath.ToSlash(path)
		// those are small, and people read them; package tune checks them
		if strings.HasSuffix(name, ".json") && !strings.Contains(name, "/tuning/") {
			t.Errorf("%s is not compressed. Use `go run ./survey/results store`", name)
		}
		if strings.HasSuffix(name, result.Packed) {
			files++
			if _, err := result.Parse(checkFile(t, path)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const least = 134 // that were there when the test was written
	if files < least {
		t.Errorf("%d results are found, want at least %d", files, least)
	}
}

// checkFile is the text of a file that gzip compressed without name and time, and that names no place of the machine
// that made it.
func checkFile(t *testing.T, path string) []byte {
	t.Helper()
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if z.Name != "" || !z.ModTime.IsZero() {
		t.Errorf("%s holds the name %q and the time %v", path, z.Name, z.ModTime)
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(z); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var v any
	if err := json.Unmarshal(text.Bytes(), &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if place := absolute(v); place != "" {
		t.Errorf("%s holds the path %q. Use `go run ./survey/results store`", path, place)
	}
	return text.Bytes()
}

// TestIntervals: a mean has an interval from three seeds on, in the chart and on the page.
func TestIntervals(t *testing.T) {
	near := func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
	if v := valueOf(metric.EstimateOf([]float64{10, none, 20})); !near(v.At, 15) || v.Low == v.Low || v.High == v.High {
		t.Errorf("two seeds are %+v, want 15 without an interval", v)
	}
	if v := valueOf(metric.EstimateOf([]float64{10, 20, 30})); !near(v.At, 20) || !(v.Low > -4.9 && v.Low < -4.8) ||
		!near(v.High, 40-v.Low) {
		t.Errorf("three seeds are %+v, want 20 ± 24.8", v)
	}
	if v := valueOf(metric.EstimateOf(nil)); v.At == v.At {
		t.Errorf("a method without a run is %+v", v)
	}
	for want, values := range map[string][]float64{"15.0": {10, 20}, "20.0 ± 24.8": {10, 20, 30}, "–": {none}} {
		if got := plusMinus(metric.EstimateOf(values)); got != want {
			t.Errorf("%v is %q, want %q", values, got, want)
		}
	}
	if got := described([]chart.Row{{Label: "MIR",
		Values: []chart.Value{{At: none}, {At: 18.2}}}}); got != "MIR: ocl not run, the survey 18.2 %." {
		t.Errorf("said as %q", got)
	}
}
