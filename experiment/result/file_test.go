package result

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func example() *Result {
	half := 0.5
	return &Result{
		Format: Format, Version: Version, Config: []byte(`{"seed":18446744073709551615}`),
		Method:   Method{Name: "er", Tricks: []string{}, Options: map[string]any{"gate": "batch"}, Signals: []string{}},
		Accuracy: [][]*float64{{&half, nil}, {nil, &half}},
		Metrics:  Metrics{AverageAccuracy: &half},
		Memory:   &Memory{Capacity: 3, ClassCounts: []map[int]int{{7: 1, 10: 2}}},
		Outcome:  Outcome{State: Finished, Step: 4},
	}
}

func TestEncodeParse(t *testing.T) {
	first, err := Encode(example())
	if err != nil {
		t.Fatal(err)
	}
	r, err := Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(first), string(second)); d != "" {
		t.Error(d)
	}
	for _, want := range []string{`"fwt"`, `"accuracy_per_class"`, `"reason"`} {
		if strings.Contains(string(first), want) {
			t.Errorf("%s is written though it is undefined", want)
		}
	}
	if !strings.Contains(string(first), "[0.5, null]") {
		t.Errorf("a row of numbers is not on one line:\n%s", first)
	}
	if !strings.Contains(string(first), `"7": 1`) || !strings.Contains(string(first), "null") {
		t.Errorf("memory or missing accuracies are written otherwise than documented:\n%s", first)
	}
}

func TestParseFaults(t *testing.T) {
	whole, err := Encode(example())
	if err != nil {
		t.Fatal(err)
	}
	s := string(whole)
	for _, tt := range []struct{ text, want string }{
		{"", "not a whole JSON file"},
		{s[:len(s)/2], "not a whole JSON file"},
		{"{}", `format "" version 0; want "ocl-result" version 1`},
		{strings.Replace(s, `"version": 1`, `"version": 2`, 1), "version 2; want"},
		{strings.Replace(s, `"outcome"`, `"outcomes"`, 1), `unknown field "outcomes"`},
		{strings.Replace(s, `"capacity": 3`, `"capacity": "3"`, 1), "docs/format/result.md"},
	} {
		if _, err := Parse([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
	if _, err := Parse([]byte(strings.Replace(s, `"version": 1`, `"version": 2`, 1))); !errors.Is(err, ErrVersion) {
		t.Errorf("another version: %v", err)
	}
	bad := example()
	nan := math.NaN()
	bad.Metrics.FWT = &nan
	if _, err := Encode(bad); err == nil {
		t.Error("NaN is written")
	}
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.json")
	if _, err := Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("the error does not say which file: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	whole, err := Encode(example())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		if _, err := Encode(r); err != nil {
			t.Errorf("read but not written again: %v", err)
		}
	})
}
