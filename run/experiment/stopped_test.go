package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
	"ocl/run/trained"
)

// stoppedRun stops a run of a config after n steps, or before the first one if n is 0, and returns its folder.
func stoppedRun(t *testing.T, c config.Config, n int) string {
	t.Helper()
	ctx, o := stopAfter(n, Options{Out: filepath.Join(t.TempDir(), "x"), KeepCheckpoint: true})
	if n == 0 {
		stopped, cancel := context.WithCancel(ctx)
		ctx = stopped
		o.Events = func(Job) Events { return Events{Begin: func(Job, ocl.StreamInfo, Plan) { cancel() }} }
	}
	if _, err := Run(ctx, c, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped after %d steps: %v", n, err)
	}
	return mustRunFolder(t, o.Out)
}

// resave saves the newest checkpoint of a run again with sections changed; nil leaves one out.
func resave(t *testing.T, folder string, change func(name string, b []byte) []byte) {
	t.Helper()
	store, got := lastCheckpoint(t, folder)
	state := checkpoint.NewContainer()
	for _, name := range got.Names() {
		b, err := got.Decoder().Bytes(name)
		if err != nil {
			t.Fatal(err)
		}
		if b = change(name, append([]byte{}, b...)); b != nil {
			state.Encoder().Bytes(name, b)
		}
	}
	if _, err := store.Save(1<<20, state); err != nil { // newer than all others
		t.Fatal(err)
	}
}

// Offline begins with the last task. Until that is learned to its end, the run has learned nothing: neither can its
// learner be used nor can another run continue it.
func TestStoppedOfflineHasLearnedNothing(t *testing.T) {
	t.Parallel()
	const nothing = "the run has not learned a task to its end. Continue it with `ocl run --resume "
	for steps, want := range map[int]string{0: nothing,
		5: "the run was stopped within task 5. Continue it with `ocl run --resume "} {
		folder := stoppedRun(t, one("offline"), steps)
		if model, err := trained.Open(t.Context(), folder, trained.Options{}); err == nil ||
			!strings.Contains(err.Error(), nothing) {
			t.Errorf("%d steps: used: %+v, %v", steps, model, err)
		}
		if _, err := trained.LearnOn(folder, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d steps: continued:\ngot  %v\nwant %s", steps, err, want)
		}
	}
}

// A learner of a run that has not ended can be used, with a note of what it has learned so far.
func TestTrainedNotesThatItsRunWasStopped(t *testing.T) {
	t.Parallel()
	folder := stoppedRun(t, one("er"), 15)
	model, err := trained.Open(t.Context(), folder, trained.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	want := "the run was stopped within task 2, so its learner has learned a part of that task. Continue it with `ocl run --resume " +
		folder + "`"
	if len(model.Notes) != 1 || model.Notes[0] != want || model.Tasks != 1 || model.Steps != 15 {
		t.Errorf("%d tasks, %d steps, notes %q; want 1, 15 and %q", model.Tasks, model.Steps, model.Notes, want)
	}
	if _, err := Resume(t.Context(), folder, Options{KeepCheckpoint: true}); err != nil {
		t.Fatal(err)
	}
	whole, err := trained.Open(t.Context(), folder, trained.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	if len(whole.Notes) > 0 {
		t.Errorf("notes of a whole run: %q", whole.Notes)
	}

	// Killed at the end of the last task, or still at work: there is no result yet.
	if err := os.Remove(filepath.Join(folder, ResultFile)); err != nil {
		t.Fatal(err)
	}
	begun, err := trained.Open(t.Context(), folder, trained.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer begun.Close()
	if len(begun.Notes) != 1 || !strings.HasPrefix(begun.Notes[0],
		"the run has not ended, and its learner has learned 5 tasks so far. ") {
		t.Errorf("notes of a run without a result: %q", begun.Notes)
	}
}

// A run does not take the place of its parent, also with Force: it needs the parent when it is resumed.
func TestLearnOnSparesItsParent(t *testing.T) {
	t.Parallel()
	c := one("er")
	c.Protocol = config.ProtocolTuning
	folder, _ := trainedRun(t, c)
	next := learnOn(t, folder, c.Data)
	next.Stream.Tasks = 2
	for _, out := range []string{folder, filepath.Dir(folder)} {
		before := listed(t, filepath.Dir(folder))
		_, err := Run(t.Context(), next, Options{Out: out, Force: true})
		if want := "the folder has the run that is learned on, " + folder; err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if after := listed(t, filepath.Dir(folder)); len(after) != len(before) {
			t.Errorf("%d files are left of %d", len(after), len(before))
		}
	}
}

// TestFolderVanishes: a run whose folder is removed says that and not that the disk is full, and the runs after it do
// not make the folder of the experiment again.
func TestFolderVanishes(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{false, true} {
		c := one("er")
		c.Runs = 2
		out := filepath.Join(t.TempDir(), "x")
		removed := false
		results, err := Run(t.Context(), c, Options{Out: out, Concurrency: 1, Events: func(j Job) Events {
			return Events{TaskBegin: func(ocl.TaskInfo) {
				folder := filepath.Join(out, j.Folder)
				if whole {
					folder = out
				}
				if !removed {
					if err := os.RemoveAll(folder); err != nil {
						t.Error(err)
					}
				}
				removed = true
			}}
		}})
		if !errors.Is(err, ErrVanished) || !strings.Contains(err.Error(),
			"it was removed or moved while a run was at work in it") {
			t.Errorf("got %v", err)
		}
		if _, err := os.Stat(out); whole != os.IsNotExist(err) || (len(results) == 1) == whole {
			t.Errorf("removed all: %v; the folder: %v; %d results", whole, err, len(results))
		}
	}
}
