package experiment

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/config"
	"ocl/run/result"
)

// inUse wants --force refused in the folder of a run that is at work, and every other call to wait until its context
// ends; and all files left alone.
func inUse(t *testing.T, out string, c config.Config) {
	t.Helper()
	before := tree(t, out)
	other := c
	other.Seed = 99
	waiting := func(f func(context.Context, Options) ([]*result.Result, error)) error {
		ctx, cancel := context.WithCancel(t.Context())
		waited := false
		_, err := f(ctx, Options{Out: out, Events: func(Job) Events {
			return Events{Note: func(text string) {
				if text == Waiting {
					waited = true
					cancel()
				}
			}}
		}})
		if !waited || !errors.Is(err, context.Canceled) {
			t.Errorf("waited %v, error %v", waited, err)
		}
		return err
	}
	run := waiting(func(ctx context.Context, o Options) ([]*result.Result, error) { return Run(ctx, c, o) })
	_, force := Run(context.Background(), other, Options{Out: out, Force: true})
	resume := waiting(func(ctx context.Context, o Options) ([]*result.Result, error) { return Resume(ctx, out, o) })
	resumeOne := waiting(func(ctx context.Context, o Options) ([]*result.Result, error) {
		return Resume(ctx, filepath.Join(out, jobsOf(t, c)[0].Folder), o)
	})
	for name, err := range map[string]error{"run": run, "resume": resume, "resume one": resumeOne} {
		if errors.Is(err, ErrBusy) {
			t.Errorf("%s: a call that waited and was interrupted says %v", name, err)
		}
	}
	want := out + ": another ocl is using the folder. Wait"
	if !errors.Is(force, ErrBusy) || !strings.Contains(force.Error(), want) || !strings.Contains(force.Error(), "--out") {
		t.Errorf("--force: got %v\nwant %s", force, want)
	}
	if d := cmp.Diff(before, tree(t, out)); d != "" {
		t.Errorf("files changed: %s", d)
	}
}

// A run at work elsewhere is left to the other, and its result is taken when it has ended meanwhile.
func TestOthersRunsAreLeftToThem(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	c := one("er")
	c.Runs = 2
	x := mustOpen(t, c, Options{Out: out, Concurrency: 1})
	taken, release, done := make(chan bool), make(chan bool), make(chan error)
	go func() {
		y, err := Open(t.Context(), c, Options{Out: out, Events: func(Job) Events {
			return Events{TaskBegin: func(task ocl.TaskInfo) {
				if task.Index == 1 {
					close(taken)
					<-release
				}
			}}
		}})
		if err == nil {
			err = y.SetUp()
		}
		if err == nil {
			_, err = y.RunJob(context.Background(), y.Jobs()[0],
				RunIn{Folder: filepath.Join(out, y.Jobs()[0].Folder), Workers: 1, Events: y.opts.Events(Job{})})
		}
		done <- err
	}()
	<-taken
	x.opts.Events = func(j Job) Events {
		return Events{End: func(Job, *result.Result, error) {
			if j.Seed == 2 { // ours is over; the other goes on
				close(release)
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		}}
	}
	results, err := x.Run(context.Background())
	if err != nil || len(results) != 2 {
		t.Fatal(results, err)
	}
	if d := cmp.Diff(comparable(t, mustRun(t, c, Options{})), comparable(t, results)); d != "" {
		t.Error(d)
	}
}

// A process that has done its share waits for the run of another one, and does it itself if the other did not end it.
func TestOthersRunsAreWaitedFor(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	c := one("er")
	c.Runs = 2
	x := mustOpen(t, c, Options{Out: out, Concurrency: 1})
	if err := x.SetUp(); err != nil {
		t.Fatal(err)
	}
	unlock, err := LockRun(filepath.Join(out, x.Jobs()[0].Folder))
	if err != nil {
		t.Fatal(err)
	}
	x.opts.Events = func(Job) Events {
		return Events{Note: func(text string) {
			if text == Waiting {
				unlock()
			}
		}}
	}
	results, err := x.Run(t.Context())
	if err != nil || len(results) != 2 {
		t.Fatal(results, err)
	}

	// The end of ctx ends the waiting.
	ctx, cancel := context.WithCancel(t.Context())
	if err := os.Remove(filepath.Join(out, x.Jobs()[0].Folder, ResultFile)); err != nil {
		t.Fatal(err)
	}
	if unlock, err = LockRun(filepath.Join(out, x.Jobs()[0].Folder)); err != nil {
		t.Fatal(err)
	}
	defer unlock()
	x.opts.Events = func(Job) Events {
		return Events{Note: func(text string) {
			if text == Waiting {
				cancel()
			}
		}}
	}
	if _, err := x.Run(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, ErrBusy) { // that it waited is known
		t.Error(err)
	}
}

// hold runs the experiment in the folder and stops for ever after its first checkpoint, which it tells.
func hold(out string) error {
	_, err := Run(context.Background(), one("er"), Options{Out: out, Concurrency: 1, Events: func(Job) Events {
		return Events{TaskBegin: func(task ocl.TaskInfo) {
			if task.Index > 0 {
				os.Stdout.WriteString("holding\n")
				select {}
			}
		}}
	}}.savingEvery(12))
	return err
}

// A killed process leaves no lock behind.
func TestLockEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	holder := child(out, "hold")
	holder.Stderr = os.Stderr
	stdout, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	}()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "holding\n" {
		t.Fatal(line, err)
	}
	inUse(t, out, one("er"))
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	results, err := Resume(context.Background(), out, Options{})
	if err != nil || len(results) != 1 || results[0].Outcome.State != result.Finished {
		t.Error(results, err)
	}
}

// While an experiment is run nothing of it is removed, also between two of its runs.
func TestForceWaitsForTheWholeExperiment(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	c := one("er")
	c.Runs = 2
	tried := 0
	mustRun(t, c, Options{Out: out, Concurrency: 1, Events: func(Job) Events {
		return Events{Begin: func(Job, ocl.StreamInfo, Plan) {
			tried++
			if _, err := Run(context.Background(), one("finetune"), Options{Out: out, Force: true}); !errors.Is(err, ErrBusy) {
				t.Errorf("--force beside a run: %v", err)
			}
		}}
	}})
	if tried != 2 {
		t.Errorf("tried %d times", tried)
	}
	mustRun(t, one("finetune"), Options{Out: out, Force: true}) // when it is over
}

// Processes that begin together take turns, and a finished experiment may be read by any number of them at once.
func TestBeginningTogether(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	c := one("finetune")
	together := func(do func(x *Experiment) error) {
		t.Helper()
		errs := make(chan error, 8)
		for range cap(errs) {
			x := mustOpen(t, c, Options{Out: out, Workers: 1})
			go func() { errs <- do(x) }()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	}
	together(func(x *Experiment) error { return x.SetUp() })
	mustRun(t, c, Options{Out: out})
	together(func(x *Experiment) error {
		results, err := x.Run(context.Background())
		if len(results) != 1 {
			return errors.Join(err, errors.New("no result"))
		}
		return err
	})
}
