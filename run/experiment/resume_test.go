package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
	"ocl/learn/method"
	"ocl/run/result"
)

// stopAfter gives options whose events cancel the context once n steps of all runs were taken.
func stopAfter(n int, o Options) (context.Context, Options) {
	ctx, cancel := context.WithCancel(context.Background())
	o.Events = func(Job) Events {
		return Events{StepEnd: func(int, ocl.StepStats) {
			if n--; n <= 0 {
				cancel()
			}
		}}
	}
	o.Concurrency = 1
	return ctx, o
}

func TestInterruptedResumes(t *testing.T) {
	t.Parallel()
	want := filepath.Join(t.TempDir(), "whole")
	mustRun(t, tiny(), Options{Out: want})
	for _, at := range []int{1, 12, 137, 240} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "x")
			ctx, o := stopAfter(at, Options{Out: out})
			results, err := Run(ctx, tiny(), o)
			if at < 240 && !errors.Is(err, context.Canceled) {
				t.Fatalf("interrupted after %d steps: error %v", at, err)
			}
			if at < 240 {
				last := results[len(results)-1]
				if last.Outcome.State != result.Interrupted || last.Outcome.Step != (at-1)%60+1 {
					t.Errorf("interrupted after %d steps: outcome %+v", at, last.Outcome)
				}
			}
			if _, err := Resume(context.Background(), out, Options{}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(filesOf(t, want, tiny()), filesOf(t, out, tiny())); d != "" {
				t.Errorf("resumed after %d steps: %s", at, d)
			}
		})
	}
}

// TestEveryMethodResumes in the middle of the third task, whatever the method keeps
// besides its network and memory; the draws of augmentation among it, where the method augments.
func TestEveryMethodResumes(t *testing.T) {
	t.Parallel()
	for _, info := range method.Catalogue() {
		c := one(info.Name)
		c.Replay.Augment = slices.Contains(info.Settings, "replay.augment")
		if !info.UsesMemory {
			c.Memory = config.DefaultMemory // what nobody chose
		}
		if err := Schema().Set(&c, "method.ewc++.every", "3"); err != nil { // a task is 12 steps
			t.Fatal(err)
		}
		want := filepath.Join(t.TempDir(), "whole")
		mustRun(t, c, Options{Out: want})
		for _, at := range []int{29} {
			out := filepath.Join(t.TempDir(), "x")
			ctx, o := stopAfter(at, Options{Out: out})
			if _, err := Run(ctx, c, o); !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: interrupted after %d steps: error %v", info.Name, at, err)
			}
			if _, err := Resume(context.Background(), out, Options{}); err != nil {
				t.Fatalf("%s: %v", info.Name, err)
			}
			if d := cmp.Diff(filesOf(t, want, c), filesOf(t, out, c)); d != "" {
				t.Errorf("%s, resumed after %d steps: %s", info.Name, at, d)
			}
		}
	}
}

// What was measured before an interruption is in the result; metrics cover it.
func TestInterruptedMeasures(t *testing.T) {
	t.Parallel()
	c := tiny()
	c.Methods, c.Runs = []string{"er"}, 1
	ctx, o := stopAfter(30, Options{})
	results, err := Run(ctx, c, o)
	if !errors.Is(err, context.Canceled) || len(results) != 1 {
		t.Fatal(results, err)
	}
	r := results[0]
	if r.Accuracy[1][1] == nil || r.Accuracy[2][0] != nil || r.Metrics.AverageAccuracy == nil ||
		r.Metrics.AverageForgetting == nil {
		t.Errorf("accuracy %v, metrics %+v", r.Accuracy, r.Metrics)
	}
	if want := (*r.Accuracy[1][0] + *r.Accuracy[1][1]) / 2; *r.Metrics.AverageAccuracy != want {
		t.Errorf("average accuracy %v, want %v", *r.Metrics.AverageAccuracy, want)
	}
}

