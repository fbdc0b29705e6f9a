package train

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ocl"
	"ocl/experiment/identity"
	"ocl/experiment/result"
)

// TestEventsAreCopied: what a process writes that has the earlier file open does not reach the file of the next attempt.
func TestEventsAreCopied(t *testing.T) {
	path := filepath.Join(t.TempDir(), EventsFile)
	first, whole, err := openJournal(path, 0, identity.Identity{}, "k")
	if err != nil || !whole {
		t.Fatal(whole, err)
	}
	length := first.length
	second, whole, err := openJournal(path, length, identity.Identity{}, "k")
	if err != nil || !whole {
		t.Fatal(whole, err)
	}
	for _, j := range []*journal{first, second} {
		if err := j.task(ocl.TaskInfo{Index: 3}, 7); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.task(ocl.TaskInfo{Index: 4}, 8); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(first.close(), second.close()); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []string
	for e, err := range result.Events(f) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Event)
	}
	if len(got) != 2 || got[1] != result.EventTask {
		t.Errorf("events %q, want the run and one task", got)
	}
}
