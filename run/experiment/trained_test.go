package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/config"
	"ocl/run/build"
	"ocl/run/result"
	"ocl/run/trained"
)

// trainedRun runs a config of one run and returns its folder and its result.
func trainedRun(t *testing.T, c config.Config) (folder string, res *result.Result) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "x")
	res = mustRun(t, c, Options{Out: out, KeepCheckpoint: true})[0]
	return filepath.Join(out, mustOpen(t, c, Options{}).Jobs()[0].Folder), res
}

// A restored learner predicts without the data what the run measured: the accuracy of each test set is that of the
// result.
func TestTrainedPredictsAsItsRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]config.Config{"er": one("er"), "icarl": one("icarl"), "gdumb": one("gdumb"),
		"ncm": one("er"), "offline": one("offline")} {
		if name == "ncm" {
			c.Classifiers = []string{config.ClassifierNCM}
		}
		folder, res := trainedRun(t, c)
		model, err := trained.Open(t.Context(), filepath.Dir(folder), trained.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer model.Close()
		if model.Folder != folder || model.Tasks != len(res.Stream.Tasks) || model.Steps != res.Outcome.Step ||
			len(model.Notes) > 0 ||
			!strings.HasPrefix(model.Digest, "sha256:") {
			t.Errorf("%s: %+v", name, model)
		}
		if d := cmp.Diff(res.Stream.ClassNames, model.ClassNames); d != "" || model.Info.Classes != res.Stream.Classes {
			t.Errorf("%s: %d classes, names %s", name, model.Info.Classes, d)
		}
		if len(model.Learned) != res.Stream.Classes || (model.Means() != nil) != (name == "icarl" || name == "ncm") {
			t.Errorf("%s: learned %v, means %v", name, model.Learned, model.Means())
		}
		x := mustOpen(t, c, Options{})
		view, err := build.NewStream(x.set, x.Jobs()[0].Config)
		if err != nil {
			t.Fatal(err)
		}
		last := res.Accuracy[len(res.Accuracy)-1]
		for set, want := range last {
			right, all := 0, 0
			for b, err := range view.Test(set) {
				if err != nil {
					t.Fatal(err)
				}
				got := make([]ocl.Label, b.Len())
				predict(t, model, got, b.X)
				for i := range got {
					all++
					if got[i] == b.Y[i] {
						right++
					}
				}
			}
			if got := float64(right) / float64(all); got != *want {
				t.Errorf("%s: test set %d: accuracy %v, and the run had %v", name, set+1, got, *want)
			}
		}
	}
}

// What is no trained run says so, and nothing is made in its folder.
func TestNotTrained(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	several := filepath.Join(t.TempDir(), "several")
	mustRun(t, tiny(), Options{Out: several, KeepCheckpoint: true})
	out := filepath.Join(t.TempDir(), "without")
	mustRun(t, one("er"), Options{Out: out})
	begun := filepath.Join(t.TempDir(), "begun")
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Run(ctx, one("er"), Options{Out: begun, Events: func(Job) Events {
		return Events{StepEnd: func(int, ocl.StepStats) { cancel() }}
	}}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{
		empty:                          "there is no run here. Give the folder of a run",
		filepath.Join(empty, "absent"): "no such file or directory. Give the folder of a run",
		several:                        "the experiment has 4 runs. Give one of them: ",
		out:                            "the run has no checkpoint. Run it again, without --keep-checkpoint=false",
		begun:                          "the run has not learned a task to its end. Continue it with `ocl run --resume ",
	} {
		got, err := trained.Open(t.Context(), folder, trained.Options{})
		if err == nil || got != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v in a folder that was empty", entries, err)
	}
}

// TestResultsThatCannotBeUsed: a damaged result is called damaged and not that of a run that goes on, and a diverged
// run is called diverged, which resuming does not mend.
func TestResultsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	folder, _ := trainedRun(t, one("er"))
	file := filepath.Join(folder, ResultFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text[:700], 0o644); err != nil {
		t.Fatal(err)
	}
	model, err := trained.Open(t.Context(), folder, trained.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	parent, err := trained.OpenParent(config.Parent{Run: folder}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, notes := range [][]string{model.Notes, parent.Notes} {
		if len(notes) != 1 || !strings.Contains(notes[0], file+": damaged: ") {
			t.Errorf("notes %q", notes)
		}
	}
	if _, _, _, err := Load(file); !errors.Is(err, result.ErrDamaged) ||
		!strings.Contains(err.Error(), file+": damaged: ") {
		t.Errorf("as a config: %v", err)
	}
	c := one("er")
	c.Optimizer.LR = 1e30
	folder, res := trainedRun(t, c)
	if _, err := trained.Open(t.Context(), folder, trained.Options{}); res.Outcome.State != result.Diverged ||
		err == nil || !strings.Contains(err.Error(),
		"the run has diverged before it had learned a task to its end. Run it again, with a smaller --lr") {
		t.Errorf("%s: %v", res.Outcome.State, err)
	}
}
