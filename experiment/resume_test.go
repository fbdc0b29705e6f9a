package experiment

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/checkpoint"
	"ocl/experiment/result"
	"ocl/method"
)

var long = flag.Bool("long", false, "kill runs at twenty instants instead of three")

// filesOf reads result.json (without seconds and the like) and steps.csv of every run.
func filesOf(t *testing.T, out string, c Config) []string {
	t.Helper()
	var texts []string
	for _, j := range Jobs(c) {
		r, err := result.Read(filepath.Join(out, j.Folder, ResultFile))
		if err != nil {
			t.Fatal(err)
		}
		steps, err := os.ReadFile(filepath.Join(out, j.Folder, StepsFile))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, j.Folder, comparable(t, []*result.Result{r})[0], string(steps))
	}
	return texts
}

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
	for _, at := range []int{1, 11, 12, 13, 60, 137, 240} {
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

// TestEveryMethodResumes at the end of the second task and in the middle of the third, whatever the method keeps besides its
// network and memory.
func TestEveryMethodResumes(t *testing.T) {
	t.Parallel()
	for _, info := range method.Catalogue() {
		c := tiny()
		c.Methods, c.Runs = []string{info.Name}, 1
		if !info.UsesMemory {
			c.Memory = DefaultMemory // what nobody chose
		}
		if err := c.Set("method.ewc++.every", "3"); err != nil { // a task is 12 steps
			t.Fatal(err)
		}
		want := filepath.Join(t.TempDir(), "whole")
		mustRun(t, c, Options{Out: want})
		for _, at := range []int{24, 29} {
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
	if r.Accuracy[1][1] == nil || r.Accuracy[2][0] != nil || r.Metrics.AverageAccuracy == nil || r.Metrics.AverageForgetting == nil {
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
	results, err := Resume(context.Background(), filepath.Join(out, "finetune-s1"), Options{})
	if err != nil || len(results) != 1 || results[0].Outcome.State != result.Finished {
		t.Error(results, err)
	}
	if _, err := os.Stat(filepath.Join(out, "er-m30-s1")); !os.IsNotExist(err) {
		t.Errorf("another run was started: %v", err)
	}
	for _, dir := range []string{filepath.Join(out, "er-m31-s1"), t.TempDir()} {
		if _, err := Resume(context.Background(), dir, Options{}); err == nil || !strings.HasPrefix(err.Error(), "experiment: resume: ") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestMain is also the child that tests start, which works in the folder that the environment names.
func TestMain(m *testing.M) {
	out := os.Getenv("OCL_TEST_OUT")
	if out == "" {
		os.Exit(m.Run())
	}
	if err := childWork[os.Getenv("OCL_TEST_CHILD")](out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// childWork is what a child can be told to do in a folder.
var childWork = map[string]func(out string) error{
	"run": func(out string) error {
		_, err := Run(context.Background(), tiny(), Options{Out: out, checkpointSteps: 5})
		return err
	},
	"hold": hold,
}

// child is this program as another process, to do the named work.
func child(out, work string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "OCL_TEST_OUT="+out, "OCL_TEST_CHILD="+work)
	return c
}

// A run that is killed at a random instant ends, run again, in the same files.
func TestKilledResumes(t *testing.T) {
	t.Parallel()
	instants := 3
	if *long {
		instants = 20
	}
	want := filepath.Join(t.TempDir(), "whole")
	start := time.Now()
	if out, err := child(want, "run").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole := time.Since(start)
	seed := uint64(time.Now().UnixNano()) // new instants each time; told when one fails
	src := rand.New(rand.NewPCG(seed, 0))
	for i := range instants {
		out := filepath.Join(t.TempDir(), "x")
		kills := 0
		for range 3 { // killed up to three times, then left to finish
			c := child(out, "run")
			after := time.Duration(src.Float64() * float64(whole))
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(after)
			if err := c.Process.Kill(); err == nil {
				kills++
			}
			_ = c.Wait()
		}
		if text, err := child(out, "run").CombinedOutput(); err != nil {
			t.Fatalf("instant %d (seed %d), killed %d times: %v: %s", i, seed, kills, err, text)
		}
		if d := cmp.Diff(filesOf(t, want, tiny()), filesOf(t, out, tiny())); d != "" {
			t.Fatalf("instant %d (seed %d), killed %d times: %s", i, seed, kills, d)
		}
	}
}

// interrupted leaves an experiment of one run of ER, stopped in its third task, with two checkpoints.
func interrupted(t *testing.T) (out, folder string, c Config) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "x")
	c = tiny()
	c.Methods, c.Runs = []string{"er"}, 1
	ctx, o := stopAfter(30, Options{Out: out})
	if _, err := Run(ctx, c, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return out, filepath.Join(out, "er-m30-s1"), c
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
		if wantStart := []int{24, 0}[damaged-1]; started != wantStart || len(notes) != 1 || !strings.Contains(notes[0], "step-30") {
			t.Errorf("%d damaged: went on from step %d, want %d; notes %q", damaged, started, wantStart, notes)
		}
		if d := cmp.Diff(filesOf(t, want, c), filesOf(t, out, c)); d != "" {
			t.Errorf("%d damaged: %s", damaged, d)
		}
	}
}

// A checkpoint or a result of other data, numbers, kernels or convolutions is refused, saying which and what to set.
func TestOthersRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		change func(*identity)
		want   string
	}{
		{func(id *identity) { id.data = "sha256:0" }, "it was made with data sha256:0; this run has sha256:"},
		{func(id *identity) { id.kernel = "abacus" }, "it was made with the abacus kernels; this run uses "},
		{func(id *identity) { id.convolution = "abacus" }, `it was made with "abacus" convolutions; this run uses "` +
			convolutionOf(t) + `"; set OCL_CONV=abacus, or start again with --out and --force`},
		{func(id *identity) { id.numbers = 99 }, "it was made with numbers version 99; this program has "},
		{func(id *identity) { id.numbers, id.kernel, id.convolution = 1, "abacus", "" }, "it was made with numbers version 1; this program has "},
		{func(id *identity) { id.config = "{}" }, "it was made with another config"},
	} {
		out, folder, c := interrupted(t)
		dir, err := checkpoint.OpenDir(filepath.Join(folder, CheckpointDir))
		if err != nil {
			t.Fatal(err)
		}
		got, err := dir.Load()
		if err != nil {
			t.Fatal(err)
		}
		id, err := loadIdentity(got.Decoder().Sub("identity"))
		if err != nil {
			t.Fatal(err)
		}
		tt.change(&id)
		other := checkpoint.NewContainer()
		id.save(other.Encoder().Sub("identity"))
		if _, err := dir.Save(31, other); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(context.Background(), c, Options{Out: out}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
	out := filepath.Join(t.TempDir(), "x")
	mustRun(t, tiny(), Options{Out: out})
	path := filepath.Join(out, "er-m30-s2", ResultFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	convolution := `"convolution": "` + convolutionOf(t) + `"`
	for _, tt := range []struct{ old, new, want string }{
		{`"kernel": "`, `"kernel": "x`, "it was made with the x"},
		{convolution, `"convolution": "abacus"`, `it was made with "abacus" convolutions`},
		{fmt.Sprintf(`"numbers": %d`, result.Numbers), `"numbers": 1`, "it was made with numbers version 1"},
	} {
		config, made, _ := bytes.Cut(b, []byte(`"provenance"`)) // the config has an engine too
		other := bytes.Join([][]byte{config, bytes.Replace(made, []byte(tt.old), []byte(tt.new), 1)}, []byte(`"provenance"`))
		if bytes.Equal(other, b) {
			t.Fatalf("the result does not say %s", tt.old)
		}
		if err := os.WriteFile(path, other, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(context.Background(), tiny(), Options{Out: out}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v\nwant %s", tt.new, err, tt.want)
		}
	}
}

// convolutionOf is the algorithm of the tests' network.
func convolutionOf(t *testing.T) string {
	t.Helper()
	results := mustRun(t, tiny(), Options{})
	return results[0].Provenance.Convolution
}

// What to set for the algorithm that a run was made with.
func TestAcceptConvolution(t *testing.T) {
	for made, want := range map[string]string{
		"table":    "; unset OCL_CONV, or ",
		"direct":   "; set OCL_CONV=direct, or ",
		"winograd": "; set OCL_CONV=winograd, or ",
	} {
		if err := (identity{convolution: "other"}).accept(identity{convolution: made}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s", made, err, want)
		}
		if err := (identity{convolution: made}).accept(identity{convolution: made}); err != nil {
			t.Errorf("%s: the same is refused: %v", made, err)
		}
	}
}

// A checkpoint of numbers version 1 says no convolution; it is read, to be refused for its version.
func TestIdentityWithoutConvolution(t *testing.T) {
	c := checkpoint.NewContainer()
	e := c.Encoder()
	for _, name := range []string{"config", "data", "kernel"} {
		e.Bytes(name, []byte(name))
	}
	e.Int64s("numbers", 1)
	got, err := loadIdentity(c.Decoder())
	if want := (identity{config: "config", data: "data", kernel: "kernel", numbers: 1}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}
