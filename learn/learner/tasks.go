package learner

import (
	"context"
	"fmt"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/nn"
	"ocl/nn/tensor"
)

// Bounded is a [Replay] that is called when tasks begin and end, because its Classes, Teacher or Review need this.
type Bounded struct{ *Replay }

var (
	_ ocl.Learner   = Bounded{}
	_ ocl.Extending = Bounded{}
	_ Open          = Bounded{}
)

// BeginTask implements [ocl.TaskAware].
func (b Bounded) BeginTask(t ocl.TaskInfo) error { return b.beginTask(t) }

// EndTask implements [ocl.TaskAware].
func (b Bounded) EndTask(ctx context.Context) error { return b.endTask(ctx) }

// bound returns the name of the field of r that needs the boundaries of tasks, or "".
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

// checkBound returns an error if a field needs the boundaries of tasks and BeginTask was never called: it would
// silently do nothing.
func (r *Replay) checkBound() error {
	if r.Review != nil && r.Memory == nil {
		return fmt.Errorf("learner: the Review of a Replay needs a memory, and there is none. Set Memory, or remove the Review")
	}
	if who := r.bound(); who != "" && !r.boundaries.begun {
		return fmt.Errorf("learner: %s needs the boundaries of tasks, and no task has begun. "+
			"Wrap the Replay in learner.Bounded and call BeginTask and EndTask. A learner that contains a Replay must call both",
			who)
	}
	return nil
}

// beginTask passes the begin of a task to the parts of r that use boundaries.
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

// ExtendTask implements [ocl.Extending] for the learners that contain a Replay and are TaskAware.
func (r *Replay) ExtendTask(classes []ocl.Label) error {
	if r.Classes != nil {
		r.Classes.extend(classes)
	}
	return nil
}

// endTask does the review, then adds the task's classes to the old ones, then makes the network the teacher. After an
// error that wraps the error of ctx it can be called again and continues.
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

// boundaries says whether a task has begun, and whether it has ended.
type boundaries struct {
	begun  bool // a task has begun
	within bool // a task has begun since the learner was made or loaded, and has not ended
}

// begin returns an error if the previous task has not ended. If only the begin of tasks were passed on, there would
// never be a review or a teacher.
func (b *boundaries) begin(who string, t ocl.TaskInfo) error {
	if b.within {
		return fmt.Errorf("learner: %s needs the boundaries of tasks, and task %d begins before the previous task has ended. "+
			"Call EndTask after each task, also in a learner that contains another", who, t.Index+1)
	}
	b.begun, b.within = true, true
	return nil
}

// Classes are the classes of this task and of the earlier ones, in the form that criteria need. The zero value is
// before any task.
type Classes struct {
	old, current       []ocl.Label // rising
	oldCount, newCount int64       // |C_old| and |C_new|, a class counted once for every task it occurs in
}

func (c *Classes) begin(classes []ocl.Label) {
	c.current = append(c.current[:0], classes...)
	slices.Sort(c.current)
	c.newCount = int64(len(classes))
}

// extend adds further classes to those of this task.
func (c *Classes) extend(classes []ocl.Label) {
	for _, y := range classes {
		if at, has := slices.BinarySearch(c.current, y); !has {
			c.current = slices.Insert(c.current, at, y)
			c.newCount++
		}
	}
}

func (c *Classes) end() {
	c.old = append(c.old, c.current...)
	slices.Sort(c.old)
	c.old = slices.Compact(c.old)
	c.oldCount += c.newCount
}

// share is |C_new| / (|C_old| + |C_new|).
func (c *Classes) share() float64 { return float64(c.newCount) / float64(c.oldCount+c.newCount) }

// parts has the state of c. A loaded class must lie in [0, classes).
func (c *Classes) parts(classes int) checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.Int32List("old", &c.old),
		checkpoint.Int32List("current", &c.current),
		checkpoint.Values("counts", &c.oldCount, &c.newCount),
		checkpoint.Then(func() error { return checkRising(classes, c.old) }),
		checkpoint.Then(func() error { return checkRising(classes, c.current) }),
	}
}

// Teacher is the network as it was at the end of the last task (survey §trick_detail, KDC; §methods, LwF and iCaRL).
// The zero value is before the end of the first task: there is no teacher yet.
type Teacher struct {
	// With Training, batch norm uses the statistics of the images at hand, as in the code of the survey's authors.
	// Otherwise it uses the running statistics. Set it before the first call of the learner.
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

// teach computes and keeps the teacher's logits for some batches of images that net learns. Without a teacher it does
// nothing. Classes that became active since it was copied have the logits of outputs that never learned.
func (t *Teacher) teach(net *nn.Network, batches []*tensor.Tensor) {
	if t.net == nil {
		return
	}
	if k := net.Info().Classes; t.net.Info().Classes != k {
		t.net.SetActive(k)
	}
	for len(t.targets) < len(batches) {
		t.targets = append(t.targets, tensor.Tensor{})
	}
	for i, x := range batches {
		to := &t.targets[i]
		var logits *tensor.Tensor
		if t.Training {
			logits = t.net.Forward(t.ws, x, nn.BatchOnly)
		} else {
			logits = t.net.Predict(t.ws, x).Logits
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
