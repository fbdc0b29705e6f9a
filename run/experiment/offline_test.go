package experiment

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/config"
	"ocl/run/result"
)

// offline is tiny with Offline beside ER, for few epochs.
func offline() config.Config {
	c := tiny()
	c.Methods, c.Runs = []string{"er", "offline"}, 1
	c.Method = map[string]map[string]any{"offline": {"epochs": 3, "batch": 32}}
	return c
}

// Offline stands beside another method in one experiment: the same stream, its accuracies in the last row alone, and
// what needs a history absent; the plan knows its steps.
func TestOfflineBesideOthers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		eval, protocol string
		tasks, steps   int
	}{
		{config.EvalSeen, config.ProtocolStandard, 5, 57}, // 600 images in batches of 32, three times
		{config.EvalFinal, config.ProtocolStandard, 5, 57},
		{config.EvalAll, config.ProtocolSurvey, 3, 33}, // 360 images; the incomplete batch is dropped
	} {
		c := offline()
		c.Eval, c.Protocol = tt.eval, tt.protocol
		results := mustRun(t, c, Options{})
		er, off := results[0], results[1]
		if d := cmp.Diff(er.Stream, off.Stream); d != "" {
			t.Errorf("%s: the streams differ: %s", tt.eval, d)
		}
		for i, row := range off.Accuracy {
			for j, v := range row {
				if (v != nil) != (i == tt.tasks-1) {
					t.Errorf("%s: accuracy[%d][%d] is %v", tt.eval, i, j, v)
				}
			}
		}
		m := off.Metrics
		if m.AverageAccuracy == nil || m.AverageForgetting != nil || m.FWT != nil || m.LearningAccuracy != nil {
			t.Errorf("%s: metrics %+v", tt.eval, m)
		}
		if off.Outcome != (result.Outcome{State: result.Finished, Step: tt.steps}) || off.Memory != nil {
			t.Errorf("%s: outcome %+v, memory %v; want %d steps", tt.eval, off.Outcome, off.Memory, tt.steps)
		}
		p, tests := plansOf(t, c)[1], 40*tt.tasks
		if p.Steps != tt.steps || p.TestSamples != tests || p.FLOPsPerStep != 3*32*p.FLOPsPerImage {
			t.Errorf("%s: plan %+v, want %d steps of 32 samples and %d tests", tt.eval, p, tt.steps, tests)
		}
	}
}

// GDumb trains when it is evaluated, on the clock of preparing, and tells how far it is; what it predicts after the
// last task does not depend on the evaluations before. While it observes it has no running accuracy.
func TestGDumbTrainsWhenEvaluated(t *testing.T) {
	t.Parallel()
	var last []*float64
	for _, tt := range []struct {
		eval string
		want int // preparations
	}{{config.EvalSeen, 5}, {config.EvalFinal, 1}} {
		c := tiny()
		c.Methods, c.Runs, c.Eval = []string{"gdumb"}, 1, tt.eval
		c.Method = map[string]map[string]any{"gdumb": {"epochs": 4, "batch": 10}}
		steps, ends := 0, 0
		out := filepath.Join(t.TempDir(), "x")
		r := mustRun(t, c, Options{Out: out, Events: func(Job) Events {
			return Events{Working: func(done, total int) {
				if steps++; done == total {
					ends++
				}
			}}
		}})[0]
		if ends != tt.want || steps != 12*tt.want { // 3 batches of 30 samples in 4 epochs
			t.Errorf("%s: %d preparations of %d steps in all, want %d of 12", tt.eval, ends, steps, tt.want)
		}
		if !(r.Seconds.Prepare > 0) {
			t.Errorf("%s: seconds %+v", tt.eval, r.Seconds)
		}
		if last != nil && !reflect.DeepEqual(r.Accuracy[4], last) {
			t.Errorf("%s: another last row than with evaluations between", tt.eval)
		}
		last = r.Accuracy[4]
		if first := lines(filesOf(t, out, c)[2])[2]; first != `{"time":"","event":"step","step":1,"task":0,"loss":0}` {
			t.Errorf("the first step is told as %s", first)
		}
		plans := plansOf(t, c)
		trained := 0.0
		for _, v := range plans[0].PrepareFLOPs {
			trained += float64(v) / float64(3*plans[0].FLOPsPerImage)
		}
		if plans[0].FLOPsPerStep != 0 || trained != float64(120*tt.want) {
			t.Errorf("%s: planned %d operations a step and %v images trained, want 0 and 30 samples 4 times an evaluation",
				tt.eval, plans[0].FLOPsPerStep, trained)
		}
	}
}
