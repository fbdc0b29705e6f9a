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
	"ocl/checkpoint"
	"ocl/config"
	"ocl/experiment/result"
)

// trainedRun runs a config of one run and returns its folder and its result.
func trainedRun(t *testing.T, c config.Config) (folder string, res *result.Result) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "x")
	res = mustRun(t, c, Options{Out: out, KeepCheckpoint: true})[0]
	return filepath.Join(out, mustOpen(t, c, Options{}).Jobs()[0].Folder), res
}

// A restored learner predicts without the data what the run measured: the accuracy of each test set is that of the result.
func TestTrainedPredictsAsItsRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]config.Config{"er": one("er"), "icarl": one("icarl"), "gdumb": one("gdumb"), "ncm": one("er"), "offline": one("offline")} {
		if name == "ncm" {
			c.Classifiers = []string{config.ClassifierNCM}
		}
		folder, res := trainedRun(t, c)
		trained, err := OpenTrained(t.Context(), filepath.Dir(folder), 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer trained.Close()
		if trained.Folder != folder || trained.Tasks != len(res.Stream.Tasks) || trained.Steps != res.Outcome.Step || len(trained.Notes) > 0 ||
			!strings.HasPrefix(trained.Digest, "sha256:") {
			t.Errorf("%s: %+v", name, trained)
		}
		if d := cmp.Diff(res.Stream.ClassNames, trained.ClassNames); d != "" || trained.Info.Classes != res.Stream.Classes {
			t.Errorf("%s: %d classes, names %s", name, trained.Info.Classes, d)
		}
		if len(trained.Learned) != res.Stream.Classes || (trained.Means() != nil) != (name == "icarl" || name == "ncm") {
			t.Errorf("%s: learned %v, means %v", name, trained.Learned, trained.Means())
		}
		x := mustOpen(t, c, Options{})
		view, err := newStream(x.set, x.Jobs()[0].Config)
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
				if err := trained.Predict(got, b.X); err != nil {
					t.Fatal(err)
				}
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

// A checkpoint of an older ocl does not name its images; the result of its run does.
func TestTrainedOfOlderCheckpoint(t *testing.T) {
	t.Parallel()
	folder, res := trainedRun(t, one("er"))
	got, err := newest(folder)
	if err != nil {
		t.Fatal(err)
	}
	older := checkpoint.NewContainer()
	for _, name := range got.Names() {
		if name == shownSection {
			continue
		}
		b, err := got.Decoder().Bytes(name)
		if err != nil {
			t.Fatal(err)
		}
		older.Encoder().Bytes(name, b)
	}
	store, err := checkpoint.OpenDir(filepath.Join(folder, CheckpointDir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Save(res.Outcome.Step, older); err != nil {
		t.Fatal(err)
	}
	trained, err := OpenTrained(t.Context(), folder, 1)
	if err != nil {
		t.Fatal(err)
	}
	trained.Close()
	if d := cmp.Diff(res.Stream.ClassNames, trained.ClassNames); d != "" || trained.Info.Classes != res.Stream.Classes || len(trained.Learned) != res.Stream.Classes {
		t.Errorf("%d classes, learned %v, names %s", trained.Info.Classes, trained.Learned, d)
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
		got, err := OpenTrained(t.Context(), folder, 1)
		if err == nil || got != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v in a folder that was empty", entries, err)
	}
}

// An impossible description of the images is refused before anything is allocated for it.
func TestTrainedRefusesImpossibleImages(t *testing.T) {
	t.Parallel()
	for _, s := range []shown{
		{Shape: [3]int{1, 8, 1 << 40}, Classes: 10}, {Shape: [3]int{0, 8, 8}, Classes: 10}, {Shape: [3]int{1, 8, 8}, Classes: -1},
		{Shape: [3]int{1, 8, 8}, Classes: 3, ClassNames: []string{"a"}}, {Shape: [3]int{1, 8, 8}, Classes: 3, Learned: []int{0, 3}},
	} {
		c := checkpoint.NewContainer()
		if err := (checkpoint.Parts{checkpoint.JSON(shownSection, &s)}).SaveState(c.Encoder()); err != nil {
			t.Fatal(err)
		}
		if _, err := readShown(t.TempDir(), c.Decoder()); err == nil || !strings.Contains(err.Error(), "Another program made the file") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// A file claims no more memory for its network than it holds, or than a network of an ordinary size needs.
func TestTrainedRefusesImpossibleNetworks(t *testing.T) {
	t.Parallel()
	wide, images := one("gdumb"), shown{Shape: [3]int{3, 8, 8}, Classes: 100}
	wide.Network.Hidden = []int{1_000_000, 1_000_000}
	broad := one("gdumb")
	broad.Network = config.Network{Name: "resnet18", Width: 4096, Hidden: []int{16}}
	few := one("er")
	few.Stream.Mean, few.Stream.Std = []float64{0.5}, []float64{0.5}
	for name, k := range map[string]struct {
		c      config.Config
		params int // bytes
		want   string
	}{
		"no parameters, a wide perceptron": {wide, -1, "parameters or more, and the file has none of them. Use a run with a network of at most 67108864"},
		"no parameters, a wide ResNet":     {broad, -1, "parameters or more, and the file has none of them"},
		"few parameters, a wide ResNet":    {broad, 4 << 20, "Another program made the file"},
		"a mean for grey images":           {few, 4 << 20, "stream.mean has 1 values for images of 3 channels"},
		"what there is":                    {one("gdumb"), -1, ""},
	} {
		err := checkSize(k.c, images, k.params)
		if (err == nil) != (k.want == "") || err != nil && !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: got %v, want %q", name, err, k.want)
		}
	}
}

// The number of parameters that a file must hold is that of the network, but for biases and the channels of the image.
func TestLeastParameters(t *testing.T) {
	t.Parallel()
	for _, n := range []config.Network{{Name: "resnet18", Width: 20}, {Name: "resnet18", Width: 1}, {Name: networkMLP, Hidden: []int{30, 7}}, {Name: networkMLP, Hidden: []int{5}}} {
		c := tiny()
		c.Network = n
		net, err := newNetwork(ocl.StreamInfo{Channels: 3, Height: 32, Width: 32, Classes: 10}, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		least, all := leastParameters(n, 3*32*32, 10), len(net.Params())
		if least > all || least < all*8/10 {
			t.Errorf("%+v: %d parameters, of which %d are counted", n, all, least)
		}
	}
}
