package train

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ocl"
	"ocl/run/result"
)

// TestEventsAreCut: the events of a resumed run begin with those before its checkpoint, and go on after them. If some
// of those are missing, they begin anew.
func TestEventsAreCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), EventsFile)
	opened := func(length int64, whole bool) *journal {
		t.Helper()
		j, found, err := openJournal(path, length, result.Event{Event: result.EventRun, Format: result.EventsFormat})
		if err != nil || found != whole {
			t.Fatal(found, err)
		}
		return j
	}
	tasks := func(j *journal, all ...int) {
		t.Helper()
		for _, i := range all {
			if err := j.task(ocl.TaskInfo{Index: i}, 7); err != nil {
				t.Fatal(err)
			}
		}
	}
	has := func(want ...string) {
		t.Helper()
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
		if !slices.Equal(got, want) {
			t.Errorf("events %q, want %q", got, want)
		}
	}
	j := opened(0, true)
	tasks(j, 1)
	length := j.length
	tasks(j, 2, 3)
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	j = opened(length, true)
	has(result.EventRun, result.EventTask)
	tasks(j, 2)
	if err := errors.Join(j.close(), os.Truncate(path, length-1)); err != nil {
		t.Fatal(err)
	}
	if err := opened(length, false).close(); err != nil {
		t.Fatal(err)
	}
	has(result.EventRun)
}