// Resume takes the folder of one run too.
func TestResumeOneRun(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	ctx, o := stopAfter(20, Options{Out: out})
	if _, err := Run(ctx, tiny(), o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	jobs := jobsOf(t, tiny())
	results, err := Resume(context.Background(), filepath.Join(out, jobs[0].Folder), Options{})
	if err != nil || len(results) != 1 || results[0].Outcome.State != result.Finished {
		t.Error(results, err)
	}
	if _, err := os.Stat(filepath.Join(out, jobs[1].Folder)); !os.IsNotExist(err) {
		t.Errorf("another run was started: %v", err)
	}
	for _, dir := range []string{filepath.Join(out, "er-m31-s1-01234567"), t.TempDir()} {
		if _, err := Resume(context.Background(), dir, Options{}); err == nil ||
			!strings.HasPrefix(err.Error(), "experiment: resume: ") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestMain is also the child that tests start, which works in the folder that the environment names.
func TestMain(m *testing.M) {
	out := os.Getenv("OCL_TEST_OUT")
	if out == "" {
		cache, err := os.MkdirTemp("", "ocl-cache")
		if err == nil {
			err = os.Setenv("OCL_CACHE", cache)
		}
		if err != nil {
			panic(err)
		}
		code := m.Run()
		_ = os.RemoveAll(cache)
		os.Exit(code)
	}
	if err := childWork[os.Getenv("OCL_TEST_CHILD")](out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// childWork is what a child can be told to do in a folder.
var childWork = map[string]func(out string) error{
	"hold": hold,
	"open": func(string) error {
		_, err := Open(context.Background(), tiny(), Options{})
		return err
	},
}

// child is this program as another process, to do the named work.
func child(out, work string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "OCL_TEST_OUT="+out, "OCL_TEST_CHILD="+work)
	return c
}

// interrupted leaves an experiment of one run of ER, stopped in its third task, with two checkpoints.
func interrupted(t *testing.T) (out, folder string, c config.Config) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "x")
	c = one("er")
	ctx, o := stopAfter(30, Options{Out: out})
	if _, err := Run(ctx, c, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return out, filepath.Join(out, jobsOf(t, c)[0].Folder), c
}

func TestDamagedCheckpoint(t *testing.T) {
	t.Parallel()
	want := filepath.Join(t.TempDir(), "whole")
	_, _, c := interrupted(t)
	mustRun(t, c, Options{Out: want})
	for damaged := 1; damaged <= 2; damaged++ {
		out, folder, c := interrupted(t)
		paths, err := filepath.Glob(filepath.Join(folder, CheckpointDir, "*.ckpt"))
		if err != nil || len(paths) != 2 {
			t.Fatal(paths, err)
		}
		for _, p := range paths[len(paths)-damaged:] { // step-24, step-30
			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			b[len(b)/2] ^= 1
			if err := os.WriteFile(p, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var notes []string
		started := -1
		_, err = Run(context.Background(), c, Options{Out: out, Events: func(Job) Events {
			return Events{
				Note:  func(s string) { notes = append(notes, s) },
				Begin: func(_ Job, _ ocl.StreamInfo, p Plan) { started = p.StepsDone },
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if wantStart := []int{24, 0}[damaged-1]; started != wantStart || len(notes) != 1 ||
			!strings.Contains(notes[0], "step-30") {
			t.Errorf("%d damaged: went on from step %d, want %d; notes %q", damaged, started, wantStart, notes)
		}
		if d := cmp.Diff(filesOf(t, want, c), filesOf(t, out, c)); d != "" {
			t.Errorf("%d damaged: %s", damaged, d)
		}
	}
}

// lastCheckpoint is the newest checkpoint of a run, and the folder that it is in.
func lastCheckpoint(t testing.TB, folder string) (*checkpoint.Dir, checkpoint.Loaded) {
	t.Helper()
	dir, err := checkpoint.OpenDir(filepath.Join(folder, CheckpointDir))
	if err != nil {
		t.Fatal(err)
	}
	got, err := dir.Load()
	if err != nil {
		t.Fatal(err)
	}
	return dir, got
}

// A checkpoint or a result of other data, numbers, kernels or convolutions is refused, saying which and what to set.
func TestOthersRefused(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{
		"data":        "it was made with the data abacus, but this run has sha256:",
		"kernel":      "it was made with the abacus kernels, but this run uses ",
		"convolution": "it was made with abacus convolutions, but this run uses ",
	} {
		out, folder, c := interrupted(t)
		resave(t, folder, func(name string, b []byte) []byte {
			if name == "identity/"+section {
				return []byte("abacus")
			}
			return b
		})
		if _, err := Run(context.Background(), c, Options{Out: out}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	out := filepath.Join(t.TempDir(), "x")
	mustRun(t, tiny(), Options{Out: out})
	path := filepath.Join(out, jobsOf(t, tiny())[3].Folder, ResultFile)
	whole, err := result.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		change func(*result.Result)
		want   string
	}{
		{func(r *result.Result) { r.Provenance.Kernel = "abacus" }, "it was made with the abacus"},
		{func(r *result.Result) { r.Provenance.Convolution = "abacus" }, "it was made with abacus convolutions"},
		{func(r *result.Result) { r.Provenance.Numbers = 1 }, "it was made with numbers version 1"},
		{func(r *result.Result) { r.Provenance.DataDigest = "sha256:0" }, "it was made with the data sha256:0"},
		{func(r *result.Result) {}, "its key is 0000"},
	} {
		other := *whole
		other.Key = strings.Repeat("0", 64)
		tt.change(&other)
		text, err := result.Encode(&other)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(context.Background(), tiny(), Options{Out: out}); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
}
