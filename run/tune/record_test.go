package tune

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/config"
	"ocl/internal/fuzztest"
	"ocl/run/result"
)

// example is a record with a point of each outcome.
func example() *Record {
	key := strings.Repeat("0f", 32)
	trial := func(share, accuracy float64) Trial {
		return Trial{Key: key, Share: share, Outcome: result.Finished, Steps: 12, Accuracy: &accuracy}
	}
	c := config.Default()
	c.Methods = []string{"er"}
	g := Grid{Name: "test.yaml", Axes: []Axis{{"optimizer.lr", []string{"0.001", "0.1", "10"}}}}
	low, high, chosen := 0.25, 0.5, 1
	return &Record{
		Format: Format, Version: Version, Key: key, Config: c, DataDigest: "sha256:00", Numbers: 2, Kernel: "avx2",
		Convolution: "winograd",
		Grid:        GridRecord{g.Name, g.Digest(), g.Axes}, Search: Search{Name: config.SearchHalving},
		Repeats: 1, Steps: 40,
		GridSteps: 36, Chosen: &chosen,
		Points: []Point{
			{[]string{"0.001"}, Stopped, &low, []Trial{trial(0.25, low)}},
			{[]string{"0.1"}, result.Finished, &high, []Trial{trial(0.25, low), trial(0.5, low), trial(1, high)}},
			{[]string{"10"}, result.Diverged, nil, []Trial{{Key: key, Share: 0.25, Outcome: result.Diverged, Steps: 4}}},
		},
	}
}

func encoded(t testing.TB, r *Record) []byte {
	t.Helper()
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestParseRefuses(t *testing.T) {
	good := string(encoded(t, example()))
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{good, "", "it is not a JSON object"},
		{good, "[]", "it is not a JSON object"},
		{`"format": "ocl-tuning"`, `"format": "ocl-result"`, "it is not a JSON object of format"},
		{`"repeats": 1`, `"repeats": 1, "more": 1`, `unknown field "more"`},
		{`"repeats": 1`, `"repeats": 2, "repeats": 1`, `the key "repeats" is there twice`},
		{`"repeats": 1`, `"repeats": 2`, "point 0: it has 1 trials, but repeats is 2"},
		{`"repeats": 1,`, ``, "repeats is 0"},
		{`"chosen": 1`, `"chosen": 0`, "chosen is not the first finished point"},
		{`"chosen": 1`, `"chosen": null`, "chosen is not the first finished point"},
		{`"score": 0.5`, `"score": 0.75`, "point 1: its score is not the mean"},
		{`"outcome": "stopped"`, `"outcome": "lost"`, "point 0: its outcome is lost"},
		{`"digest": "sha256:`, `"digest": "sha256:0`, "grid.digest is not that of the axes"},
		{`"name": "halving"`, `"name": "luck"`, "search is not possible"},
		{`"data_digest": "sha256:00"`, `"data_digest": ""`, "data_digest, numbers, kernel or convolution has no value"},
	} {
		text := strings.Replace(good, tt.old, tt.new, 1)
		if text == good {
			t.Errorf("%q is not in the record", tt.old)
		}
		if _, err := Parse([]byte(text)); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.new, err, tt.want)
		}
	}
	if _, err := Parse([]byte(strings.Replace(good, `"version": 1`, `"version": 2`, 1))); !errors.Is(err, ErrNewer) {
		t.Errorf("a newer version: %v", err)
	}
}

// TestDamagedRecordIsWrittenAgain: a record that was edited does not decide anything.
func TestDamagedRecordIsWrittenAgain(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	spec := Spec{File: gridOf(t, "optimizer.lr: [0.01, 0.1]"), Repeats: 1}
	mustTune(t, tiny("er"), spec, outTo(out))
	want := recordFiles(t, out)
	for name, text := range want {
		edited := strings.Replace(string(text), `"score": 0.`, `"score": 0.9`, 1)
		if err := os.WriteFile(filepath.Join(out, name, RecordFile), []byte(edited), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	u, err := Open(t.Context(), tiny("er"), spec, outTo(out))
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(u.Notes(), "\n"); !strings.Contains(notes, "is damaged; it is written again") {
		t.Errorf("notes %q", notes)
	}
	if _, err := u.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, text := range recordFiles(t, out) {
		if string(text) != string(want[name]) {
			t.Errorf("%s differs from the record before", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	base := encoded(f, example())
	f.Add([]byte{})
	f.Add([]byte{3, 0, 0, 9, 1, 4})
	f.Add([]byte{20, 6, 7, 12, 2, 3, 30, 4, 1})
	f.Fuzz(func(t *testing.T, choices []byte) {
		text := fuzztest.JSON(base, fuzztest.Of(choices))
		for _, text := range [][]byte{text, choices} {
			var r *Record
			var err error
			most := uint64(1<<20 + 2000*len(text))
			if n := fuzztest.Allocated(most, func() { r, err = Parse(text) }); n > most {
				t.Fatalf("%d bytes were allocated for a file of %d", n, len(text))
			}
			if err != nil {
				if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' && r != '\n' }) {
					t.Fatalf("a message has raw bytes of the file: %q", err)
				}
				continue
			}
			again, err := Parse(encoded(t, r))
			if err != nil {
				t.Fatalf("it cannot be read again: %v", err)
			}
			a, _ := json.Marshal(r)
			b, _ := json.Marshal(again)
			if string(a) != string(b) {
				t.Fatalf("read again it is\n%s\nwant\n%s", b, a)
			}
		}
	})
}

// TestPage: docs/format/tuning.md has every key of a record, and ends with no other.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/tuning.md")
	if err != nil {
		t.Fatal(err)
	}
	r := example()
	r.Search, r.By = Search{config.SearchRandom, 3, 5}, "retention"
	half := 0.5
	r.Points[0].Trials[0].Score = &half
	var top map[string]any
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &top); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, below := range v {
				name := strings.TrimPrefix(prefix+"."+k, ".")
				keys[name] = true
				if name != "config" {
					walk(name, below)
				}
			}
		case []any:
			for _, below := range v {
				if _, object := below.(map[string]any); object {
					keys[prefix+"[]"] = true
					delete(keys, prefix)
					walk(prefix+"[]", below)
				}
			}
		}
	}
	walk("", top)
	delete(keys, "grid")
	delete(keys, "search")
	delete(keys, "grid.axes[].key")
	delete(keys, "grid.axes[].values")
	_, table, _ := strings.Cut(string(page), "## Keys")
	for k := range keys {
		if !strings.Contains(table, "`"+k+"`") {
			t.Errorf("the page has no %s", k)
		}
	}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		for k := range strings.SplitSeq(strings.NewReplacer(" ", "", "`", "").Replace(cells[1]), ",") {
			if !keys[k] {
				t.Errorf("the page has %s, and a record does not", k)
			}
		}
	}
}

// TestCommittedRecords reads every record under results/ strictly, and writes it as it was: a program reads all files
// that are older than itself.
func TestCommittedRecords(t *testing.T) {
	files, err := filepath.Glob("../../survey/results/*/tuning/*.json")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Read(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := r.Encode(); err != nil || string(got) != string(want) {
			t.Errorf("%s is written as another text, error %v", file, err)
		}
		repeats := 1
		if strings.HasPrefix(filepath.Base(file), "repeats3-") { // of survey/studies/retune
			repeats = 3
		}
		if r.Chosen == nil || r.Repeats != repeats {
			t.Errorf("%s has chosen nothing, or has %d trials of each point instead of %d", file, r.Repeats, repeats)
		}
	}
}
