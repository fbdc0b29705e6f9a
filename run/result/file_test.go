package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ocl/internal/fuzztest"
	"ocl/internal/limit"
)

// example is a small result that uses every optional key.
func example() *Result {
	half := 0.5
	analysis := &ErrorAnalysis{
		Tasks: []TaskErrors{{
			Task: 1, New: 4, Old: 4, NewAsOldOfErrors: &half, Logits: &Logits{NewOwn: &half}, Head: &Head{OldBias: &half},
			Confusion: [][]int{{1, 2, 0}, {3, 4, 0}}, Predictions: []int{4, 6, 0},
		}},
		Confusion: [][]int{{1, 2}, {3, 4}},
	}
	return &Result{
		Format: Format, Version: Version, Key: strings.Repeat("0a", 32), Config: exampleConfig(),
		Method: Method{Name: "er", Title: "ER", Tricks: []string{}, Options: map[string]any{"gate": "batch"},
			Signals: []string{}},
		Provenance: Provenance{
			Program: "1.2.0", Numbers: 2, Kernel: "avx2", Convolution: "table", Workers: 2, Concurrency: 1,
			Processor: "a processor",
			Started:   "2026-01-31T12:00:00Z", Ended: "2026-01-31T12:30:00Z", Command: []string{"ocl", "run"},
		},
		Stream: Stream{
			Name: "glyphs", Scenario: "class-incremental", Shape: [3]int{1, 8, 8}, Classes: 11, ClassNames: []string{"A", "B"},
			Tasks: []Task{{Index: 0, Classes: []int{7}, Train: 20, Test: 4}, {Index: 1, Classes: []int{10}, Train: 20, Test: 4}},
		},
		Accuracy:      [][]*float64{{&half, nil}, {nil, &half}},
		PerClass:      [][]*float64{{nil, &half}, {&half}},
		Metrics:       Metrics{AverageAccuracy: &half},
		Classifiers:   map[string]Classifier{"ncm": {Accuracy: [][]*float64{{&half}}, ErrorAnalysis: analysis}},
		ErrorAnalysis: analysis,
		Evaluations: []Evaluation{{Step: 1, Task: 0, Accuracy: []*float64{&half}},
			{Step: 3, Task: 1, Accuracy: []*float64{&half, nil}}},
		Tuning: &Tuning{Key: strings.Repeat("0e", 32), Grid: "paper", GridDigest: "sha256:" + strings.Repeat("0f", 32),
			Search: "grid", Repeats: 3, Steps: 30,
			Keys: []string{"optimizer.lr"}, Chosen: []string{"0.1"},
			Points: []TuningPoint{{[]string{"0.1"}, Finished, &half}, {[]string{"9"}, Diverged, nil}}},
		Parent: &Parent{Run: "er-m3-s1", Key: strings.Repeat("0c", 32), Checkpoint: "sha256:" + strings.Repeat("0d", 32),
			Tasks: 2, Steps: 8, Classes: 6},
		Memory: &Memory{Capacity: 3, ClassCounts: []map[int]int{{7: 2}, {7: 1, 10: 2}},
			TaskCounts: []map[int]int{{0: 2}, {0: 1, 1: 2}}},
		Experts: &Experts{
			List: []Expert{{Step: 5, Task: -1, Stored: 3, Count: 4, Parameters: 77},
				{Step: 11, Task: 1, Stored: 3, Count: 6.5, Parameters: 9}},
			Pictures: &Pictures{Experts: []int{1}, Images: 1, Height: 1, Width: 2, Pixels: "AAECAwQFBgcICQoL"}, // 0 to 11
		},
		Outcome: Outcome{State: Finished, Step: 4},
	}
}

