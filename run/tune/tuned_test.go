package tune

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/result"
)

// asked is a small experiment that asks for tuning with a grid of its own.
func asked(t *testing.T) config.Config {
	t.Helper()
	c := tiny("er")
	path := filepath.Join(t.TempDir(), "grid.yaml")
	write(t, path, "optimizer.lr: [0.003, 0.1]\nreplay.batch: [5]\n")
	c.Protocol, c.Runs, c.Tune = config.ProtocolSurvey, 2, config.Tune{Grid: path, Repeats: 1}
	return c
}

func mustOpenTuned(t *testing.T, ctx context.Context, c config.Config, o Options) *Tuned {
	t.Helper()
	d, err := OpenTuned(ctx, c, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestTuned: each run has the values of its own tuning, and is the plain run with these values on the other tasks.
func TestTuned(t *testing.T) {
	t.Parallel()
	c := asked(t)
	d := mustOpenTuned(t, t.Context(), c, outTo(t.TempDir()))
	results, err := d.Run(t.Context())
	if err != nil || len(results) != 2 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	keys := map[string]bool{}
	for i, r := range results {
		b := r.Tuning
		if b == nil || b.Grid != "grid.yaml" || len(b.Points) != 2 ||
			strings.Join(b.Keys, " ") != "optimizer.lr replay.batch" {
			t.Fatalf("the tuning of run %d is %+v", i, b)
		}
		keys[b.Key] = true
		plain := c.Clone()
		plain.Tune, plain.Runs, plain.Seed, plain.Replay.Batch = config.Tune{}, 1, c.Seed+uint64(i), 5
		if err := experiment.Schema().Set(&plain, "optimizer.lr", b.Chosen[0]); err != nil {
			t.Fatal(err)
		}
		want, err := experiment.Run(t.Context(), plain, experiment.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if difference, same := result.Same(experiment.Schema(), want[0], r); !same {
			t.Errorf("run %d is not the plain run with the chosen values: %s", i, difference)
		}
		if n := len(r.Stream.Tasks); n != 8 || r.Config.Tune != (config.Tune{}) {
			t.Errorf("run %d learned %d tasks, want 8; its config asks for %+v", i, n, r.Config.Tune)
		}
	}
	if len(keys) != 2 {
		t.Error("two runs have one key before tuning")
	}
}

// TestTunedMethods: each method of an experiment is tuned and then run, seed by seed.
func TestTunedMethods(t *testing.T) {
	t.Parallel()
	c := asked(t)
	c.Methods = []string{"finetune", "er"}
	write(t, c.Tune.Grid, "optimizer.lr: [0.1]\nreplay.batch: [5]\n")
	results, err := mustOpenTuned(t, t.Context(), c, outTo(t.TempDir())).Run(t.Context())
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprintf("%s s%d %d", r.Method.Name, r.Config.Seed, len(r.Tuning.Keys)))
	}
	if want := "finetune s1 1,er s1 2,finetune s2 1,er s2 2"; err != nil || strings.Join(got, ",") != want {
		t.Errorf("%q, %v; want %s", got, err, want)
	}
}

// TestTunedDiverged: a run whose points all diverged is left out.
func TestTunedDiverged(t *testing.T) {
	t.Parallel()
	c := asked(t)
	write(t, c.Tune.Grid, "optimizer.lr: [1e38]")
	d := mustOpenTuned(t, t.Context(), c, outTo(t.TempDir()))
	results, err := d.Run(t.Context())
	if err != nil || len(results) != 0 || strings.Join(d.Diverged(), ",") != "er s1,er s2" {
		t.Errorf("%d results, diverged %v, %v", len(results), d.Diverged(), err)
	}
}

// TestExperimentRefusesToTune: nobody runs such a config with the settings that stand in it.
func TestExperimentRefusesToTune(t *testing.T) {
	if _, err := experiment.Open(t.Context(), asked(t), experiment.Options{}); err == nil ||
		!strings.Contains(err.Error(), "has to be tuned first") {
		t.Errorf("it is opened: %v", err)
	}
}

// TestTunedFolder: a folder with anything else is refused.
func TestTunedFolder(t *testing.T) {
	c, out := asked(t), t.TempDir()
	if err := mustOpenTuned(t, t.Context(), c, outTo(out)).SetUp(); err != nil {
		t.Fatal(err)
	}
	c.Memory = 40
	if _, err := OpenTuned(t.Context(), c, outTo(out)); err == nil ||
		!strings.Contains(err.Error(), "memory is 30 there and 40 here") {
		t.Errorf("another experiment: %v", err)
	}
	out = t.TempDir()
	write(t, filepath.Join(out, "notes.txt"), "mine")
	if _, err := OpenTuned(t.Context(), c, outTo(out)); err == nil ||
		!strings.Contains(err.Error(), "the folder has other files") {
		t.Errorf("a folder with other files: %v", err)
	}
}
