package study

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/experiment"
)

// TestFolderOfAStudyThatWasKilledAtItsStart may be used: it has only what the start of a study leaves.
func TestFolderOfAStudyThatWasKilledAtItsStart(t *testing.T) {
	s, err := Parse("s.yaml", []byte(small+"methods: [er]\nmemory: 50\n"), "", false)
	if err != nil {
		t.Fatal(err)
	}
	jobs, made, err := s.Open(t.Context(), experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{experiment.LockFile, "." + StudyFile + ".1-2-3.tmp", "." + jobsFile + ".1-2-3.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Make(dir, s, jobs, made); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s is left", e.Name())
		}
	}
}
