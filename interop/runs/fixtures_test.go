package runs

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/config"
	"ocl/run/result"
)

var update = flag.Bool("update", false, "write the golden files")

func share(v float64) *float64 { return &v }

// small is the result of a run of two tasks of two classes with two classifiers.
func small() *result.Result {
	r := &result.Result{Format: result.Format, Version: result.Version, Key: strings.Repeat("0a", 32),
		Config: config.Default()}
	r.Config.Stream.Kind, r.Config.Stream.ClassOrder.Name = config.KindClasses, config.OrderRandom
	r.Config.Methods, r.Config.Memory, r.Config.Seed, r.Config.Stream.Tasks = []string{"er"}, 6, 7, 2
	r.Config.Classifiers = []string{"head", "ncm"}
	r.Method = result.Method{Name: "er", Title: "ER", Tricks: []string{"lb", "rv"}, Options: map[string]any{},
		Signals: []string{}}
	r.Provenance = result.Provenance{Numbers: 2, Kernel: "generic", Workers: 1, Concurrency: 1,
		Started: "2026-11-22T10:15:30Z", Ended: "2026-11-22T10:15:34Z", DataDigest: "sha256:0"}
	r.Stream = result.Stream{Name: "glyphs", Scenario: "class-incremental", Protocol: "standard", Shape: [3]int{3, 32, 32},
		Classes: 4,
		Tasks: []result.Task{{Index: 0, Classes: []int{2, 0}, Train: 20, Test: 8},
			{Index: 1, Classes: []int{1, 3}, Train: 20, Test: 8}}}
	r.Accuracy = [][]*float64{{share(0.75), nil}, {share(0.5), share(0.875)}}
	r.PerClass = [][]*float64{{share(1), nil, share(0.5), nil}, {share(0.5), share(1), share(0.5), share(0.75)}}
	r.Evaluations = []result.Evaluation{{Step: 1, Task: 0, Accuracy: []*float64{share(0.25), nil}},
		{Step: 3, Task: 1, Accuracy: []*float64{share(0.75), share(0.25)}}}
	r.Metrics = result.MetricsOf(r.Accuracy, false, r.Evaluations)
	r.ErrorAnalysis = &result.ErrorAnalysis{
		Tasks: []result.TaskErrors{
			{Task: 0, New: 8, NewAsNew: 2, Confusion: [][]int{{8, 0}}, Predictions: []int{8, 0},
				Logits: &result.Logits{NewOwn: share(2.5)}, Head: &result.Head{NewBias: share(-0.125)}},
			{Task: 1, New: 8, Old: 8, NewAsOld: 1, OldAsNew: 3, OldAsOld: 1, Confusion: [][]int{{5, 3, 0}, {1, 7, 0}},
				Predictions:       []int{6, 10, 0},
				NewAsOldOfSamples: share(0.125), OldAsNewOfSamples: share(0.375), NewAsOldOfErrors: share(1),
				OldAsNewOfErrors: share(0.75)},
		},
		Confusion: [][]int{{2, 2, 0, 0}, {0, 4, 0, 0}, {1, 1, 2, 0}, {1, 0, 0, 3}},
	}
	ncm := [][]*float64{{share(0.625), nil}, {share(0.625), share(0.75)}}
	r.Classifiers = map[string]result.Classifier{"ncm": {Accuracy: ncm, Metrics: result.MetricsOf(ncm, false, nil)}}
	r.Seconds = result.Seconds{Train: 2.5, Test: 1}
	r.Resources = result.Resources{PeakResidentBytes: 1 << 20, Parameters: 100, MemoryBytes: 600, StateBytes: 1000,
		FLOPsPerStep: 12345}
	r.Memory = &result.Memory{Capacity: 6, ClassCounts: []map[int]int{{2: 4, 0: 2}, {0: 1, 1: 2, 2: 2, 3: 1}},
		TaskCounts: []map[int]int{{0: 6}, {0: 3, 1: 3}}}
	r.Outcome = result.Outcome{State: result.Finished, Step: 4}
	return r
}

// journal is the events.jsonl of that run. The loss of step 2 was no number.
var journal = `{"time":"2026-11-22T10:15:30.250Z","event":"run","format":"ocl-events","version":1,"key":"` + strings.Repeat("0a", 32) + `","numbers":2}
{"time":"2026-11-22T10:15:30.250Z","event":"task","task":0,"classes":[2,0],"train":20,"test":8}
{"time":"2026-11-22T10:15:30.500Z","event":"step","step":1,"task":0,"loss":2.5,"running_accuracy":0.1}
{"time":"2026-11-22T10:15:30.750Z","event":"evaluation","step":1,"task":0,"between":true,"accuracy":[0.25,null]}
{"time":"2026-11-22T10:15:31.000Z","event":"step","step":2,"task":0,"running_accuracy":0.2}
{"time":"2026-11-22T10:15:31.250Z","event":"evaluation","step":2,"task":0,"accuracy":[0.75,null]}
{"time":"2026-11-22T10:15:31.250Z","event":"task","step":2,"task":1,"classes":[1,3],"train":20,"test":8}
{"time":"2026-11-22T10:15:32.000Z","event":"step","step":3,"task":1,"loss":1.5,"running_accuracy":0.3}
{"time":"2026-11-22T10:15:32.500Z","event":"evaluation","step":3,"task":1,"between":true,"accuracy":[0.75,0.25]}
{"time":"2026-11-22T10:15:33.000Z","event":"step","step":4,"task":1,"loss":0.5,"running_accuracy":0.4}
{"time":"2026-11-22T10:15:33.500Z","event":"evaluation","step":4,"task":1,"accuracy":[0.5,0.875]}
{"time":"2026-11-22T10:15:33.750Z","event":"st`

// put writes a run folder; events of "" are none.
func put(t testing.TB, folder string, r *result.Result, events string) {
	t.Helper()
	text, err := result.Encode(r)
	if err == nil {
		err = os.MkdirAll(folder, 0o777)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "result.json"), text, 0o666)
	}
	if err == nil && events != "" {
		err = os.WriteFile(filepath.Join(folder, "events.jsonl"), []byte(events), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("it differs from %s; \"go test ./interop/runs -update\" shows how:\n%s", path, got)
	}
}

// read is the text of a file.
func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
