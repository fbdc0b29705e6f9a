package experiment

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ocl/config"
	"ocl/run/identity"
	"ocl/run/result"
)

// TestGolden: the files of a run that version 0.2.0 of the formats wrote are read by every later ocl, and mean the same
// run.
func TestGolden(t *testing.T) {
	const folder = "testdata/golden"
	r, err := result.Read(filepath.Join(folder, ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	const key = "681291d919fdb63f40e4a5a4ade9184751b7cf99b7c8064ffca4b4d06aadf561"
	if got := Key(r); got != key || r.Key != key {
		t.Errorf("the run has the key %s, and its result says %s, want %s", got, r.Key, key)
	}
	if err := identity.Intact(Schema(), r); err != nil {
		t.Error(err)
	}
	edited := *r
	edited.Key = "0" + key[1:]
	if err := identity.Intact(Schema(), &edited); !errors.Is(err, result.ErrEdited) {
		t.Errorf("another key: %v", err)
	}
	edited.Provenance.Registered = []config.Registered{{Key: "methods", Name: "er", Module: "example.com/other",
		Version: "v1"}}
	// Only a program that has it knows the defaults of its options, and so the key.
	if err := identity.Intact(Schema(), &edited); err != nil {
		t.Errorf("a method that this program lacks: %v", err)
	}
	if *r.Metrics.AverageAccuracy != 0.005 || r.Classifiers["ncm"].Metrics.AverageAccuracy == nil ||
		len(r.ErrorAnalysis.Tasks) != 4 || r.Memory.Capacity != 20 || len(r.Evaluations) != 3 {
		t.Errorf("the result is read as one of %s with the metrics %+v", r.Method.Name, r.Metrics)
	}
	f, err := os.Open(filepath.Join(folder, EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	events := map[string]int{}
	for e, err := range result.Events(f) {
		if err != nil {
			t.Fatal(err)
		}
		events[e.Event]++
	}
	if events[result.EventRun] != 1 || events[result.EventTask] != 4 || events[result.EventStep] != 32 {
		t.Errorf("the events are %v", events)
	}
	text, err := os.ReadFile(filepath.Join(folder, RunConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Schema().Parse(RunConfigFile, text)
	if err != nil || Schema().Canonical(c) != Schema().Canonical(r.Config) {
		t.Errorf("the config is another run's: %v\n%s", err, Schema().Canonical(c))
	}
}
