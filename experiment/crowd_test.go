package experiment

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"ocl"
	"ocl/experiment/result"
)

// TestTogetherIsCounted: a result says how many runs were at work at once, and not how many might have been; a run that is
// kept takes nothing of the machine. The seconds of a resumed run are those of all its processes, and so is the count.
func TestTogetherIsCounted(t *testing.T) {
	t.Parallel()
	c := tiny()
	c.Methods, c.Runs = []string{"finetune"}, 2

	alone := filepath.Join(t.TempDir(), "alone")
	ctx, o := stopAfter(75, Options{Out: alone}) // the first of two runs, and 15 steps of the second
	if _, err := Run(ctx, c, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	results, err := Resume(context.Background(), alone, Options{Workers: 1, Concurrency: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if n := r.Provenance.Concurrency; n != 1 {
			t.Errorf("seed %d: %d runs at once, want 1, as the other was over", r.Config.Seed, n)
		}
	}

	first := make(chan struct{})
	for _, r := range mustRun(t, c, Options{Workers: 1, Concurrency: 2, Events: func(j Job) Events {
		if j.Index == 0 {
			return Events{End: func(Job, *result.Result, error) { close(first) }}
		}
		return Events{Begin: func(Job, ocl.StreamInfo, Plan) { <-first }}
	}}) {
		if n := r.Provenance.Concurrency; n != 1 {
			t.Errorf("seed %d: %d runs at once, want 1, as one began when the other was over", r.Config.Seed, n)
		}
	}

	both := filepath.Join(t.TempDir(), "both")
	ctx, cancel := context.WithCancel(context.Background())
	var met sync.WaitGroup
	met.Add(2)
	if _, err := Run(ctx, c, Options{Out: both, Workers: 1, Concurrency: 2, Events: func(Job) Events {
		return Events{StepEnd: func(step int, _ ocl.StepStats) {
			if step == 1 {
				met.Done()
				met.Wait() // until both are at work
			}
			if step == 20 {
				cancel()
			}
		}}
	}}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	x, err := OpenResumed(context.Background(), filepath.Join(both, jobsOf(t, c)[1].Folder), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if results, err = x.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := results[0].Provenance.Concurrency; len(results) != 1 || n != 2 {
		t.Errorf("%d runs at once, want 2, as another was at work in its first process", n)
	}
}

// TestTimedInAllParts: a result is timed if every process that worked on its run was to keep others away, and none was there.
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
		at := Place{Folder: t.TempDir(), Workers: 1}
		ctx, o := stopAfter(15, Options{})
		at.Timed, at.Together, at.Events = c.first.timed, c.first.together, o.Events(Job{})
		if r, err := x.RunJobAt(ctx, x.Jobs()[0], at); err != nil || r.Outcome.State != result.Interrupted {
			t.Fatal("the run was not interrupted", err)
		}
		at.Timed, at.Together, at.Events = c.second.timed, c.second.together, Events{}
		r, err := x.RunJobAt(t.Context(), x.Jobs()[0], at)
		if err != nil {
			t.Fatal(err)
		}
		if r.Provenance.Timed != c.want {
			t.Errorf("%+v: timed is %v", c, r.Provenance.Timed)
		}
	}
}

// Calls of RunJob at the same time share the cores: each has its part of them.
func TestRunJobSharesTheCores(t *testing.T) {
	cores := runtime.GOMAXPROCS(4)
	defer runtime.GOMAXPROCS(cores)
	for concurrency, want := range map[int]int{0: 4, 1: 4, 2: 2, 4: 1, 8: 1} {
		x := mustOpen(t, one("er"), Options{Concurrency: concurrency})
		res, err := x.RunJob(t.Context(), x.Jobs()[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Provenance.Workers; got != want {
			t.Errorf("%d runs at once on 4 cores: %d workers each, want %d", concurrency, got, want)
		}
	}
}
