package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/config"
	"ocl/run/result"
	"ocl/run/train"
)

func TestRunFillsResult(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	results := mustRun(t, tiny(), Options{Out: out, KeepCheckpoint: true})
	if len(results) != 4 {
		t.Fatalf("%d results, want 4", len(results))
	}
	for i, j := range jobsOf(t, tiny()) {
		r := results[i]
		if r.Method.Name != j.Method || r.Outcome != (result.Outcome{State: result.Finished, Step: 60}) {
			t.Errorf("%s: %s ended as %+v", j.Folder, r.Method.Name, r.Outcome)
		}
		read, err := result.Read(filepath.Join(out, j.Folder, ResultFile))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(comparable(t, []*result.Result{r}), comparable(t, []*result.Result{read})); d != "" {
			t.Errorf("%s: the file differs from the result: %s", j.Folder, d)
		}
		for a, row := range r.Accuracy {
			for b, v := range row {
				if (v != nil) != (b <= a) {
					t.Errorf("%s: accuracy[%d][%d] is %v under eval seen", j.Folder, a, b, v)
				}
			}
		}
		if r.Metrics.FWT != nil || r.Metrics.AverageAccuracy == nil || r.Metrics.AverageForgetting == nil {
			t.Errorf("%s: metrics %+v", j.Folder, r.Metrics)
		}
		if (r.Memory != nil) != (j.Method == "er") {
			t.Errorf("%s: memory %+v", j.Folder, r.Memory)
		}
		if r.Memory != nil {
			n := 0
			for _, c := range r.Memory.ClassCounts[4] {
				n += c
			}
			if n != 30 || len(r.Memory.ClassCounts) != 5 {
				t.Errorf("%d samples in memory at the end of %d tasks, want 30 of 5", n, len(r.Memory.ClassCounts))
			}
		}
		if p := r.Resources.PeakResidentBytes; p < 1<<20 {
			t.Errorf("peak resident memory %d", p)
		}
		if s := r.Seconds; !(s.Train > 0 && s.Test > 0) {
			t.Errorf("seconds %+v", s)
		}
	}
	if _, err := os.Stat(filepath.Join(out, jobsOf(t, tiny())[3].Folder, CheckpointDir)); err != nil {
		t.Error(err)
	}
}

func stepCounter(n *int) func(int, ocl.StepStats) { return func(int, ocl.StepStats) { *n++ } }

