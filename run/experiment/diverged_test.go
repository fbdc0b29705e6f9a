package experiment

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"ocl"
	"ocl/config"
	"ocl/learn/learner"
	"ocl/nn"
	"ocl/run/build"
	"ocl/run/result"
)

// lastStep is an experiment of one step, so that the first step is the last: its loss is that of a fresh network and
// finite, and nobody computes another one. The learning rate is beyond what float32 bears.
func lastStep(method, trick string) config.Config {
	c := one(method)
	c.Data = config.Data{Name: "glyphs", Size: 8, TrainPerClass: 1, TestPerClass: 2}
	c.Stream.Tasks, c.Stream.Batch, c.Memory, c.Replay.Batch = 1, 100, 10, 10 // the glyphs are of 100 classes
	c.Tricks = []string{trick}
	c.Optimizer.LR = 1e38
	return c
}

// TestLastStepDiverges: a network that the very last step broke is not evaluated as if it were fine, whatever predicts
// by it.
func TestLastStepDiverges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method, trick string
		change        func(*config.Config)
		says          string
	}{
		{"finetune", "none", nil, "a logit of "},
		{"er", "ncm", nil, "a logit of "},
		{"er", "kdc+lb", func(c *config.Config) { c.Replay.Augment = true }, "a logit of "},
		{"ewc++", "none", nil, "a logit of "},      // whose EndTask holds on to what the step left
		{"icarl", "none", nil, "a class mean of "}, // before it predicts
		{"gdumb", "none", func(c *config.Config) { // the last step of its training
			if err := Schema().Set(c, "method.gdumb.epochs", "1"); err != nil {
				t.Fatal(err)
			}
		}, "a logit of "},
		{"finetune", "none", func(c *config.Config) { c.Optimizer.Name = "adam" }, "a logit of "},
		{"finetune", "none", func(c *config.Config) { c.EvalEvery = 1 }, "a logit of "},
		{"finetune", "none", func(c *config.Config) {
			c.Network = config.Network{Name: build.ResNet18,
				Width: 2}
			c.Data.Size = 32
		}, "a logit of "},
	} {
		c := lastStep(tt.method, tt.trick)
		if tt.change != nil {
			tt.change(&c)
		}
		out := filepath.Join(t.TempDir(), "x")
		for range 2 { // and the result is kept
			r := mustRun(t, c, Options{Out: out})[0]
			if r.Outcome.State != result.Diverged || r.Outcome.Step != 1 ||
				!strings.Contains(r.Outcome.Reason, "task 1, step 1: ") ||
				!strings.Contains(r.Outcome.Reason, tt.says) || !strings.Contains(r.Outcome.Reason, "Use a smaller learning rate") {
				t.Errorf("%s with %s: outcome %+v, want diverged in step 1 for %q", tt.method, tt.trick, r.Outcome, tt.says)
			}
			if r.Accuracy[0][0] != nil || len(r.Evaluations) > 0 {
				t.Errorf("%s with %s: accuracies %v and %v of a broken network", tt.method, tt.trick, *r.Accuracy[0][0],
					r.Evaluations)
			}
		}
	}
}

// steep is a learner whose learning rate rises beyond all bounds before a certain step, or before the end of a certain
// task.
type steep struct {
	learner.Bounded
	step, end int // counted from 1; 0 is never
	steps     int
	ends      int
}

func (s *steep) Observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	if s.steps++; s.steps == s.step {
		s.Opt.SetLR(1e38)
	}
	return s.Bounded.Observe(ctx, b)
}

func (s *steep) EndTask(ctx context.Context) error {
	if s.ends++; s.ends == s.end {
		s.Opt.SetLR(1e38)
	}
	return s.Bounded.EndTask(ctx)
}

// TestLastStepOfManyDiverges: the last step of the last task, and the last step of the last review; what was measured
// before stays.
func TestLastStepOfManyDiverges(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*steep{"step": {step: 60}, "review": {end: 5}} {
		c := one("er")
		c.Tricks, c.Replay.Batch = []string{"rv"}, c.Memory // a review of one step
		if name == "step" {
			c.Tricks = []string{"ss"} // told of tasks, and reviews nothing
		}
		r := mustRun(t, c, Options{hooks: hooks{learner: func(l ocl.Learner, _ *nn.Network) ocl.Learner {
			s.Bounded = l.(learner.Bounded)
			return s
		}}})[0]
		if r.Outcome.State != result.Diverged || r.Outcome.Step != 60 ||
			!strings.Contains(r.Outcome.Reason, "task 5, step 60: ") ||
			!strings.Contains(r.Outcome.Reason, "a logit of ") {
			t.Errorf("%s: outcome %+v", name, r.Outcome)
		}
		if r.Accuracy[3][3] == nil || r.Accuracy[4][0] != nil {
			t.Errorf("%s: accuracies %v", name, r.Accuracy)
		}
	}
}
