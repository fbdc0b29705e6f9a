package study

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/run/experiment"
)

// TestFolderOfAStudyThatWasKilledAtItsStart may be used: it has only what the start of a study leaves.
func TestFolderOfAStudyThatWasKilledAtItsStart(t *testing.T) {
	s, err := Parse(t.Context(), "s.yaml", []byte(small+"methods: [er]\nmemory: 50\n"), "", false)
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

	// Something in the place of the lock is to be removed, and no other advice follows.
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, experiment.LockFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Make(dir, s, jobs, made); err == nil ||
		!strings.HasSuffix(err.Error(), "it is a folder, not a regular file. Remove it") {
		t.Errorf("a folder in the place of the lock: %v", err)
	}
}

// TestGolden: the folder of a study that version 0.2.0 of the formats wrote is read by every later ocl, and has the
// same jobs.
func TestGolden(t *testing.T) {
	const folder = "testdata/golden"
	s, err := Load(t.Context(), folder, "")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := ReadJobs(folder)
	if err != nil || len(entries) != 3 || s.Made.Kernel != "generic" {
		t.Fatalf("%d jobs, made %+v, %v", len(entries), s.Made, err)
	}
	t.Setenv("OCL_KERNEL", "")
	t.Setenv("OCL_CONV", "")
	jobs, _, err := s.Open(t.Context(), experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range jobs {
		if j.Key != entries[i].Key || j.Folder != entries[i].Folder {
			t.Errorf("job %d is %s in %s, and was %s in %s", i, j.Key, j.Folder, entries[i].Key, entries[i].Folder)
		}
	}
}
