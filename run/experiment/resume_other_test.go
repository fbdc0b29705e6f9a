package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/run/train"
)

// TestResumeOfAnotherConfig: the config of another experiment in a folder with runs is not believed, and an empty
// config of a run is not that of another run.
func TestResumeOfAnotherConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	first := one("finetune")
	second := first
	second.Seed = 99
	mustRun(t, first, Options{Out: a})
	mustRun(t, second, Options{Out: b})
	if _, err := OpenResumed(t.Context(), a, Options{}); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(b, ConfigFile))
	if err == nil {
		err = os.WriteFile(filepath.Join(a, ConfigFile), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenResumed(t.Context(), a, Options{}); err == nil ||
		!strings.Contains(err.Error(), "is of another experiment than the run finetune-s1-") {
		t.Errorf("error %v", err)
	}
	run := filepath.Join(b, jobsOf(t, second)[0].Folder)
	if err := os.WriteFile(filepath.Join(run, RunConfigFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if c, err := train.ReadConfig(run); err == nil {
		t.Errorf("an empty file is the config %+v", c)
	}
}
