package tune

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"ocl"
	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/result"
)

// tiny is an experiment on small glyphs and a small perceptron: a trial has 12 steps.
func tiny(method string) config.Config {
	c := config.Default()
	c.Methods = []string{method}
	c.Data = config.Data{Name: "glyphs", Size: 8, TrainPerClass: 6, TestPerClass: 4}
	c.Stream.Tasks, c.Memory = 10, 30
	c.Network = config.Network{Name: "mlp", Width: 20, Hidden: []int{12}}
	return c
}

// outTo are options with the folder of a tuning.
func outTo(folder string) Options { return Options{Options: experiment.Options{Out: folder}} }

func gridOf(t *testing.T, text string) *Grid {
	t.Helper()
	g, err := ParseGrid("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &g
}

func mustTune(t *testing.T, c config.Config, s Spec, o Options) []*Record {
	t.Helper()
	u, err := Open(t.Context(), c, s, o)
	if err != nil {
		t.Fatal(err)
	}
	records, err := u.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// recordFiles are the records below a folder, by their names.
func recordFiles(t *testing.T, out string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	paths, err := filepath.Glob(filepath.Join(out, "*", RecordFile))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no records in %s: %v", out, err)
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(filepath.Dir(p))] = text
	}
	return files
}

// TestRecord: every point has its trials, the score is the mean over them, the best one is chosen, and the file is read
// back. Trials of a point have the same stream and other networks; the first one is the plain run of the protocol
// tuning.
func TestRecord(t *testing.T) {
	t.Parallel()
	out, c := t.TempDir(), tiny("er")
	r := mustTune(t, c, Spec{File: gridOf(t, "optimizer.lr: [0.001, 0.1]\nreplay.batch: [5, 10]"), Repeats: 2},
		outTo(out))[0]
	if len(r.Points) != 4 || r.Steps != 4*2*12 || r.GridSteps != r.Steps {
		t.Fatalf("%d points and %d steps (of %d), want 4 and 96", len(r.Points), r.Steps, r.GridSteps)
	}
	if r.Chosen == nil || r.Points[*r.Chosen].Values[0] != "0.1" {
		t.Errorf("chosen is %v of %+v, want a rate of 0.1", r.Chosen, r.Points)
	}
	for _, text := range recordFiles(t, out) {
		again, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if written, err := again.Encode(); err != nil || !bytes.Equal(written, text) {
			t.Errorf("the record is written again as\n%s\nwant\n%s (%v)", written, text, err)
		}
	}
	c.Protocol, c.Eval, c.Optimizer.LR, c.Replay.Batch = config.ProtocolTuning, config.EvalFinal, 0.1, 5
	plain, err := experiment.Run(t.Context(), c, experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, second := r.Points[2].Trials[0], r.Points[2].Trials[1]
	if plain[0].Key != first.Key || *plain[0].Metrics.AverageAccuracy != *first.Accuracy {
		t.Errorf("the first trial has the key %s and accuracy %v, and the plain run %s and %v", first.Key, *first.Accuracy,
			plain[0].Key, *plain[0].Metrics.AverageAccuracy)
	}
	seed := c.Seed + apart
	c.Seeds.Init = &seed
	plain, err = experiment.Run(t.Context(), c, experiment.Options{})
	if err != nil || plain[0].Key != second.Key {
		t.Errorf("the second trial is not the run with seeds.init %d: %v", seed, err)
	}
}

// TestSameBytesAfterInterruption: a tuning that is stopped again and again, and one that two processes' worth of calls
// share, leaves the same record; trials that have ended are not made again.
func TestSameBytesAfterInterruption(t *testing.T) {
	t.Parallel()
	spec := Spec{File: gridOf(t, "optimizer.lr: [0.001, 0.01, 0.1]"), Repeats: 2}
	whole, parts := t.TempDir(), t.TempDir()
	mustTune(t, tiny("er"), spec, outTo(whole))
	stops := 0
	for done := false; !done; {
		ctx, cancel := context.WithCancel(t.Context())
		var steps atomic.Int64
		o := Options{Options: experiment.Options{Out: parts, Concurrency: 2}, Events: func(Running) experiment.Events {
			return experiment.Events{StepEnd: func(int, ocl.StepStats) {
				if steps.Add(1) == 10 {
					cancel()
				}
			}}
		}}
		u, err := Open(ctx, tiny("er"), spec, o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = u.Run(ctx)
		cancel()
		switch {
		case err == nil:
			done = true
		case !errors.Is(err, context.Canceled):
			t.Fatal(err)
		}
		if stops++; stops > 40 {
			t.Fatal("the tuning does not come to its end")
		}
	}
	if stops < 4 {
		t.Errorf("the tuning of 72 steps was stopped %d times, want more", stops-1)
	}
	want, got := recordFiles(t, whole), recordFiles(t, parts)
	for name, text := range want {
		if !bytes.Equal(got[name], text) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got[name], text)
		}
	}

	// Once more: the record is kept, and without it all trials are.
	steps := 0
	o := Options{Options: experiment.Options{Out: whole, Concurrency: 1}, Events: func(Running) experiment.Events {
		return experiment.Events{StepEnd: func(int, ocl.StepStats) { steps++ }}
	}}
	mustTune(t, tiny("er"), spec, o)
	for name := range want {
		if err := os.Remove(filepath.Join(whole, name, RecordFile)); err != nil {
			t.Fatal(err)
		}
	}
	mustTune(t, tiny("er"), spec, o)
	if again := recordFiles(t, whole); steps != 0 ||
		!slices.Equal(slices.Concat(mapValues(again)...), slices.Concat(mapValues(want)...)) {
		t.Errorf("%d steps were made again, want none and the same record", steps)
	}
}

