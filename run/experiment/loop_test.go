package experiment

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/config"
	"ocl/nn"
	"ocl/run/result"
)

// diary is a learner that writes down what is asked of it beside learning, and stops where told.
type diary struct {
	ocl.Learner
	lines  []string
	stopAt string
	stop   context.CancelFunc
}

func (d *diary) write(ctx context.Context, line string) error {
	if line == d.stopAt {
		d.stopAt = ""
		d.stop()
		return ctx.Err()
	}
	d.lines = append(d.lines, line)
	return nil
}

func (d *diary) BeginTask(t ocl.TaskInfo) error {
	return d.write(context.Background(), fmt.Sprintf("begin %d", t.Index))
}
func (d *diary) EndTask(ctx context.Context) error { return d.write(ctx, "end") }
func (d *diary) Prepare(ctx context.Context) error { return d.write(ctx, "prepare") }

// Boundaries are told in order, preparing comes before each evaluation and only then, and a run stopped inside them
// goes on from the state before.
func TestBoundaries(t *testing.T) {
	t.Parallel()
	begun := func(d *diary, ctx context.Context, c config.Config, out string) ([]*result.Result, error) {
		o := Options{Out: out}
		o.hooks.learner = func(l ocl.Learner, _ *nn.Network) ocl.Learner {
			d.Learner = l
			return d
		}
		return Run(ctx, c, o)
	}
	whole := func(c config.Config) *diary {
		d := &diary{}
		if _, err := begun(d, context.Background(), c, filepath.Join(t.TempDir(), "x")); err != nil {
			t.Fatal(err)
		}
		return d
	}
	c := tiny()
	c.Stream.Tasks, c.Runs, c.Methods = 2, 1, []string{"er"}
	seen := []string{"begin 0", "end", "prepare", "begin 1", "end", "prepare"}
	if d := cmp.Diff(seen, whole(c).lines); d != "" {
		t.Error(d)
	}
	c.Eval = config.EvalFinal
	if d := cmp.Diff([]string{"begin 0", "end", "begin 1", "end", "prepare"}, whole(c).lines); d != "" {
		t.Error(d)
	}
	c.Eval = config.EvalSeen
	for _, at := range []string{"end", "prepare"} {
		out := filepath.Join(t.TempDir(), "x")
		ctx, cancel := context.WithCancel(context.Background())
		d := &diary{stopAt: at, stop: cancel}
		r, err := begun(d, ctx, c, out)
		if !errors.Is(err, context.Canceled) || r[0].Outcome.Step != 30 {
			t.Fatalf("stopped at %s: %v, error %v", at, r, err)
		}
		if r, err = begun(d, context.Background(), c, out); err != nil || r[0].Outcome.Step != 60 {
			t.Fatalf("resumed from %s: %v, error %v", at, r, err)
		}
		if diff := cmp.Diff(seen, d.lines); diff != "" {
			t.Errorf("stopped at %s: %s", at, diff)
		}
	}
}

// A test set is measured whole or not at all: stopped in an evaluation, the run measures the row again.
func TestStoppedInEvaluation(t *testing.T) {
	t.Parallel()
	c := tiny()
	c.Methods, c.Runs = []string{"er"}, 1
	want := filepath.Join(t.TempDir(), "whole")
	mustRun(t, c, Options{Out: want})
	out := filepath.Join(t.TempDir(), "x")
	ctx, cancel := context.WithCancel(context.Background())
	results, err := Run(ctx, c, Options{Out: out, Events: func(Job) Events {
		saves := 0
		return Events{Checkpointed: func(string) {
			if saves++; saves == 4 { // step 0, step 12, task 1, step 24
				cancel()
			}
		}}
	}}.savingEvery(12))
	if !errors.Is(err, context.Canceled) || len(results) != 1 {
		t.Fatal(results, err)
	}
	r := results[0]
	if r.Outcome != (result.Outcome{State: result.Interrupted, Step: 24}) ||
		slices.ContainsFunc(r.Accuracy[1], func(v *float64) bool { return v != nil }) {
		t.Errorf("outcome %+v, accuracy %v", r.Outcome, r.Accuracy)
	}
	if _, err := Resume(context.Background(), filepath.Join(out, jobsOf(t, c)[0].Folder), Options{}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(filesOf(t, want, c), filesOf(t, out, c)); d != "" {
		t.Error(d)
	}
}

// Checkpoints are saved at the start, at each task's end and, unless that is switched off, by the clock.
func TestCheckpointTimes(t *testing.T) {
	t.Parallel()
	c := tiny()
	c.Methods, c.Runs = []string{"er"}, 1
	saves := 0
	mustRun(t, c, Options{Out: filepath.Join(t.TempDir(), "x"), CheckpointEvery: -1, Events: func(Job) Events {
		return Events{Checkpointed: func(string) { saves++ }}
	}})
	if saves != 6 {
		t.Errorf("%d checkpoints, want one at the start and at the end of 5 tasks", saves)
	}
	for every, want := range map[int]time.Duration{0: time.Minute, 5: 5 * time.Second, -1: 0} {
		if got := (Options{CheckpointEvery: every}).interval(); got != want {
			t.Errorf("every %d s: %v between checkpoints", every, got)
		}
	}
}