// Workers and runs at once change no bit.
func TestSameBits(t *testing.T) {
	t.Parallel()
	want := comparable(t, mustRun(t, tiny(), Options{Workers: 1, Concurrency: 1}))
	for _, o := range []Options{{Workers: 2, Concurrency: 1}, {Workers: 1, Concurrency: 2}, {Workers: 3, Concurrency: 4},
		{}} {
		if d := cmp.Diff(want, comparable(t, mustRun(t, tiny(), o))); d != "" {
			t.Errorf("%d workers, %d at once: %s", o.Workers, o.Concurrency, d)
		}
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	one, equal, unequal := []float64{7}, []float64{5, 5}, []float64{1, 2}
	many := slices.Repeat(unequal, 20)
	for _, tt := range []struct {
		cores                int
		costs                []float64
		workers, concurrency int // given
		wantW, wantC         int
	}{
		{2, unequal, 0, 0, 2, 1}, // 3/1.8 < 2
		{2, equal, 0, 0, 1, 2},   // 5 < 10/1.8
		{2, []float64{4, 4.9}, 0, 0, 1, 2}, {2, []float64{4, 5.1}, 0, 0, 2, 1},
		{2, []float64{0, 5}, 0, 0, 2, 1}, // the first is done
		{2, []float64{0, 0}, 0, 0, 2, 1},
		{2, many, 0, 0, 1, 2}, // the idle end does not count
		{1, many, 0, 0, 1, 1}, {4, one, 0, 0, 4, 1}, {4, equal, 0, 0, 2, 2},
		{4, slices.Repeat(equal, 2), 0, 0, 1, 4}, {4, slices.Repeat(equal, 3), 0, 0, 2, 2},
		{64, unequal, 0, 0, 32, 2}, // 64 workers are hardly faster than 32
		{4, many, 2, 0, 2, 2}, {4, many, 0, 3, 1, 3}, {4, many, 8, 0, 8, 1}, {4, equal, 5, 7, 5, 2}, {4, one, 0, 2, 4, 1},
		// what is done shares nothing
		{2, []float64{0, 5}, 1, 0, 1, 1}, {4, []float64{0, 5, 0}, 0, 2, 4, 1}, {4, []float64{0, 5, 0, 5}, 0, 4, 2, 2},
	} {
		if w, c := Share(tt.cores, tt.costs, tt.workers, tt.concurrency); w != tt.wantW || c != tt.wantC {
			t.Errorf("Share(%d, %v, %d, %d) = %d, %d; want %d, %d", tt.cores, tt.costs, tt.workers, tt.concurrency, w, c,
				tt.wantW, tt.wantC)
		}
	}
}

// What is done already costs nothing, and what was interrupted the rest.
func TestCostsOfWhatIsLeft(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	ctx, o := stopAfter(75, Options{Out: out}) // the first of four runs, and 15 of 60 steps of the second
	if _, err := Run(ctx, tiny(), o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	x := mustOpen(t, tiny(), Options{Out: out})
	plans := plansOf(t, tiny())
	finetune, er := plans[0].FLOPs(), plans[1].FLOPs()
	want := []float64{0, er * 3 / 4, finetune, er}
	turns, err := x.turns(x.jobs)
	if err != nil {
		t.Fatal(err)
	}
	for i, turn := range turns {
		if turn.Cost != want[i] {
			t.Errorf("run %d costs %v, want %v", i, turn.Cost, want[i])
		}
	}
	for i, want := range []train.Found{{State: result.Finished, Step: 60}, {State: result.Interrupted, Step: 15}, {}, {}} {
		if got, err := x.Found(x.jobs[i]); err != nil || got != want {
			t.Errorf("run %d: %+v (%v), want %+v", i, got, err, want)
		}
	}
	if err := os.Remove(filepath.Join(out, x.jobs[1].Folder, ResultFile)); err != nil { // as after a kill
		t.Fatal(err)
	}
	if got, err := x.Found(x.jobs[1]); err != nil || got != (train.Found{State: train.Begun, Step: 15}) {
		t.Errorf("without its result: %+v (%v)", got, err)
	}
	if left := plans[0].Left(train.Found{State: result.Interrupted, Step: 60}); !(left > 0) { // its last evaluation
		t.Errorf("%v is left of a run that made all its steps", left)
	}
	forced := mustOpen(t, tiny(), Options{Out: out, Force: true})
	if got, err := forced.Found(forced.jobs[0]); err != nil || got != (train.Found{}) {
		t.Errorf("with force: %+v (%v), want nothing", got, err)
	}
}

func TestEvalAndProtocol(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		eval, protocol string
		row0, rowLast  int // accuracies measured in the first and the last row
		tasks, first   int
		forgetting     bool
		forward        bool
	}{
		{config.EvalSeen, config.ProtocolStandard, 1, 5, 5, 0, true, false},
		{config.EvalAll, config.ProtocolStandard, 5, 5, 5, 0, true, true},
		{config.EvalFinal, config.ProtocolStandard, 0, 5, 5, 0, false, false},
		{config.EvalSeen, config.ProtocolSurvey, 1, 3, 3, 2, true, false},
		{config.EvalAll, config.ProtocolTuning, 2, 2, 2, 0, true, true},
	} {
		c := tiny()
		c.Runs, c.Eval, c.Protocol = 1, tt.eval, tt.protocol
		for _, r := range mustRun(t, c, Options{}) {
			measured := func(row []*float64) (n int) {
				for _, v := range row {
					if v != nil {
						n++
					}
				}
				return n
			}
			last := len(r.Accuracy) - 1
			if measured(r.Accuracy[0]) != tt.row0 || measured(r.Accuracy[last]) != tt.rowLast {
				t.Errorf("%s, %s: %d and %d accuracies in the first and last row", tt.eval, tt.protocol,
					measured(r.Accuracy[0]), measured(r.Accuracy[last]))
			}
			if len(r.Stream.Tasks) != tt.tasks || r.Stream.Tasks[0].Index != tt.first {
				t.Errorf("%s: %d tasks from %d", tt.protocol, len(r.Stream.Tasks), r.Stream.Tasks[0].Index)
			}
			if r.Metrics.AverageAccuracy == nil || (r.Metrics.AverageForgetting != nil) != tt.forgetting ||
				(r.Metrics.FWT != nil) != tt.forward {
				t.Errorf("%s, %s: metrics %+v", tt.eval, tt.protocol, r.Metrics)
			}
			if n := measured(r.PerClass[last]); n != 20*tt.rowLast {
				t.Errorf("%s, %s: %d classes measured", tt.eval, tt.protocol, n)
			}
		}
		plans := plansOf(t, c)
		if len(plans) != 2 || plans[0].FLOPsPerStep*2 != plans[1].FLOPsPerStep || plans[1].MemoryBytes <= 0 {
			t.Fatal(plans)
		}
		steps, tests := 0, 0
		c.Methods, c.Memory = []string{"finetune"}, 0
		mustRun(t, c, Options{Events: func(Job) Events {
			return Events{StepEnd: stepCounter(&steps), Evaluated: func(e Evaluated) {
				for _, v := range e.Accuracy {
					if v != nil {
						tests += 40
					}
				}
			}}
		}})
		if plans[0].Steps != steps || plans[0].TestSamples != tests {
			t.Errorf("%s, %s: planned %d steps and %d tests, did %d and %d", tt.eval, tt.protocol, plans[0].Steps,
				plans[0].TestSamples, steps, tests)
		}
	}
}

// A run whose loss is no number is a result; the others go on, and it is not run again.
func TestDiverged(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "x")
	c := tiny()
	c.Optimizer.LR = 1e30
	for range 2 {
		results := mustRun(t, c, Options{Out: out})
		if len(results) != 4 {
			t.Fatalf("%d results, want 4", len(results))
		}
		for _, r := range results {
			if r.Outcome.State != result.Diverged || r.Outcome.Step < 1 || r.Outcome.Step > 12 || r.Outcome.Reason == "" {
				t.Errorf("outcome %+v", r.Outcome)
			}
			if r.Metrics != (result.Metrics{}) {
				t.Errorf("metrics of nothing: %+v", r.Metrics)
			}
		}
	}
}