func mapValues(m map[string][]byte) (all [][]byte) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// TestSharedTrials: a larger grid in the same folder makes only the new points.
func TestSharedTrials(t *testing.T) {
	t.Parallel()
	out, steps := t.TempDir(), 0
	o := Options{Options: experiment.Options{Out: out, Concurrency: 1}, Events: func(Running) experiment.Events {
		return experiment.Events{StepEnd: func(int, ocl.StepStats) { steps++ }}
	}}
	mustTune(t, tiny("er"), Spec{File: gridOf(t, "optimizer.lr: [0.01, 0.1]"), Repeats: 1}, o)
	steps = 0
	mustTune(t, tiny("er"), Spec{File: gridOf(t, "optimizer.lr: [0.01, 0.03, 0.1]"), Repeats: 1}, o)
	if steps != 12 {
		t.Errorf("%d steps, want the 12 of the new point", steps)
	}
	if n := len(recordFiles(t, out)); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
}

// TestDivergence: a diverged point is recorded and never chosen; a tuning whose points all diverged has no choice.
func TestDivergence(t *testing.T) {
	t.Parallel()
	r := mustTune(t, tiny("er"), Spec{File: gridOf(t, "optimizer.lr: [1e38, 0.001]"), Repeats: 1}, outTo(t.TempDir()))[0]
	if p := r.Points[0]; p.Outcome != result.Diverged || p.Score != nil || p.Trials[0].Outcome != result.Diverged {
		t.Errorf("the first point is %+v, want a diverged one", p)
	}
	if r.Chosen == nil || *r.Chosen != 1 {
		t.Errorf("chosen is %v, want the second point", r.Chosen)
	}
	r = mustTune(t, tiny("er"), Spec{File: gridOf(t, "optimizer.lr: [1e38]"), Repeats: 1}, outTo(t.TempDir()))[0]
	if r.Chosen != nil || r.Best() != nil {
		t.Errorf("chosen is %v of points that all diverged", *r.Chosen)
	}
}