// foreign is a small result of another program.
func foreign() *Result {
	one, half, memory := 1.0, 0.5, 500
	r := &Result{
		Format: Format, Version: Version,
		Foreign: &Foreign{Program: "another 1.0", File: "er.csv", Digest: "sha256:" + strings.Repeat("0d", 32), Seed: 3,
			Memory: &memory},
		Method: Method{Name: "er", Title: "ER", Tricks: []string{}, Options: map[string]any{}, Signals: []string{}},
		Stream: Stream{Name: "glyphs", Scenario: "class-incremental",
			Tasks: []Task{{Index: 0, Classes: []int{}}, {Index: 1, Classes: []int{}}}},
		Accuracy: [][]*float64{{&one, nil}, {&half, &one}},
		Outcome:  Outcome{State: Finished},
	}
	r.Metrics = MetricsOf(r.Accuracy, false, nil)
	return r
}

// TestForeign: a result of another program is read only by who asks for one, and has nothing that only a run of ocl
// has.
func TestForeign(t *testing.T) {
	good := encoded(t, foreign())
	if strings.Contains(good, `"config"`) {
		t.Error("a foreign result has a config, which nobody knows")
	}
	if r, err := ParseAny([]byte(good)); err != nil || r.Foreign == nil || r.Foreign.Seed != 3 ||
		*r.Foreign.Memory != 500 {
		t.Errorf("it is read as %+v: %v", r, err)
	}
	if _, err := Parse([]byte(good)); !errors.Is(err, ErrForeign) ||
		!strings.Contains(err.Error(), `the program "another 1.0" measured`) {
		t.Errorf("it is read as a run of ocl: %v", err)
	}
	path := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(path, []byte(good), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); !errors.Is(err, ErrForeign) {
		t.Errorf("its file is read as a run of ocl: %v", err)
	}
	if _, err := ReadAny(path); err != nil {
		t.Error(err)
	}
	half := 0.5
	for _, c := range []struct {
		change func(*Result)
		says   string
	}{
		{func(r *Result) { r.Foreign = nil }, "config is missing (an object)"},
		{func(r *Result) { r.Config = exampleConfig() }, "foreign and config are both given"},
		{func(r *Result) { r.Key = strings.Repeat("0a", 32) }, "foreign and what only a run of ocl has"},
		{func(r *Result) { r.Foreign.Digest = "\x1b" }, `foreign.digest is "\x1b", but must be sha256:`},
		{func(r *Result) { *r.Foreign.Memory = -1 }, "foreign.memory is -1"},
		{func(r *Result) { r.Metrics.AverageAccuracy = &half }, "metrics do not follow from accuracy"},
	} {
		r := foreign()
		c.change(r)
		if _, err := ParseAny([]byte(encoded(t, r))); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("got  %v\nwant %s", err, c.says)
		}
	}
}

