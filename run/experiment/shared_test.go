package experiment

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestWriteSharedRemovesWhatACrashLeft: a file that a killed process was writing goes away with the next write, also
// where the file itself needs no change, and files of other names stay.
func TestWriteSharedRemovesWhatACrashLeft(t *testing.T) {
	const name = "jobs.jsonl"
	dir := t.TempDir()
	half, other := filepath.Join(dir, "."+name+".29074-3654261801-2.tmp"),
		filepath.Join(dir, ".other.29074-3654261801-2.tmp")
	for _, text := range []string{"first", "second", "second"} {
		if err := errors.Join(os.WriteFile(half, []byte("fir"), 0o644), os.WriteFile(other, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		if err := WriteShared(dir, name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(half); err == nil {
			t.Errorf("%s is left", half)
		}
		if _, err := os.Stat(other); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
	}
}

// TestWriteSharedWaits: nothing is removed while another process writes.
func TestWriteSharedWaits(t *testing.T) {
	const name = "jobs.jsonl"
	dir := t.TempDir()
	unlock, err := LockRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(dir, "."+name+".1-2-3.tmp")
	if err := os.WriteFile(half, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- WriteShared(dir, name, []byte("text")) }()
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
