package learner

import (
	"context"
	"fmt"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/nn"
	"ocl/tensor"
)

// Bounded is a [Replay] that is told where tasks begin and end, because its Classes, Teacher or Review need it.
type Bounded struct{ *Replay }

var (
	_ ocl.Learner        = Bounded{}
	_ ocl.TaskAware      = Bounded{}
	_ ocl.MemoryReporter = Bounded{}
	_ Open               = Bounded{}
)

// BeginTask implements [ocl.TaskAware].
func (b Bounded) BeginTask(t ocl.TaskInfo) error { return b.beginTask(t) }

// EndTask implements [ocl.TaskAware].
func (b Bounded) EndTask(ctx context.Context) error { return b.endTask(ctx) }

// bound names what of r needs the boundaries of tasks; "" is nothing.
func (r *Replay) bound() string {
	switch {
	case r.Review != nil:
		return "the Review of a Replay"
	case r.Teacher != nil:
		return "the Teacher of a Replay"
	case r.Classes != nil:
		return "the Classes of a Replay"
	}
	return r.owner
}

// checkBound refuses to observe where a part would silently do nothing.
func (r *Replay) checkBound() error {
	if r.Review != nil && r.Memory == nil {
		return fmt.Errorf("learner: the Review of a Replay needs a memory, and there is none. Set Memory, or remove the Review")
	}
	if who := r.bound(); who != "" && !r.boundaries.told {
		return fmt.Errorf("learner: %s needs the boundaries of tasks, and no task has begun. "+
			"Wrap the Replay in learner.Bounded and call BeginTask and EndTask. A learner that contains a Replay must call both", who)
	}
	return nil
}

// beginTask tells the parts of r that use boundaries.
func (r *Replay) beginTask(t ocl.TaskInfo) error {
	if who := r.bound(); who != "" {
		if err := r.boundaries.begin(who, t); err != nil {
			return err
		}
	}
	if r.Classes != nil {
		r.Classes.begin(t.Classes)
	}
	return nil
}

// endTask reviews, then counts the task's classes as old, then lets the network be the teacher. After an error that wraps
// that of ctx it can be called again and goes on.
func (r *Replay) endTask(ctx context.Context) error {
	r.prepare()
	if r.Review != nil {
		if err := r.Review.run(ctx); err != nil {
			return err
		}
	}
	if r.Classes != nil {
		r.Classes.end()
	}
	if r.Teacher != nil {
		r.Teacher.copy(r.Net)
	}
	r.boundaries.within = false
	return nil
}

// boundaries is what a learner knows of the boundaries of tasks.
type boundaries struct {
	told   bool // a task has begun
	within bool // a task has begun since the learner was made or loaded, and has not ended
}

// begin refuses a task after one that was not ended: who is told of the begin alone would never review, and never have a teacher.
func (b *boundaries) begin(who string, t ocl.TaskInfo) error {
	if b.within {
		return fmt.Errorf("learner: %s needs the boundaries of tasks, and task %d begins before the previous task has ended. "+
			"Call EndTask after each task, also in a learner that contains another", who, t.Index+1)
	}
	b.told, b.within = true, true
	return nil
}

// Classes are those of the task and of the tasks before it, as criteria look at them. The zero value is before any task.
type Classes struct {
	old, current       []ocl.Label // rising
	oldCount, newCount int64       // |C_old| and |C_new|, a class counted once for every task it occurs in
}

func (c *Classes) begin(classes []ocl.Label) {
	c.current = append(c.current[:0], classes...)
	slices.Sort(c.current)
	c.newCount = int64(len(classes))
}

func (c *Classes) end() {
	c.old = append(c.old, c.current...)
	slices.Sort(c.old)
	c.old = slices.Compact(c.old)
	c.oldCount += c.newCount
}

// share is |C_new| / (|C_old| + |C_new|).
func (c *Classes) share() float64 { return float64(c.newCount) / float64(c.oldCount+c.newCount) }

// parts is what is known of tasks, of so many classes in all.
func (c *Classes) parts(classes int) checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.Int32List("old", &c.old),
		checkpoint.Int32List("current", &c.current),
		checkpoint.Values("counts", &c.oldCount, &c.newCount),
		checkpoint.Then(func() error { return checkRising(classes, c.old) }),
		checkpoint.Then(func() error { return checkRising(classes, c.current) }),
	}
}

// Teacher is the network as the last task left it (survey §trick_detail, KDC; §methods, LwF and iCaRL). The zero value is before
// the end of the first task: it teaches nothing.
type Teacher struct {
	// Training has its batch norm go by the images that it is shown, as the survey's authors leave it, and not by the running
	// statistics. Set it before the first call of the learner.
	Training bool

	net     *nn.Network     // nil before the end of the first task
	ws      *nn.Workspace   // beside the learner's
	targets []tensor.Tensor // its logits, by pass
}

// copy makes net the teacher.
func (t *Teacher) copy(net *nn.Network) {
	if t.net == nil {
		t.net = net.Clone()
	}
	t.net.CopyFrom(net)
}

// teach finds the teacher's logits for each of some batches of images, and keeps them. Without a teacher it does nothing.
func (t *Teacher) teach(batches []*tensor.Tensor) {
	if t.net == nil {
		return
	}
	for len(t.targets) < len(batches) {
		t.targets = append(t.targets, tensor.Tensor{})
	}
	for i, x := range batches {
		to := &t.targets[i]
		var logits *tensor.Tensor
		if t.Training {
			logits = t.net.Forward(t.ws, x, nn.Probe)
		} else {
			logits = t.net.Predict(t.ws, x)
		}
		to.Shape, to.Data = append(to.Shape[:0], logits.Shape...), append(to.Data[:0], logits.Data...)
	}
}

// target is the teacher's logits of a batch, nil without a teacher.
func (t *Teacher) target(i int) *tensor.Tensor {
	if t.net == nil {
		return nil
	}
	return &t.targets[i]
}

// parts is the state of a teacher of the shape of net.
func (t *Teacher) parts(net *nn.Network) checkpoint.Parts {
	taught := t.net != nil
	return checkpoint.Parts{
		checkpoint.Values("taught", &taught),
		checkpoint.Later(func() checkpoint.Parts {
			if !taught {
				t.net = nil
				return nil
			}
			if t.net == nil {
				t.net = net.Clone()
			}
			return checkpoint.Parts{checkpoint.Inline(t.net)}
		}),
	}
}