// TestTies: of equal scores the first is chosen, and one that diverged is passed over.
func TestTies(t *testing.T) {
	point := func(score float64) Point { return Point{Outcome: result.Finished, Score: &score} }
	stopped := point(0.9)
	stopped.Outcome = Stopped
	r := Record{Points: []Point{{Outcome: result.Diverged}, stopped, point(0.2), point(0.5), point(0.5)}}
	if r.choose(); r.Chosen == nil || *r.Chosen != 3 {
		t.Errorf("chosen is %v, want 3", r.Chosen)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, tt := range []struct {
		c    config.Config
		s    Spec
		want string
	}{
		{tiny("offline"), Spec{}, "the survey's table has no grid for offline. Use --grid authors"},
		{tiny("er"), Spec{Grid: "mine"}, "there is no grid"},
		{tiny("er"), Spec{Search: Search{Name: "magic"}}, "there is no search magic"},
		{tiny("er"), Spec{Search: Search{Name: config.SearchRandom}}, "a random search of 0 points is not possible"},
		{tiny("er"), Spec{Search: Search{Points: 3}}, "only the search random takes a number of points"},
		{tiny("er"), Spec{Repeats: -1}, "repetitions are out of range"},
		{tiny("er"), Spec{File: gridOf(t, "method.mir.candidates: [50]")}, "none of the methods reads method.mir.candidates"},
		{tiny("mir"), Spec{File: gridOf(t, "method.mir.candidates: [50, 5]")}, "with candidates 5: "},
	} {
		_, err := Open(t.Context(), tt.c, tt.s, Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, ErrGrid) {
			t.Errorf("%s: %v, want an error of the grid with %q", tt.c.Methods[0], err, tt.want)
		}
	}
}

// TestUsualRepeats: three, but one where the authors' files have one.
func TestUsualRepeats(t *testing.T) {
	shifted := runOf("er", "mini-imagenet")
	shifted.Stream.Shift.Kind = "noise"
	for _, tt := range []struct {
		c    config.Config
		want int
	}{{runOf("er", "cifar100"), 3}, {runOf("er", "core50"), 1}, {runOf("offline", "cifar100"), 1}, {shifted, 1}} {
		if got := usualRepeats(tt.c); got != tt.want {
			t.Errorf("%s on %s: %d, want %d", tt.c.Methods[0], tt.c.Data.Name, got, tt.want)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestArchive: trials that lie elsewhere are taken over, and the record is the same.
func TestArchive(t *testing.T) {
	t.Parallel()
	out, c, spec := t.TempDir(), tiny("er"), Spec{File: gridOf(t, "optimizer.lr: [0.001, 0.1]"), Repeats: 1}
	want := mustTune(t, c, spec, outTo(out))[0]
	archive, err := experiment.OpenArchive(t.Context(), out)
	if err != nil || len(archive.Results) != 2 {
		t.Fatalf("%d results, %v", len(archive.Results), err)
	}
	began := 0
	o := Options{Options: experiment.Options{Out: t.TempDir(), Concurrency: 1}, Archive: archive,
		Events: func(Running) experiment.Events {
			return experiment.Events{StepEnd: func(int, ocl.StepStats) { began++ }}
		}}
	u, err := Open(t.Context(), c, spec, o)
	if err != nil {
		t.Fatal(err)
	}
	if p := u.Previews()[0]; p.Ended != 2 || p.Left != 0 {
		t.Errorf("%d trials are known and %g is left, want 2 and nothing", p.Ended, p.Left)
	}
	got := mustTune(t, c, spec, o)[0]
	a, _ := want.Encode()
	b, _ := got.Encode()
	if !bytes.Equal(a, b) || began > 0 {
		t.Errorf("%d steps were made; the record is\n%s\nwant\n%s", began, b, a)
	}
}

// TestBy: a point is chosen by any metric, with its direction; trials measure what it needs, and the record says so.
func TestBy(t *testing.T) {
	t.Parallel()
	grid := gridOf(t, "optimizer.lr: [0.001, 0.02, 0.1]")
	c := tiny("er")
	c.EvalEvery, c.EvalOnline = 3, true
	for _, by := range []string{"average_accuracy", "average_forgetting", "min_accuracy", "online_accuracy"} {
		out := t.TempDir()
		r := mustTune(t, c, Spec{File: grid, Repeats: 1, By: by}, outTo(out))[0]
		m, err := scoredBy(by)
		if err != nil || (r.By == "") != (by == config.MetricDefault) || r.By != "" && r.By != by {
			t.Fatalf("%s: the record is by %q: %v", by, r.By, err)
		}
		best := 0
		for i, p := range r.Points {
			results, err := filepath.Glob(filepath.Join(out, Trials, "*", experiment.ResultFile))
			if err != nil || len(results) != 3 {
				t.Fatal(results, err)
			}
			for _, path := range results {
				res, err := result.Read(path)
				if err != nil {
					t.Fatal(err)
				}
				if res.Key == p.Trials[0].Key && *m.Of(res.Metrics) != *p.Score {
					t.Errorf("%s: point %d has the score %v, and its trial %v", by, i, *p.Score, *m.Of(res.Metrics))
				}
				if (res.Evaluations == nil) != (by == config.MetricDefault) {
					t.Errorf("%s: %d evaluations in the middle of tasks", by, len(res.Evaluations))
				}
			}
			if d := *p.Score - *r.Points[best].Score; m.Lower && d < 0 || !m.Lower && d > 0 {
				best = i
			}
		}
		if r.Chosen == nil || *r.Chosen != best {
			t.Errorf("%s: chosen is %v, want %d of %+v", by, r.Chosen, best, r.Points)
		}
		for _, text := range recordFiles(t, out) {
			again, err := Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", by, err)
			}
			if written, err := again.Encode(); err != nil || !bytes.Equal(written, text) {
				t.Errorf("%s: the record is written again as\n%s\nwant\n%s (%v)", by, written, text, err)
			}
		}
	}
	if _, err := Open(t.Context(), c, Spec{File: grid, By: "speed"}, outTo(t.TempDir())); err == nil ||
		!strings.Contains(err.Error(), "there is no metric speed. Use one of average_accuracy, ") {
		t.Errorf("an unknown metric: %v", err)
	}
	d, err := Open(t.Context(), c, Spec{File: grid, Repeats: 1, By: "seen_auc"}, outTo(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "it has no seen_auc, by which it is to be scored") {
		t.Errorf("a metric that the stream does not have: %v", err)
	}
}