// A panic ends its run with an error that says where, and no other.
func TestPanic(t *testing.T) {
	t.Parallel()
	c := tiny()
	var ended []error
	results, err := Run(context.Background(), c, Options{Concurrency: 1, Events: func(j Job) Events {
		return Events{
			StepEnd: func(step int, _ ocl.StepStats) {
				if j.Method == "er" && j.Seed == 1 && step == 14 {
					panic("boom")
				}
			},
			End: func(_ Job, _ *result.Result, err error) { ended = append(ended, err) },
		}
	}})
	var p *train.PanicError
	if len(results) != 3 || !errors.As(err, &p) || len(p.Stack) == 0 {
		t.Fatal(results, err)
	}
	if want := "experiment: er, seed 1: task 2, step 14: panic: boom. "; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if len(ended) != 4 || ended[0] != nil || ended[1] == nil {
		t.Errorf("ends %v", ended)
	}
}

// What only the data can tell is found before anything is written.
func TestBadFit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		change func(*config.Config)
		want   string
	}{
		{func(c *config.Config) { c.Stream.Tasks = 7 }, "7 tasks cannot share 100 classes"},
		{func(c *config.Config) { c.Stream.ClassOrder = config.Order{Classes: []int{1, 0}} },
			"class_order: the list has 2 classes"},
		{func(c *config.Config) { c.Stream.Mean, c.Stream.Std = []float64{0}, []float64{1} },
			"stream.mean has 1 value, but the images have 3 channels"},
		{func(c *config.Config) { c.Network.Name = "resnet18" },
			"data.size: 8 is too small for resnet18, which needs images of at least 25"},
		{func(c *config.Config) { c.Data = config.Data{Name: "cifar100", Dir: "nowhere"} }, "nowhere"},
		{func(c *config.Config) { c.Data = config.Data{Name: "npz", Dir: "nowhere.npz"} }, "nowhere.npz"},
	} {
		out := filepath.Join(t.TempDir(), "x")
		c := tiny()
		tt.change(&c)
		_, err := Run(context.Background(), c, Options{Out: out})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("%s: a folder was made: %v", tt.want, err)
		}
	}
	if _, err := Run(context.Background(), tiny(), Options{Workers: -1}); err == nil {
		t.Error("-1 workers are taken")
	}
}