func encoded(t testing.TB, r *Result) string {
	t.Helper()
	text, err := Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEncodeParse(t *testing.T) {
	first := encoded(t, example())
	r, err := Parse([]byte(first))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(first, encoded(t, r)); d != "" {
		t.Error(d)
	}
	for _, want := range []string{`"fwt"`, `"reason"`, `"common_test"`} {
		if strings.Contains(first, want) {
			t.Errorf("%s is written though it is undefined", want)
		}
	}
	for _, want := range []string{"[0.5, null]", `"7": 1`, "[null, 0.5]"} {
		if !strings.Contains(first, want) {
			t.Errorf("a result is not written as documented, it lacks %s:\n%s", want, first)
		}
	}
	bad := example()
	nan := math.NaN()
	bad.Metrics.FWT = &nan
	if _, err := Encode(bad); err == nil {
		t.Error("NaN is written")
	}
}

// TestShapes changes one thing of a file at a time. A message says where, what was found, what was wanted, what to do.
func TestShapes(t *testing.T) {
	good := encoded(t, example())
	change := func(from, to string) string {
		t.Helper()
		if !strings.Contains(good, from) {
			t.Fatalf("the example has no %s", from)
		}
		return strings.Replace(good, from, to, 1)
	}
	for _, c := range []struct {
		text   string
		wanted error
		says   []string
	}{
		{"", ErrDamaged, []string{"not a whole JSON file (it is empty)", `A result is one JSON object of format "ocl-result"`,
			"Restore the file"}},
		{good[:len(good)/2], ErrDamaged, []string{"not a whole JSON file (byte ", "Restore the file"}},
		{"accuracy: 12", ErrDamaged, []string{"not a whole JSON file (byte 1 of 12: "}},
		{"[" + good + "]", ErrDamaged, []string{"array", "A result is one JSON object"}},
		{good + "{}", ErrDamaged, []string{"not a whole JSON file (byte "}},
		{strings.Repeat(`{"a":`, 20000) + strings.Repeat("}", 20000), ErrDamaged, []string{"depth"}},
		{"{}", ErrVersion, []string{`format is missing, but must be "ocl-result"`, `"ocl run" wrote`}},
		{change(`"ocl-result"`, `"ocl-\u001b[31mstudy"`), ErrVersion, []string{`format is "ocl-\x1b[31mstudy"`}},
		{change(`"seed": 1`, `"seed": 1, "seed": 1`), ErrDamaged,
			[]string{`the key "seed" is there twice`, "Restore the file"}},
		{change(`"format"`, `"FORMAT"`), ErrVersion, []string{"format is missing"}},
		{change(`"version": 1`, `"version": "1"`), ErrDamaged, []string{`version is "1", but must be 1`}},
		{change(`"version": 1`, `"version": 0`), ErrVersion, []string{"version is 0, but must be 1"}},

		{strings.Repeat(" ", limit.Result+1), ErrDamaged, []string{"too many for one result"}},
		{change(`"title"`, `"titel\u001b"`), ErrNewer,
			[]string{"written by a newer ocl", `"titel\x1b"`, "Use that ocl", `ocl "1.2.0" wrote it`}},
		{change(`"outcome": {`, `"Outcome": {`), ErrDamaged,
			[]string{"outcome is missing", "docs/format/result.md", "Restore the file"}},
		{change(`"seed": 1`, `"sead\u001b": 1`), ErrNewer, []string{"its config has a key", `sead`, `ocl "1.2.0" wrote it`}},
		{change("\"version\": 3,\n    \"data\"", "\"version\": 4,\n    \"data\""), ErrNewer,
			[]string{"its config has version 4, this ocl reads 3"}},
		{change("\"version\": 3,\n    \"data\"", "\"version\": 2,\n    \"data\""), ErrVersion,
			[]string{"its config has version 2, which ocl wrote before its first release"}},
		{change("\"version\": 3,\n    \"data\"", "\"data\""), ErrVersion,
			[]string{"its config has version 0, which ocl wrote before its first release"}},
		{change(`"lr": 0.1`, `"lr": "fa\u001bst"`), ErrDamaged, []string{"optimizer.lr", "a number", "Restore the file"}},
		{change(`"train": 20`, `"train": "so\u001bon"`), ErrDamaged,
			[]string{`"stream.tasks.train" is "string", but must be int (byte `}},
		{change(`"train": 20`, `"train": 1`+strings.Repeat("0", 4000)), ErrDamaged,
			[]string{`"stream.tasks.train" is "number 1000`}},

		{change(`"key": "0a`, `"key": "0A`), ErrDamaged, []string{`key is "0A0a`, "must be 64 digits"}},
		{change(`"workers": 2`, `"workers": -2`), ErrDamaged,
			[]string{"provenance.workers is -2, but must be 0 to 1000000000"}},
		{change(`"capacity": 3`, `"capacity": 9000000000`), ErrDamaged, []string{"memory.capacity is 9000000000"}},
		{change(`"7": 1`, `"7": -1`), ErrDamaged, []string{`memory.class_counts[1]."7" is -1`}},
		{change(`[4, 6, 0]`, `[4, -6, 0]`), ErrDamaged, []string{"predictions[1] is -6"}},
		{change(`"run": "er-m3-s1"`, `"run": ""`), ErrDamaged, []string{"parent.run is empty"}},
		{change(`"sha256:0d`, `"sha256:0D`), ErrDamaged,
			[]string{`parent.checkpoint is "sha256:0D0d`, "must be sha256: and 64 digits"}},
		{change(`"classes": 6`, `"classes": 12`), ErrDamaged,
			[]string{"parent.classes is 12, but must be at most stream.classes, which is 11"}},
		{change(`"step": 11`, `"step": 4`), ErrDamaged,
			[]string{"experts.list[1] began at step 4 in task 1, but steps must rise"}},
		{change(`"images": 1`, `"images": 5`), ErrDamaged,
			[]string{"1 experts with 5 images of 1×2 pixels, but must have 1 to 8 with 1 to 4 of at most 32×32"}},
		{change(`"height": 1`, `"height": 2`), ErrDamaged,
			[]string{"experts.pictures.pixels has 12 bytes in base64, but must have 24"}},
		{change(`"experts": [1]`, `"experts": [2]`), ErrDamaged,
			[]string{"experts.pictures.experts[0] is 2, but must rise within 0 to 1"}},
		{change(`"classes": 11`, `"classes": 7`), ErrDamaged,
			[]string{"stream.tasks[0] has class 7, but classes must be 0 to 6"}},
		{change(`"index": 1`, `"index": 10000`), ErrDamaged,
			[]string{"stream.tasks[1].index is 10000, but must be 0 to 9999"}},
		{change(`"accuracy": [`, `"accuracy": [[], [],`), ErrDamaged,
			[]string{"accuracy has 4 rows, but must have at most 2"}},
		{change(`[0.5, null]`, `[0.5, null, 0]`), ErrDamaged, []string{"accuracy[0] has 3 values, but must have at most 2"}},
		{change(`"score": 0.5`, `"score": 2`), ErrDamaged, []string{"tuning.points[0].score is 2, but must be a fraction"}},
		{change(`"new_as_old_of_errors": 0.5`, `"new_as_old_of_errors": -1`), ErrDamaged,
			[]string{"error_analysis.tasks[0]: a share is -1, but must be a fraction"}},
		{change(`"train": 0,`, `"train": -1.5,`), ErrDamaged, []string{"seconds are -1.5, 0 and 0, but must be 0 or more"}},
		{change(`[0.5, null]`, `[17.5]`), ErrDamaged, []string{"accuracy[0][0] is 17.5, but must be a fraction in [0,1]"}},
		{change(`"tasks": [`, `"common_test": true, "tasks": [`), ErrDamaged,
			[]string{"accuracy[0] has 2 values, but must have at most 1"}},
		{change(`"average_accuracy": 0.5`, `"average_accuracy": 7`), ErrDamaged,
			[]string{"metrics.average_accuracy is 7, but must be a fraction in [0,1]"}},
		{change(`"ncm": {`, `"a\u001bb": {"accuracy": [[2]], "metrics": {}}, "ncm": {`), ErrDamaged,
			[]string{`classifiers."a\x1bb".accuracy[0][0] is 2`}},
		{change(`"task": 1,`, `"task": 2,`), ErrDamaged,
			[]string{"error_analysis.tasks[0].task is 2, but tasks must rise and be below 2"}},
		{change(`[3, 4, 0]`, `[3, 4, 0, 0]`), ErrDamaged, []string{"confusion[1] has 4 values, but must have at most 3"}},
		{change(`"step": 3`, `"step": 1`), ErrDamaged,
			[]string{"evaluations[1].step is 1, but must be 2 to outcome.step, which is 4"}},
		{change(`"step": 3`, `"step": 5`), ErrDamaged, []string{"evaluations[1].step is 5"}},
		{change(`"7": 1`, `"11": 1`), ErrDamaged, []string{"1 samples of class 11"}},
		{change(`"task_counts": [`, `"task_counts": [{},`), ErrDamaged,
			[]string{"memory.task_counts has 3 rows, but must have 2, as memory.class_counts has"}},
		{change(`"1": 2`, `"2": 2`), ErrDamaged,
			[]string{"memory.task_counts[1] says 2 samples of task 2, but must have those of tasks 0 to 1"}},
		{change(`"1": 2`, `"1": 3`), ErrDamaged,
			[]string{"memory.task_counts[1] counts 4 samples, but must count 3, as memory.class_counts[1] does"}},
		{change(`"state": "finished"`, `"state": "lo\u001bst"`), ErrDamaged,
			[]string{`outcome.state is "lo\x1bst", but must be finished, interrupted or diverged`}},
	} {
		_, err := Parse([]byte(c.text))
		if !errors.Is(err, c.wanted) {
			t.Errorf("got  %v\nwant %v, with %q", err, c.wanted, c.says)
			continue
		}
		for _, other := range []error{ErrNewer, ErrVersion, ErrDamaged} {
			if !errors.Is(c.wanted, other) && errors.Is(err, other) {
				t.Errorf("it is also %v: %v", other, err)
			}
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("got  %v\nwant %q", err, s)
			}
		}
		if strings.ContainsRune(err.Error(), 0x1b) || len(err.Error()) > 600 {
			t.Errorf("a message shows what the file has raw, or all of it: %q", err)
		}
	}
}

