package experiment

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"ocl"
	"ocl/run/result"
	"ocl/run/train"
)

// TestRunIn: a job in a folder of its own ends in the result that it has in an experiment, is kept there, and is
// refused while somebody else has the folder locked.
func TestRunIn(t *testing.T) {
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
	at := RunIn{Folder: filepath.Join(t.TempDir(), "deep", j.Folder), Workers: 1}
	unlock, err := LockRun(at.Folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.RunJob(ctx, j, at); !errors.Is(err, ErrBusy) {
		t.Errorf("error %v of a locked folder, want ErrBusy", err)
	}
	if _, err := LockRun(at.Folder); !errors.Is(err, ErrBusy) {
		t.Errorf("error %v of a second lock, want ErrBusy", err)
	}
	at.Locked = true
	began := 0
	at.Events.StepEnd = func(step int, _ ocl.StepStats) { began = step }
	got, err := x.RunJob(ctx, j, at)
	if err != nil {
		t.Fatal(err)
	}
	if difference, same := result.Same(Schema(), want[0], got); !same {
		t.Error(difference)
	}
	unlock()
	began, at.Locked = 0, false
	if _, err := x.RunJob(ctx, j, at); err != nil || began != 0 {
		t.Errorf("the second call: %v, %d steps, want the result kept", err, began)
	}
	if found, err := train.Find(at.Folder); err != nil || !found.Ended() {
		t.Errorf("found %+v, %v", found, err)
	}
	files, err := filepath.Glob(filepath.Join(at.Folder, CheckpointDir, "*"))
	if err != nil || len(files) != 0 {
		t.Errorf("checkpoints %q, %v: a finished job has none", files, err)
	}
}

// TestTimedInAllParts: a result is timed if every process that worked on its run was to keep others away, and none was
// there.
func TestTimedInAllParts(t *testing.T) {
	t.Parallel()
	type part struct {
		timed    bool
		together int
	}
	for _, c := range []struct {
		first, second part
		want          bool
	}{
		{part{true, 1}, part{true, 1}, true},
		{part{true, 1}, part{false, 1}, false},
		{part{false, 1}, part{true, 1}, false},
		{part{true, 2}, part{true, 1}, false},
	} {
		x := mustOpen(t, one("er"), Options{})
		at := RunIn{Folder: t.TempDir(), Workers: 1}
		ctx, o := stopAfter(15, Options{})
		at.Timed, at.Concurrent, at.Events = c.first.timed, c.first.together, o.Events(Job{})
		if r, err := x.RunJob(ctx, x.Jobs()[0], at); err != nil || r.Outcome.State != result.Interrupted {
			t.Fatal("the run was not interrupted", err)
		}
		at.Timed, at.Concurrent, at.Events = c.second.timed, c.second.together, Events{}
		r, err := x.RunJob(t.Context(), x.Jobs()[0], at)
		if err != nil {
			t.Fatal(err)
		}
		if r.Provenance.Timed != c.want {
			t.Errorf("%+v: timed is %v", c, r.Provenance.Timed)
		}
	}
}
