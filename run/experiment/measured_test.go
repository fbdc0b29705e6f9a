package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/config"
	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/run/result"
	"ocl/run/train"
)

// measuring switches on all that is measured beside the evaluations.
func measuring(c config.Config) config.Config {
	c.EvalOnline, c.EvalAhead, c.EvalProbe = true, 14, 3
	return c
}

// TestMeasuringChangesNoBit: what is predicted before it is learned, and a probe, change no bit of the training.
func TestMeasuringChangesNoBit(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"er", "icarl", "agem", "slda", "ncm", "ewc++"} {
		c := one(name)
		plain := filepath.Join(t.TempDir(), "plain")
		want := mustRun(t, c, Options{Out: plain, KeepCheckpoint: true})[0]
		out := filepath.Join(t.TempDir(), "x")
		got := mustRun(t, measuring(c), Options{Out: out, KeepCheckpoint: true})[0]
		if d := sameLearner(t, filepath.Join(plain, jobFolder(t, plain)), filepath.Join(out, jobFolder(t, out))); d != "" {
			t.Errorf("%s: the learner is another one: %s", name, d)
		}
		for key, v := range map[string]*float64{"online": got.Metrics.OnlineAccuracy, "ahead": got.Metrics.NearFutureAccuracy,
			"probed": got.Metrics.ProbedAccuracy} {
			if v == nil {
				t.Errorf("%s: no %s accuracy", name, key)
			}
		}
		if want.Incoming != nil || want.Probe != nil {
			t.Errorf("%s: measured what nobody asked for", name)
		}
		// 100 classes, 3 of 6 images each, tested by all 200
		if p := got.Probe; p == nil || p.Trained != 300 || p.Samples != 200 {
			t.Errorf("%s: probe %+v", name, p)
		}
		got.Incoming, got.Probe, got.Key, got.Config = nil, nil, want.Key, want.Config
		got.Metrics.OnlineAccuracy, got.Metrics.NearFutureAccuracy, got.Metrics.ProbedAccuracy = nil, nil, nil
		if d, same := result.Same(Schema(), want, got); !same {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestMeasuringResumes between any two steps, and in the middle of the probe.
func TestMeasuringResumes(t *testing.T) {
	t.Parallel()
	c := measuring(one("er"))
	c.Data.TrainPerClass, c.EvalAhead, c.EvalProbe, c.EvalEvery = 2, 6, 1, 3
	want := filepath.Join(t.TempDir(), "whole")
	mustRun(t, c, Options{Out: want})
	for at := 1; at < 20; at++ {
		out := filepath.Join(t.TempDir(), "x")
		ctx, o := stopAfter(at, Options{Out: out})
		if _, err := Run(ctx, c, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted after %d steps: error %v", at, err)
		}
		if _, err := Resume(t.Context(), out, Options{}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(filesOf(t, want, c), filesOf(t, out, c)); d != "" {
			t.Errorf("resumed after %d steps: %s", at, d)
		}
	}
	counted := &looks{Context: context.Background()}
	counted.left.Store(1 << 40)
	if _, err := Run(counted, c, Options{Concurrency: 1}); err != nil {
		t.Fatal(err)
	}
	all := int64(1<<40) - counted.left.Load()
	for _, left := range []int64{9, 20, 40} { // looks before the end: the last are those of the probe
		out := filepath.Join(t.TempDir(), "x")
		ctx := &looks{Context: context.Background()}
		ctx.left.Store(all - left)
		if _, err := Run(ctx, c, Options{Out: out, Concurrency: 1}); !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted %d looks before the end: error %v", left, err)
		}
		if _, err := Resume(t.Context(), out, Options{}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(filesOf(t, want, c), filesOf(t, out, c)); d != "" {
			t.Errorf("resumed %d looks before the end: %s", left, d)
		}
	}
}

// A learner that pauses inside a batch gets the batch again, which is predicted once.
func TestMeasuringWhereLearnersPause(t *testing.T) {
	t.Parallel()
	c := sleeping(t, 30, 7)
	c.EvalOnline = true
	want := filepath.Join(t.TempDir(), "whole")
	mustRun(t, c, Options{Out: want})
	out, told := filepath.Join(t.TempDir(), "x"), 0
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Run(ctx, c, Options{Out: out, Events: func(Job) Events {
		return Events{Working: func(int, int) {
			if told++; told == 9 {
				cancel()
			}
		}}
	}}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := Resume(t.Context(), out, Options{}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(filesOf(t, want, c), filesOf(t, out, c)); d != "" {
		t.Error(d)
	}
}

// ticking is a learner that predicts how many batches it has learned, among so many classes.
type ticking struct {
	ocl.Learner
	batches, classes int
}

func (l *ticking) Observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	l.batches++
	return l.Learner.Observe(ctx, b)
}

func (l *ticking) Predict(dst []ocl.Label, _ *tensor.Tensor) error {
	for i := range dst {
		dst[i] = ocl.Label(l.batches % l.classes)
	}
	return nil
}

// TestIncomingByHand: of a learner whose answers are known, the counts are those of a walk over the stream.
func TestIncomingByHand(t *testing.T) {
	t.Parallel()
	c := measuring(one("finetune"))
	c.EvalProbe = 0
	x := mustOpen(t, c, Options{})
	spec, err := x.spec(x.jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	st := spec.Stream
	info := st.Info()
	type place struct {
		labels []ocl.Label
		task   int
	}
	var stream []place
	for task := range info.Tasks {
		for at := range st.Batches(task) {
			b, err := st.Peek(task, at)
			if err != nil {
				t.Fatal(err)
			}
			stream = append(stream, place{append([]ocl.Label(nil), b.Y...), task})
		}
	}
	want := []result.Incoming{{Right: make([]int, 5), Samples: make([]int, 5)},
		{Ahead: 14, Right: make([]int, 5), Samples: make([]int, 5)}}
	for i := range want {
		for n := 1; n+want[i].Ahead < len(stream); n++ {
			at := stream[n+want[i].Ahead]
			for _, y := range at.labels {
				want[i].Samples[at.task]++
				if int(y) == n%info.Classes {
					want[i].Right[at.task]++
				}
			}
		}
	}
	spec.Workers = 1
	spec.WrapLearner = func(l ocl.Learner, _ *nn.Network) ocl.Learner {
		return &ticking{Learner: l, classes: info.Classes}
	}
	got, err := train.Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got.Incoming); d != "" || want[1].Right[4] == 0 {
		t.Error(d, want)
	}
}

// TestCumulative: after the last task, the tasks up to the last one are all tasks, whose accuracy is known; after the
// first one, the first is.
func TestCumulative(t *testing.T) {
	t.Parallel()
	for _, classifier := range []string{config.ClassifierHead, config.ClassifierNCM} {
		c := one("er")
		c.Classifiers, c.Optimizer.LR = []string{classifier}, 0.02
		got := mustRun(t, c, Options{})[0]
		if len(got.Cumulative) != 5 || got.Metrics.CumulativeForgetting == nil || got.Metrics.Retention == nil {
			t.Fatalf("%s: cumulative %v, metrics %+v", classifier, got.Cumulative, got.Metrics)
		}
		for k, v := range got.Cumulative[4] {
			if k == 4 {
				if d := *v - *got.Metrics.AverageAccuracy; math.Abs(d) > 1e-12 { // its classes are all that there are
					t.Errorf("%s: %v on all tasks, but the average accuracy is %v", classifier, *v, *got.Metrics.AverageAccuracy)
				}
				continue
			}
			of := 0.0
			for j := range k + 1 {
				of += *got.Accuracy[4][j] / float64(k+1)
			}
			if *v < of-1e-12 { // fewer classes to choose from
				t.Errorf("%s: %v on the tasks up to %d, less than %v among all classes", classifier, *v, k, of)
			}
		}
	}
	c := one("er")
	c.Eval = config.EvalFinal
	if got := mustRun(t, c, Options{})[0]; got.Cumulative != nil || got.Metrics.CumulativeForgetting != nil {
		t.Errorf("only the end was evaluated: %v", got.Cumulative)
	}
}

// TestRetained: in a blurry stream, the accuracy of a task is that of its classes, by how many images of each came.
func TestRetained(t *testing.T) {
	t.Parallel()
	c := one("er")
	c.Stream.Kind = config.KindIBlurry
	x := mustOpen(t, c, Options{})
	spec, err := x.spec(x.jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	got := mustRun(t, c, Options{})[0]
	if len(got.Retained) != 5 {
		t.Fatal(got.Retained)
	}
	mean := 0.0
	for task, v := range got.Retained {
		want, n := 0.0, 0
		for at := range spec.Stream.Batches(task) {
			b, err := spec.Stream.Peek(task, at)
			if err != nil {
				t.Fatal(err)
			}
			for _, y := range b.Y {
				want += *got.PerClass[4][y]
				n++
			}
		}
		if want /= float64(n); math.Abs(*v-want) > 1e-12 {
			t.Errorf("task %d: %v, want %v", task, *v, want)
		}
		if task < 4 {
			mean += *v / 4
		}
	}
	if m := got.Metrics.Retention; m == nil || math.Abs(*m-mean) > 1e-12 {
		t.Errorf("retention %v, want %v", m, mean)
	}
}

// TestMeasuringIsRefused where a method cannot be measured so, all faults at once.
func TestMeasuringIsRefused(t *testing.T) {
	t.Parallel()
	c := measuring(one("er"))
	c.Methods = []string{"gdumb", "offline", "cndpm"}
	err := Schema().Validate(c)
	for _, key := range []string{"eval_online", "eval_ahead"} {
		for _, want := range []string{
			key + ": gdumb trains a network from scratch before each prediction, so it cannot predict at every step. Remove ",
			key + ": offline learns all images at once, several times, so no image is new to it. Remove " + key,
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
	want := "eval_probe: a probe needs the features of one network, but cndpm has several. Remove eval_probe"
	if err == nil || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