// TestNewer is a file of a later version whose every other key may have changed.
func TestNewer(t *testing.T) {
	_, err := Parse([]byte(`{"format":"ocl-result","version":2,"accuracy":"moved","provenance":{"program":"3.0\u001b[1m"}}`))
	want := `written by a newer ocl (it has version 2, this ocl reads 1, and ocl "3.0\x1b[1m" wrote it). Use that ocl, or a newer one`
	if !errors.Is(err, ErrNewer) || errors.Is(err, ErrDamaged) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, err := Parse([]byte(`{"format":"ocl-result","version":2,"provenance":7}`)); !errors.Is(err, ErrNewer) {
		t.Errorf("%v", err)
	}
}

// TestOneImage: the step of an average accuracy, by the sizes of the test sets.
func TestOneImage(t *testing.T) {
	for _, c := range []struct {
		stream Stream
		want   float64
	}{
		{Stream{}, 0},
		{Stream{Tasks: []Task{{}, {}}}, 0},
		{Stream{Tasks: []Task{{Test: 500}, {Test: 500}}}, 1. / 1000},
		{Stream{Tasks: []Task{{Test: 100}, {Test: 400}}}, 1. / 200},
		{Stream{Tasks: []Task{{Test: 500}, {Test: 500}}, CommonTest: true}, 1. / 500},
	} {
		if got := (&Result{Stream: c.stream}).OneImage(); got != c.want {
			t.Errorf("one image of %+v is %g, want %g", c.stream, got, c.want)
		}
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
	if _, err := Read(filepath.Dir(path)); err == nil ||
		!strings.Contains(err.Error(), "it is a folder, not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}

// checkParsed holds that a text is refused with a plain message, or read, written and read as the same; and that it
// takes memory in keeping with its length.
func checkParsed(t *testing.T, text []byte) {
	t.Helper()
	var r *Result
	var err error
	most := uint64(1000*len(text) + 1<<20)
	if n := fuzztest.Allocated(most, func() { r, err = ParseAny(text) }); n > most {
		t.Fatalf("%d bytes were allocated for a text of %d", n, len(text))
	}
	if err != nil {
		plainMessage(t, err)
		return
	}
	again, err := Encode(r)
	if err != nil {
		t.Fatalf("read but not written again: %v", err)
	}
	back, err := ParseAny(again)
	if err != nil {
		t.Fatalf("written but not read again: %v", err)
	}
	if d, same := Same(nil, r, back); !same {
		t.Errorf("written and read it differs: %s", d)
	}
	if third, err := Encode(back); err != nil || !bytes.Equal(third, again) {
		t.Errorf("written twice it differs: %v", err)
	}
}

// plainMessage holds that a message shows nothing of a file raw.
func plainMessage(t *testing.T, err error) {
	t.Helper()
	if strings.ContainsFunc(err.Error(), unicode.IsControl) {
		t.Errorf("a message with a control character: %q", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(encoded(f, example())))
	f.Add([]byte(encoded(f, foreign())))
	f.Add([]byte(`{"format":"ocl-result","version":2}`))
	f.Add([]byte(`{"format":"ocl-result","version":1,"x":[[[{"":null}]]]}`))
	f.Fuzz(checkParsed)
}

// FuzzKeys reads a result with changes in it: bytes that are drawn hardly ever get past the JSON to what is checked of
// the values.
func FuzzKeys(f *testing.F) {
	base := []byte(encoded(f, example()))
	f.Add([]byte{})
	f.Add([]byte{7, 1, 0, 1, 3})
	f.Add([]byte{40, 0, 0, 9, 80, 0, 3, 20, 0, 4, 2})
	f.Fuzz(func(t *testing.T, choices []byte) { checkParsed(t, fuzztest.JSON(base, fuzztest.Of(choices))) })
}

// FuzzEvents reads the fuzzer's bytes as the lines of events.jsonl behind a first line that is right, and as all of
// them. What is read is written as a line that is read as the same.
func FuzzEvents(f *testing.F) {
	first := `{"time":"2026-01-31T12:00:00.000Z","event":"run","format":"ocl-events","version":1,"key":"0a"}` + "\n"
	f.Add([]byte(first + `{"time":"","event":"task","task":0,"classes":[1,2],"train":3,"test":4}` + "\n"))
	f.Add([]byte(`{"time":"","event":"step","step":1,"task":0,"loss":2.5,"running_accuracy":0.25}` + "\n" +
		`{"event":"eval`))
	f.Add([]byte(`{"time":"","event":"evaluation","step":1,"task":0,"between":true,"accuracy":[0.5,null],"parameters":9}` +
		"\n{}{}\n\nnull\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, append([]byte(first), b...)} {
			var events []Event
			var fault error
			most := uint64(1000*len(b) + 1<<20)
			if n := fuzztest.Allocated(most, func() {
				events, fault = nil, nil
				for e, err := range Events(bytes.NewReader(b)) {
					if fault != nil {
						t.Fatal("the reading goes on after an error")
					}
					if fault = err; err == nil {
						events = append(events, e)
					}
				}
			}); n > most {
				t.Fatalf("%d bytes were allocated for %d", n, len(b))
			}
			if fault != nil {
				plainMessage(t, fault)
			}
			lines := bytes.Split(b, []byte{'\n'})
			for i := range events {
				if !json.Valid(lines[i]) {
					t.Fatalf("line %d is read as an event: %q", i+1, lines[i])
				}
			}
			var text []byte
			for _, e := range events {
				line, err := json.Marshal(e)
				if err != nil {
					t.Fatalf("read but not written again: %v", err)
				}
				text = append(append(text, line...), '\n')
			}
			i := 0
			for e, err := range Events(bytes.NewReader(text)) {
				if err != nil {
					t.Fatalf("written but not read again: %v", err)
				}
				if d := cmp.Diff(events[i], e, cmpopts.EquateEmpty()); d != "" {
					t.Fatalf("written and read it differs: %s", d)
				}
				i++
			}
			if i != len(events) || fault == nil && i != len(lines)-1 {
				t.Fatalf("%d events of %d lines, %d of them read again", len(events), len(lines)-1, i)
			}
		}
	})
}

// TestSamplesOfAParent: the counts by task leave out the samples that a parent brought, and no others.
func TestSamplesOfAParent(t *testing.T) {
	r := example()
	r.Memory.TaskCounts[1] = map[int]int{1: 2}
	if err := Check(r); err != nil {
		t.Error(err)
	}
	r.Parent, r.Experts.List[0].Task = nil, 0
	if err := Check(r); err == nil || !strings.Contains(err.Error(),
		"memory.task_counts[1] counts 2 samples, but must count 3") {
		t.Errorf("a sample of no task, without a parent: %v", err)
	}
}
