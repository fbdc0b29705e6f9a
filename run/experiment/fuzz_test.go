package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"ocl"
	"ocl/checkpoint"
	"ocl/internal/fuzztest"
	"ocl/learn/learner/learnertest"
	"ocl/nn/tensor"
	"ocl/run/result"
	"ocl/run/trained"
)

// FuzzCheckpoint changes sections of a run's checkpoint. It is refused, or its learner labels an image without the
// data, and its run goes on to a result that can be read.
func FuzzCheckpoint(f *testing.F) {
	c := one("er")
	c.Data.TrainPerClass, c.Data.TestPerClass = 1, 1
	c.Stream.Tasks, c.Memory, c.Replay.Batch, c.EvalEvery, c.Network.Hidden = 2, 10, 5, 2, []int{4}
	c.Classifiers = []string{"head", "ncm"}
	x, err := Open(f.Context(), c, Options{})
	if err != nil {
		f.Fatal(err)
	}
	ctx, o := stopAfter(6, Options{}) // in the second task
	made := f.TempDir()
	if _, err := x.RunJob(ctx, x.Jobs()[0], RunIn{Folder: made, Workers: 1, Events: o.Events(Job{})}); err != nil {
		f.Fatal(err)
	}
	_, saved := lastCheckpoint(f, made)
	config, err := os.ReadFile(filepath.Join(made, RunConfigFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{})
	f.Add([]byte{0, 1, 9, 3, 2})
	f.Add([]byte{3, 8, 1, 4})
	f.Fuzz(func(t *testing.T, b []byte) {
		state := learnertest.Changed(saved.Container, b)
		folder := t.TempDir()
		store, err := checkpoint.OpenDir(filepath.Join(folder, CheckpointDir))
		if err == nil {
			_, err = store.Save(6, state)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, RunConfigFile), config, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		plain := func(err error) {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
				t.Errorf("a message with a control character: %q", err)
			}
		}
		var model *trained.Model
		most := uint64(4000*state.Size() + 1<<20)
		if n := fuzztest.Allocated(most, func() {
			model, err = trained.Open(t.Context(), folder, trained.Options{})
		}); n > most {
			t.Fatalf("%d bytes were allocated for a checkpoint of %d", n, state.Size())
		}
		if err != nil {
			plain(err)
		} else {
			defer model.Close()
			label, info := []ocl.Label{-1}, model.Info
			if predict(t, model, label, tensor.New(1, info.Channels, info.Height, info.Width)); label[0] < 0 ||
				int(label[0]) >= info.Classes {
				t.Fatalf("an image is labelled %d of %d classes", label[0], info.Classes)
			}
		}
		if _, err := x.RunJob(t.Context(), x.Jobs()[0], RunIn{Folder: folder, Workers: 1}); err != nil {
			plain(err)
		} else if _, err := result.Read(filepath.Join(folder, ResultFile)); err != nil {
			t.Fatalf("the run ends in a result that cannot be read: %v", err)
		}
	})
}
