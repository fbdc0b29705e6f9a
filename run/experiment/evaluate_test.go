package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
	"ocl/nn"
	"ocl/run/build"
	"ocl/run/result"
	"ocl/run/train"
)

// Evaluations in the middle of tasks change no bit of the training, whatever the method: results and learners are the
// same but for what was asked for.
func TestEvalEveryChangesNoBit(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"er", "gdumb", "icarl", "agem", "slda", "offline"} {
		c := one(name)
		c.Method = map[string]map[string]any{"gdumb": {"epochs": 2}, "offline": {"epochs": 2, "batch": 64}}
		c.Classifiers = []string{"head"}
		plain := filepath.Join(t.TempDir(), "plain")
		want := mustRun(t, c, Options{Out: plain, KeepCheckpoint: true})[0]
		c.EvalEvery = 5
		out := filepath.Join(t.TempDir(), "x")
		told := 0
		got := mustRun(t, c, Options{Out: out, KeepCheckpoint: true, Events: func(Job) Events {
			return Events{Evaluated: func(e Evaluated) {
				if e.MidTask {
					told++
				}
			}}
		}})[0]
		if n := got.Outcome.Step / 5; len(got.Evaluations) != n || told != n {
			t.Errorf("%s: %d evaluations in the middle, %d told, want %d", name, len(got.Evaluations), told, n)
		}
		for i, e := range got.Evaluations {
			measured := 0
			for _, v := range e.Accuracy {
				if v != nil {
					measured++
				}
			}
			if e.Step != 5*(i+1) || measured != e.Task+1 || e.Task != (e.Step-1)/12 && name != "offline" {
				t.Errorf("%s: evaluation %d: step %d, task %d, %d test sets", name, i, e.Step, e.Task, measured)
			}
		}
		if d := sameLearner(t, filepath.Join(plain, jobFolder(t, plain)), filepath.Join(out, jobFolder(t, out))); d != "" {
			t.Errorf("%s: the learner is another one: %s", name, d)
		}
		if got.Metrics.AverageAnytimeAccuracy == nil || want.Metrics.AverageAnytimeAccuracy != nil {
			t.Errorf("%s: average anytime accuracy %v, and %v without evaluations", name, got.Metrics.AverageAnytimeAccuracy,
				want.Metrics.AverageAnytimeAccuracy)
		}
		got.Evaluations, got.Metrics.AverageAnytimeAccuracy, got.Key, got.Config.EvalEvery = nil, nil, want.Key, 0
		if d, same := result.Same(Schema(), want, got); !same {
			t.Errorf("%s: %s", name, d)
		}
		plans := plansOf(t, c)
		if plans[0].MidTask != told {
			t.Errorf("%s: %d evaluations in the middle are planned, %d were made", name, plans[0].MidTask, told)
		}
		if last := len(plans[0].MidTaskFLOPs) - 1; (plans[0].MidTaskFLOPs[last] > 0) != (plans[0].PrepareFLOPs[last] > 0) {
			t.Errorf("%s: %d operations are planned before an evaluation in the middle, %d before one at the end of a task",
				name, plans[0].MidTaskFLOPs[last], plans[0].PrepareFLOPs[last])
		}
	}
}

// jobFolder is the one run folder of an experiment.
func jobFolder(t *testing.T, out string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(out, "*", RunConfigFile))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return filepath.Base(filepath.Dir(found[0]))
}

