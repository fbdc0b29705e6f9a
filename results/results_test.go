package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/experiment"
	"ocl/experiment/result"
	"ocl/report/chart"
	"ocl/reproduce"
)

// TestDerived: runs.csv and the charts are what the committed results give.
func TestDerived(t *testing.T) {
	files, err := derived("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if there, err := os.ReadFile(filepath.Join("..", f.name)); err != nil || !bytes.Equal(there, f.text) {
			t.Errorf("%s is not what the results give (%v). Run \"go run ./results\" in the root of the repository", f.name, err)
		}
	}
}

// TestCommittedRunsAreReproduced: what `ocl reproduce check` has in itself gives each committed run its own bits, whatever it evaluated.
func TestCommittedRunsAreReproduced(t *testing.T) {
	runs, err := readRuns(".")
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

// TestIndex holds the lines of runs.csv and the files to each other, and each file to what is wanted of a committed result.
func TestIndex(t *testing.T) {
	f, err := os.Open("runs.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]map[string]string{}
	for _, r := range records[1:] {
		line := map[string]string{}
		for i, name := range records[0] {
			line[name] = r[i]
		}
		if lines[line["file"]] != nil {
			t.Errorf("%s has two lines", line["file"])
		}
		lines[line["file"]] = line
	}
	const least = 134 // that were there when the test was written
	if len(lines) < least {
		t.Errorf("runs.csv has %d lines, want at least %d", len(lines), least)
	}
	err = filepath.WalkDir(".", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name := filepath.ToSlash(path)
		if strings.HasSuffix(name, ".json") && !strings.Contains(name, "/tuning/") { // those are small, and people read them; package tune checks them
			t.Errorf("%s is not compressed. Use `go run ./results store`", name)
		}
		if !strings.HasSuffix(name, result.Packed) {
			return nil
		}
		line := lines[name]
		if line == nil {
			t.Errorf("%s has no line in runs.csv", name)
			return nil
		}
		delete(lines, name)
		text := checkFile(t, path)
		if sum := sha256.Sum256(text); line["sha256"] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: the digest in runs.csv is of another text", name)
		}
		r, err := result.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return nil
		}
		if line["key"] != experiment.Key(r) || r.Key != "" && r.Key != line["key"] {
			t.Errorf("%s: the key in runs.csv is of another run", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range lines {
		t.Errorf("runs.csv has %s, which is not there", name)
	}
}

// checkFile is the text of a file that gzip compressed without name and time, and that names no place of the machine that made it.
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
		t.Errorf("%s holds the path %q. Use `go run ./results store`", path, place)
	}
	return text.Bytes()
}

// TestIntervals: a mean has an interval from three seeds on, in the chart and on the page.
func TestIntervals(t *testing.T) {
	near := func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
	if v := valueOf(estimate([]float64{10, none, 20})); !near(v.At, 15) || v.Low == v.Low || v.High == v.High {
		t.Errorf("two seeds are %+v, want 15 without an interval", v)
	}
	if v := valueOf(estimate([]float64{10, 20, 30})); !near(v.At, 20) || !(v.Low > -4.9 && v.Low < -4.8) || !near(v.High, 40-v.Low) {
		t.Errorf("three seeds are %+v, want 20 ± 24.8", v)
	}
	if v := valueOf(estimate(nil)); v.At == v.At {
		t.Errorf("a method without a run is %+v", v)
	}
	for want, values := range map[string][]float64{"15.0": {10, 20}, "20.0 ± 24.8": {10, 20, 30}, "–": {none}} {
		if got := plusMinus(estimate(values)); got != want {
			t.Errorf("%v is %q, want %q", values, got, want)
		}
	}
	if got := described([]chart.Row{{Label: "MIR", Values: []chart.Value{{At: none}, {At: 18.2}}}}); got != "MIR: ocl not run, the survey 18.2 %." {
		t.Errorf("said as %q", got)
	}
}

// TestStepFaults: a table of times that is not as it should be is an error that says where.
func TestStepFaults(t *testing.T) {
	const head = "size,program,median_ms,low_ms,high_ms,machine,revision,command\n"
	for text, want := range map[string]string{
		"":                                  "first line",
		head:                                "no line follows",
		head + "32,ocl,32\n":                "wrong number of fields",
		head + "small,ocl,32,,,m,r,c\n":     "line 2",
		head + "32,TensorFlow,32,,,m,r,c\n": "line 2",
		head + "32,ocl,fast,,,m,r,c\n":      "line 2",
		head + "32,ocl,32,33,34,m,r,c\n":    "line 2",
		head + "32,ocl,32,31,,m,r,c\n":      "line 2",
	} {
		path := filepath.Join(t.TempDir(), "step.csv")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := stepChart(path); err == nil || !strings.Contains(err.Error(), "step.csv") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want step.csv and %q", text, err, want)
		}
	}
}
