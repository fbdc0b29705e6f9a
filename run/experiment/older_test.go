package experiment

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/checkpoint"
	"ocl/config"
	"ocl/run/result"
	"ocl/run/train"
	"ocl/run/trained"
)

// TestNewestDamaged: a learner is not taken from an older checkpoint in silence. It is an error that names the older
// one, which is taken if that is asked for, and recorded; a run that learned on from it records it too, also after it
// was stopped.
func TestNewestDamaged(t *testing.T) {
	t.Parallel()
	folder, _ := trainedRun(t, one("er"))
	files, err := checkpoint.Files(filepath.Join(folder, CheckpointDir))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	newest, before := files[0], filepath.Base(files[1])
	whole, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 4
	for name, bytes := range map[string][]byte{"flipped": flipped, "cut": whole[:len(whole)/2],
		"zeros": make([]byte, len(whole)), "empty": {}, "folder": nil} {
		if err := os.Remove(newest); err != nil {
			t.Fatal(err)
		}
		if err = os.WriteFile(newest, bytes, 0o644); bytes == nil {
			_ = os.Remove(newest)
			err = os.Mkdir(newest, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		want := "The checkpoint before it, " + before + ", can be read: --older "
		_, err := trained.Open(t.Context(), folder, trained.Options{})
		_, parentErr := trained.LearnOn(folder, false)
		for _, err := range []error{err, parentErr} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), newest) {
				t.Errorf("%s: got  %v\nwant %s", name, err, want)
			}
		}
		model, err := trained.Open(t.Context(), folder, trained.Options{Older: true})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !model.Older || filepath.Base(model.Checkpoint) != before ||
			!strings.Contains(strings.Join(model.Notes, ""), before) {
			t.Errorf("%s: %s, older %v, notes %q", name, model.Checkpoint, model.Older, model.Notes)
		}
		_, metadata, err := model.Weights(t.Context(), "")
		if model.Close(); err != nil || metadata["older_checkpoint"] != "true" {
			t.Errorf("%s: metadata %v, %v", name, metadata, err)
		}
	}

	c, err := trained.LearnOn(folder, true)
	if err != nil {
		t.Fatal(err)
	}
	c.Data = config.Default().Data
	c.Data.Name, c.Data.TrainPerClass, c.Data.TestPerClass = "glyphs", 2, 1
	c.Data.Size, c.Stream.Tasks = 8, 2
	child := filepath.Join(t.TempDir(), "child")
	_ = mustRun(t, c, Options{Out: child})
	written, err := filepath.Glob(filepath.Join(child, "*", ResultFile))
	if err != nil || len(written) != 1 {
		t.Fatal(written, err)
	}
	for range 2 {
		res, err := result.Read(written[0])
		if err != nil || res.Parent == nil || !res.Parent.Older {
			t.Fatalf("parent %+v, %v", res.Parent, err)
		}
		if err := os.Remove(written[0]); err != nil { // as if it had been stopped
			t.Fatal(err)
		}
		x, err := OpenResumed(t.Context(), child, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCheckpointOfAnotherRun: a checkpoint that does not belong to its folder is refused, asked for an older one or
// not.
func TestCheckpointOfAnotherRun(t *testing.T) {
	t.Parallel()
	folder, _ := trainedRun(t, one("er"))
	c := one("er")
	c.Seed = 2
	seed, _ := trainedRun(t, c)
	method, _ := trainedRun(t, one("finetune"))
	for other, want := range map[string]string{seed: "seed is 2 there and 1 here",
		method: "it was made with another config: "} {
		files, err := checkpoint.Files(filepath.Join(other, CheckpointDir))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, CheckpointDir, "step-999.ckpt"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, older := range []bool{false, true} {
			_, err := trained.Open(t.Context(), folder, trained.Options{Older: older})
			_, parentErr := trained.LearnOn(folder, older)
			_, inspectErr := trained.Inspect(folder)
			for _, err := range []error{err, parentErr, inspectErr} {
				if err == nil || !strings.Contains(err.Error(), want) ||
					!strings.Contains(err.Error(), "step-999.ckpt: this checkpoint is of another run") {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			}
		}
	}

	// The first line of the events says with which numbers, data and kernels.
	made, err := train.MadeIn(folder)
	if err != nil {
		t.Fatal(err)
	}
	made.Numbers++
	if err := train.OfRun(folder, made); err == nil ||
		!strings.Contains(err.Error(), "it was made with numbers version ") {
		t.Error(err)
	}
}
