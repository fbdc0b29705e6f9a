package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ocl"
	"ocl/experiment/identity"
	"ocl/experiment/result"
)

// TestRunAtPlace: a job in a folder of its own ends in the result that it has in an experiment, is kept there, and is
// refused while somebody else has the folder locked.
func TestRunAtPlace(t *testing.T) {
	ctx := context.Background()
	x, err := Open(ctx, one("er"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := x.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	j := x.Jobs()[0]
	at := Place{Folder: filepath.Join(t.TempDir(), "deep", j.Folder), Workers: 1}
	unlock, err := LockRun(at.Folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.RunJobAt(ctx, j, at); !errors.Is(err, ErrBusy) {
		t.Errorf("error %v of a locked folder, want ErrBusy", err)
	}
	if _, err := LockRun(at.Folder); !errors.Is(err, ErrBusy) {
		t.Errorf("error %v of a second lock, want ErrBusy", err)
	}
	at.Locked = true
	began := 0
	at.Events.StepEnd = func(step int, _ ocl.StepStats) { began = step }
	got, err := x.RunJobAt(ctx, j, at)
	if err != nil {
		t.Fatal(err)
	}
	if difference, same := result.Same(want[0], got); !same {
		t.Error(difference)
	}
	unlock()
	began, at.Locked = 0, false
	if _, err := x.RunJobAt(ctx, j, at); err != nil || began != 0 {
		t.Errorf("the second call: %v, %d steps, want the result kept", err, began)
	}
	if found, err := FoundIn(at.Folder); err != nil || !found.Ended() {
		t.Errorf("found %+v, %v", found, err)
	}
	files, err := filepath.Glob(filepath.Join(at.Folder, CheckpointDir, "*"))
	if err != nil || len(files) != 0 {
		t.Errorf("checkpoints %q, %v: a finished job has none", files, err)
	}
}

// TestNoFilesWithoutPermit: a run that loses its permission ends with that error. From then on no file gets a name.
func TestNoFilesWithoutPermit(t *testing.T) {
	ctx, lost := context.Background(), errors.New("the claim is lost")
	x, err := Open(ctx, one("er"), Options{}.savingEvery(12))
	if err != nil {
		t.Fatal(err)
	}
	j := x.Jobs()[0]
	at := Place{Folder: filepath.Join(t.TempDir(), j.Folder), Workers: 1}
	var saved []string
	at.Events.Checkpointed = func(path string) { saved = append(saved, filepath.Base(path)) }
	at.Permit = func() error {
		if len(saved) == 3 {
			return lost
		}
		return nil
	}
	if _, err := x.RunJobAt(ctx, j, at); !errors.Is(err, lost) {
		t.Fatalf("error %v, want that of Permit", err)
	}
	files, err := os.ReadDir(filepath.Join(at.Folder, CheckpointDir))
	if err != nil || len(saved) != 3 || len(files) != 2 || files[1].Name() != saved[2] {
		t.Errorf("saved %q, the folder has %v (%v)", saved, files, err)
	}
	if _, err := os.Stat(filepath.Join(at.Folder, ResultFile)); err == nil {
		t.Error("there is a result")
	}

	// It has the measurements of the last moment, and only their file is refused.
	at.Permit = func() error {
		if _, err := os.Stat(filepath.Join(at.Folder, CheckpointDir, "step-60.ckpt")); err == nil {
			return lost
		}
		return nil
	}
	if _, err := x.RunJobAt(ctx, j, at); !errors.Is(err, lost) {
		t.Errorf("error %v, want that of Permit", err)
	}
	if _, err := os.Stat(filepath.Join(at.Folder, ResultFile)); err == nil {
		t.Error("there is a result")
	}
	at.Permit = nil
	if _, err := x.RunJobAt(ctx, j, at); err != nil {
		t.Error(err)
	}
}

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