// sameLearner compares what the last checkpoints of two runs hold of their learners.
func sameLearner(t *testing.T, a, b string) string {
	t.Helper()
	var all [2]checkpoint.Loaded
	for i, folder := range []string{a, b} {
		dir, err := checkpoint.OpenDir(filepath.Join(folder, CheckpointDir))
		if err == nil {
			all[i], err = dir.Load()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range all[0].Names() {
		x, _ := all[0].Decoder().Bytes(name)
		y, err := all[1].Decoder().Bytes(name)
		if strings.HasPrefix(name, "learner/") && (err != nil || !bytes.Equal(x, y)) {
			return name
		}
	}
	return ""
}

// A run that is stopped in or beside an evaluation in the middle of a task goes on to the same bits.
func TestEvalEveryResumes(t *testing.T) {
	t.Parallel()
	c := one("er")
	c.EvalEvery, c.Classifiers = 4, []string{"ncm", "head"}
	want := filepath.Join(t.TempDir(), "whole")
	mustRun(t, c, Options{Out: want})
	const many = 1 << 40
	looked := func(f func(ctx context.Context) error) int64 {
		ctx := &looks{Context: context.Background()}
		ctx.left.Store(many)
		if err := f(ctx); err != nil {
			t.Fatal(err)
		}
		return many - ctx.left.Load()
	}
	opened := looked(func(ctx context.Context) error { _, err := Open(ctx, c, Options{}); return err })
	all := looked(func(ctx context.Context) error { _, err := Run(ctx, c, Options{Concurrency: 1}); return err })
	t.Logf("%d looks, %d of them while the experiment is opened", all, opened)
	for k := int64(1); k < 8; k++ {
		at := opened + (all-opened)*k/8
		out := filepath.Join(t.TempDir(), "x")
		ctx := &looks{Context: context.Background()}
		ctx.left.Store(at)
		if _, err := Run(ctx, c, Options{Out: out, Concurrency: 1}); !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted after %d looks: error %v", at, err)
		}
		if _, err := Resume(context.Background(), out, Options{}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(filesOf(t, want, c), filesOf(t, out, c)); d != "" {
			t.Errorf("resumed after %d looks: %s", at, d)
		}
	}
}

// sleeping is a config whose learner works for long inside some calls of Observe: it trains an expert whenever it has
// stored so many samples.
func sleeping(t *testing.T, samples, steps int) config.Config {
	t.Helper()
	c := one("cndpm")
	c.Memory, c.Data.TrainPerClass, c.Eval = samples, 3, config.EvalFinal
	c.Method["cndpm"]["log_alpha"], c.Method["cndpm"]["sleep_vae_steps"] = 1e6, steps-2 // every sample is stored
	return c
}

// Long work inside Observe tells how far it is, is stopped by the context and saved in its middle, also by the clock,
// and the run goes on to the same bits.
func TestLongObserve(t *testing.T) {
	t.Parallel()
	c := sleeping(t, 30, 7)
	want := filepath.Join(t.TempDir(), "whole")
	mustRun(t, c, Options{Out: want})
	for _, at := range []int{6, 7, 30} { // in, at the end of and between works of 7 steps
		out := filepath.Join(t.TempDir(), "x")
		ctx, cancel := context.WithCancel(context.Background())
		told := 0
		results, err := Run(ctx, c, Options{Out: out, Events: func(Job) Events {
			return Events{Working: func(done, total int) {
				if told++; told == at {
					cancel()
				}
			}}
		}})
		if !errors.Is(err, context.Canceled) || len(results) != 1 || results[0].Outcome.State != result.Interrupted {
			t.Fatalf("stopped after %d steps of long work: %v, %v", at, results, err)
		}
		if _, err := Resume(context.Background(), out, Options{}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(filesOf(t, want, c), filesOf(t, out, c)); d != "" {
			t.Errorf("stopped after %d steps of long work: %s", at, d)
		}
	}
}

// A checkpoint that is due in the middle of long work is made there: the learner pauses and goes on.
func TestLongObserveIsSavedByTheClock(t *testing.T) {
	t.Parallel()
	c := sleeping(t, 75, 100)
	out := filepath.Join(t.TempDir(), "x")
	worked, saves := 0, 0
	x := mustOpen(t, c, Options{Out: out})
	spec, err := x.spec(x.jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	spec.Folder, spec.Workers, spec.Concurrent, spec.SaveEvery = out, 1, 1, 10*time.Millisecond
	spec.Events = Events{Checkpointed: func(string) { saves++ }, Working: func(int, int) { worked++ }}
	got, err := train.Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if worked != 3*100 || saves < 10 { // beside the one at the start and the five at the ends of tasks
		t.Errorf("%d checkpoints in %d steps of long work", saves, worked)
	}
	want := mustRun(t, c, Options{})[0]
	if d, same := result.Same(Schema(), want, got); !same {
		t.Error(d)
	}
}

// reshaped is a stream with one test set for all tasks.
type reshaped struct {
	build.Stream
	common bool
}

func (r reshaped) Info() ocl.StreamInfo {
	info := r.Stream.Info()
	info.CommonTest = r.common
	return info
}

// A stream with one test set for all tasks fills one column; forgetting is that of the set, and transfer is undefined.
func TestCommonTestSet(t *testing.T) {
	t.Parallel()
	for _, eval := range []string{config.EvalSeen, config.EvalAll, config.EvalFinal} {
		c := one("er")
		c.Eval, c.EvalEvery, c.Classifiers = eval, 7, []string{"head", "ncm"}
		o := Options{Out: filepath.Join(t.TempDir(), "x"), KeepCheckpoint: true}
		o.hooks.stream = func(v build.Stream) build.Stream { return reshaped{v, true} }
		r := mustRun(t, c, o)[0]
		last := 4
		for i, row := range r.Accuracy {
			if len(row) != 1 || (row[0] != nil) != (eval != config.EvalFinal || i == last) {
				t.Errorf("%s: row %d is %v", eval, i, row)
			}
		}
		if m := r.Metrics; !r.Stream.CommonTest || m.AverageAccuracy == nil || *m.AverageAccuracy != *r.Accuracy[last][0] ||
			m.FWT != nil || m.BWTPlus != nil {
			t.Errorf("%s: metrics %+v", eval, m)
		}
		if (r.Metrics.AverageForgetting != nil) != (eval != config.EvalFinal) {
			t.Errorf("%s: forgetting %v", eval, r.Metrics.AverageForgetting)
		}
		if n := len(r.Classifiers["ncm"].Accuracy[last]); n != 1 || len(r.Evaluations[0].Accuracy) != 1 {
			t.Errorf("%s: %d test sets of ncm, evaluations %+v", eval, n, r.Evaluations[0])
		}
		if again, err := result.Read(filepath.Join(o.Out, jobFolder(t, o.Out), ResultFile)); err != nil {
			t.Error(err)
		} else if d, same := result.Same(Schema(), r, again); !same {
			t.Error(d)
		}
	}
}

// Order, initialisation and memory vary by their own seeds, and each by its own alone.
func TestSeedsVaryApart(t *testing.T) {
	t.Parallel()
	seven := uint64(7)
	type parts struct{ classes, initial, accuracy string }
	look := func(change func(*config.Config)) (p parts) {
		c := one("er")
		change(&c)
		o := Options{}
		var net *nn.Network
		o.hooks.learner = func(l ocl.Learner, n *nn.Network) ocl.Learner {
			net, p.initial = n, fmt.Sprint(n.Params()[:9])
			return l
		}
		p.classes = fmt.Sprint(mustRun(t, c, o)[0].Stream.Tasks)
		p.accuracy = fmt.Sprint(net.Params()[:9])
		return p
	}
	base := look(func(*config.Config) {})
	for name, tt := range map[string]struct {
		change           func(*config.Config)
		classes, initial bool // differ
	}{
		"seed":         {func(c *config.Config) { c.Seed = 7 }, true, true},
		"seeds.order":  {func(c *config.Config) { c.Seeds.Order = &seven }, true, false},
		"seeds.init":   {func(c *config.Config) { c.Seeds.Init = &seven }, false, true},
		"seeds.memory": {func(c *config.Config) { c.Seeds.Memory = &seven }, false, false},
	} {
		got := look(tt.change)
		if (got.classes != base.classes) != tt.classes || (got.initial != base.initial) != tt.initial ||
			got.accuracy == base.accuracy {
			t.Errorf("%s: other classes %v, other initial parameters %v, other end %v", name, got.classes != base.classes,
				got.initial != base.initial, got.accuracy != base.accuracy)
		}
	}
	all := look(func(c *config.Config) {
		c.Seed = 3
		c.Seeds = config.Seeds{Order: &seven, Init: &seven, Memory: &seven}
	})
	if whole := look(func(c *config.Config) { c.Seed = 7 }); all != whole {
		t.Error("the three seeds together are not the seed")
	}
}

// TestWrongEnvironment: an experiment is refused where the environment names an engine that there is not.
func TestWrongEnvironment(t *testing.T) {
	for variable, want := range map[string]string{
		"OCL_KERNEL=avx513": `experiment: kernel: OCL_KERNEL: this machine cannot run "avx513". Use one of `,
		"OCL_CONV=fourier":  `experiment: nn: OCL_CONV: "fourier" is unknown. Use direct, winograd or table`,
	} {
		c := child(t.TempDir(), "open")
		c.Env = append(c.Env, "OCL_KERNEL=", "OCL_CONV=", variable)
		if out, err := c.CombinedOutput(); err == nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%s: %v, %q, want %q", variable, err, out, want)
		}
	}
}

// Two engines in one process give what each gives by itself; the config of a run repeats it, whatever the machine would
// choose.
func TestEngineIsPartOfTheConfig(t *testing.T) {
	t.Setenv("OCL_KERNEL", "")
	t.Setenv("OCL_CONV", "")
	c := one("er")
	c.Network = config.Network{Name: build.ResNet18, Width: 2, Hidden: []int{}}
	c.Data.Size, c.Data.TrainPerClass, c.Data.TestPerClass, c.Stream.Tasks = 25, 1, 1, 2
	run := func(change func(*config.Config)) *result.Result {
		c := c
		change(&c)
		return mustRun(t, c, Options{})[0]
	}
	best := run(func(*config.Config) {})
	plain := run(func(c *config.Config) { c.Engine = config.Engine{Kernel: "generic", Convolution: "direct"} })
	if plain.Provenance.Kernel != "generic" || plain.Provenance.Convolution != "direct" ||
		plain.Config.Engine != (config.Engine{Kernel: "generic", Convolution: "direct"}) {
		t.Errorf("provenance %+v, engine %+v", plain.Provenance, plain.Config.Engine)
	}
	for _, r := range []*result.Result{best, plain} {
		again := mustRun(t, r.Config, Options{})[0]
		if d, same := result.Same(Schema(), r, again); !same {
			t.Errorf("%s: the run's own config makes another run: %s", r.Provenance.Kernel, d)
		}
	}
	t.Setenv("OCL_KERNEL", "generic")
	t.Setenv("OCL_CONV", "direct")
	if d, same := result.Same(Schema(), plain, run(func(*config.Config) {})); !same {
		t.Errorf("the environment makes another run than the config: %s", d)
	}
	x := mustOpen(t, best.Config, Options{})
	if best.Provenance.Kernel != "generic" && !slices.ContainsFunc(x.Notes(),
		func(s string) bool { return strings.Contains(s, "OCL_KERNEL=generic overrides engine.kernel") }) {
		t.Errorf("notes %q", x.Notes())
	}
	t.Setenv("OCL_KERNEL", "")
	for _, name := range []string{"avx512", "avx2"} {
		if (nn.Engine{Kernel: name}).Check() == nil {
			continue
		}
		c.Engine.Kernel = name
		if _, err := Open(t.Context(), c, Options{}); err == nil ||
			!strings.Contains(err.Error(), "this machine cannot run the "+name+" kernels") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// events.jsonl can be read while the run goes on, and has all that was measured.
func TestEventsWhileRunning(t *testing.T) {
	t.Parallel()
	c := one("er")
	c.EvalEvery = 5
	out := filepath.Join(t.TempDir(), "x")
	path := filepath.Join(out, jobsOf(t, c)[0].Folder, EventsFile)
	read := func() (events []result.Event) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for e, err := range result.Events(f) {
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, e)
		}
		return events
	}
	var accuracies [][]*float64
	r := mustRun(t, c, Options{Out: out, Events: func(Job) Events {
		return Events{Evaluated: func(e Evaluated) {
			accuracies = append(accuracies, e.Accuracy)
			got := read()
			if last := got[len(got)-1]; last.Event != result.EventEvaluation || last.Step != e.Step || *last.Task != e.Task ||
				last.Between != e.MidTask || !cmp.Equal(last.Accuracy, e.Accuracy) {
				t.Errorf("the last event is %+v, want that of %+v", last, e)
			}
		}}
	}})[0]
	counts, steps := map[string]int{}, 0
	for _, e := range read() {
		counts[e.Event]++
		if e.Event == result.EventStep {
			if steps++; e.Step != steps || e.Loss == nil || e.RunningAccuracy == nil {
				t.Errorf("event %+v, want step %d", e, steps)
			}
		}
	}
	if d := cmp.Diff(map[string]int{"run": 1, "task": 5, "step": 60, "evaluation": 5 + 12}, counts); d != "" ||
		len(accuracies) != 17 {
		t.Error(d)
	}
	first := read()[0]
	if first.Key != r.Key || first.DataDigest != r.Provenance.DataDigest || first.Kernel != r.Provenance.Kernel {
		t.Errorf("the first event is %+v", first)
	}
	stream := r.Stream
	stream.ClassNames, stream.Notes = nil, nil
	if d := cmp.Diff(&stream, first.Stream); d != "" {
		t.Errorf("the stream of the first event is not that of the result: %s", d)
	}
	images := 0
	for _, e := range read() {
		for j, a := range e.Accuracy {
			if a != nil {
				images += stream.Tasks[j].Test
			}
		}
	}
	p := first.Plan // nothing is prepared here
	if done := float64(steps)*float64(p.StepFLOPs) + float64(images)*float64(p.ImageFLOPs); first.Plan.Steps != steps ||
		!(math.Abs(done/first.Plan.FLOPs-1) <= 1e-12) {
		t.Errorf("at the end of the run %v of %v FLOPs and %d of %d steps are done", done, first.Plan.FLOPs, steps,
			first.Plan.Steps)
	}
}
