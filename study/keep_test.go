package study

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ocl/experiment"
)

// TestKeepRemovesWhatACrashLeft: a file that a killed process was writing goes away with the next write, also where the file itself needs no
// change, and files of other names stay.
func TestKeepRemovesWhatACrashLeft(t *testing.T) {
	dir := t.TempDir()
	half, other := filepath.Join(dir, "."+jobsFile+".29074-3654261801-2.tmp"), filepath.Join(dir, ".other.29074-3654261801-2.tmp")
	for _, text := range []string{"first", "second", "second"} {
		if err := errors.Join(os.WriteFile(half, []byte("fir"), 0o644), os.WriteFile(other, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		if err := keep(dir, jobsFile, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(half); err == nil {
			t.Errorf("%s is left", half)
		}
		if _, err := os.Stat(other); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, jobsFile)); err != nil || string(got) != text {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
	}
}

// TestKeepWaits: nothing is removed while another process writes.
func TestKeepWaits(t *testing.T) {
	dir := t.TempDir()
	unlock, err := experiment.LockRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(dir, "."+jobsFile+".1-2-3.tmp")
	if err := os.WriteFile(half, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- keep(dir, jobsFile, []byte("text")) }()
	time.Sleep(100 * time.Millisecond) // a shorter one would only see less
	if err := os.Rename(half, filepath.Join(dir, "whole")); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		t.Errorf("it did not wait: %v", err)
	default:
	}
	unlock()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

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
