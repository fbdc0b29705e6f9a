package tune

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"ocl"
	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/result"
)

// TestJobs: a run at a place has the key and the numbers that OpenTuned gives it, whether it tunes by itself or takes
// over what another run has chosen, and also when it is stopped again and again. One seed for the tuning makes one
// tuning for all runs.
func TestJobs(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{false, true} {
		c := asked(t)
		if seed := uint64(7); once {
			c.Tune.Seed = &seed
		}
		d := mustOpenTuned(t, t.Context(), c, outTo(t.TempDir()))
		want, err := d.Run(t.Context())
		if err != nil || len(want) != 2 {
			t.Fatalf("%d results, %v", len(want), err)
		}
		plain := c.Clone()
		plain.Tune = config.Tune{}
		x, err := experiment.Open(t.Context(), plain, experiment.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, jobs, err := Jobs(x, c)
		if err != nil || len(jobs) != 2 {
			t.Fatalf("%d jobs, %v", len(jobs), err)
		}
		if same := jobs[0].Tuning == jobs[1].Tuning; same != once ||
			len(d.Tuner().Previews()) != map[bool]int{false: 2, true: 1}[once] {
			t.Errorf("one seed %v: the runs share their tuning %v, and there are %d tunings", once, same,
				len(d.Tuner().Previews()))
		}
		for i, j := range jobs {
			if j.Key != want[i].Tuning.Key || j.Steps != want[i].Tuning.Steps || j.Trials != 2 {
				t.Errorf("run %d has the key %.8s and %d steps in %d trials, want %.8s and %d in 2", i, j.Key, j.Steps, j.Trials,
					want[i].Tuning.Key, want[i].Tuning.Steps)
			}
			var chosen *result.Tuning
			if once && i > 0 {
				chosen = want[0].Tuning
			}
			place := experiment.RunIn{Folder: filepath.Join(t.TempDir(), j.Folder), Workers: 1}
			got, stops := runStopped(t, j, chosen, place, x)
			if difference, same := result.Same(experiment.Schema(), want[i], got); !same {
				t.Errorf("run %d differs: %s", i, difference)
			}
			if least := map[bool]int{false: 3, true: 1}[chosen != nil]; stops < least {
				t.Errorf("run %d was stopped %d times, want at least %d", i, stops, least)
			}
		}
	}
}

// runStopped makes a run at a place and stops it after every 15 steps.
func runStopped(t *testing.T, j Job, chosen *result.Tuning, at experiment.RunIn,
	x *experiment.Experiment) (*result.Result, int) {
	t.Helper()
	for stops := 0; stops < 50; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		at.Events = experiment.Events{StepEnd: func(int, ocl.StepStats) {
			if steps++; steps == 15 {
				cancel()
			}
		}}
		r, err := j.RunAt(ctx, chosen, at, x, experiment.Options{})
		cancel()
		if err == nil && r != nil && r.Outcome.State == result.Finished {
			return r, stops
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	t.Fatal("the run does not come to its end")
	return nil, 0
}

// TestNothingChosen: a tuning that chooses nothing is an error.
func TestNothingChosen(t *testing.T) {
	t.Parallel()
	c := asked(t)
	c.Runs = 1
	plain := c.Clone()
	plain.Tune = config.Tune{}
	x, err := experiment.Open(t.Context(), plain, experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, c.Tune.Grid, "optimizer.lr: [1e38]")
	_, jobs, err := Jobs(x, c)
	if err != nil {
		t.Fatal(err)
	}
	place := experiment.RunIn{Folder: t.TempDir(), Workers: 1}
	if _, err := jobs[0].RunAt(t.Context(), nil, place, x, experiment.Options{}); !errors.Is(err, ErrNothingChosen) {
		t.Errorf("all points diverged: %v", err)
	}
}

// TestPointsBySeed: `ocl run` and `ocl sweep` draw the same points for a run, those of its own seed, whatever runs are
// beside it.
func TestPointsBySeed(t *testing.T) {
	t.Parallel()
	c := asked(t)
	c.Tune.Search, c.Tune.Points = config.SearchRandom, 2
	tunings := mustOpenTuned(t, t.Context(), c, Options{}).Tuner().tunings
	x, err := experiment.Open(t.Context(), func() config.Config { p := c.Clone(); p.Tune = config.Tune{}; return p }(),
		experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, jobs, err := Jobs(x, c)
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range jobs {
		if got := tunings[i].record; got.Key != j.Tuning || got.Search.Seed != c.Seed+uint64(i) {
			t.Errorf("seed %d: `ocl run` draws by seed %d with the key %.8s, and `ocl sweep` with %.8s", c.Seed+uint64(i),
				got.Search.Seed, got.Key, j.Tuning)
		}
	}
}
