package learner

import (
	"context"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/loss"
	"ocl/nn"
	"ocl/tensor"
)

// LwF is learning without forgetting (survey §methods, par: LwF): no memory, but a teacher, the network as the last task left it.
// On each incoming batch
//
//	L(θ) = w·L_CE(θ) + (1 − w)·L_KD(θ),   w = |C_new| / (|C_old| + |C_new|)
//
// with |C_new| the classes of this task and |C_old| those of the earlier ones, a class counted once for every task it occurs
// in, and L_KD the loss of the network's logits against the teacher's on the same images. The teacher's batch norm goes by
// its running statistics. In the first task there is no teacher, and LwF is [Replay] without memory.
type LwF struct {
	*Replay
	mc bool

	old, new int64       // |C_old|, |C_new|
	earlier  []ocl.Label // classes of the tasks that ended, in order of appearance
	current  []ocl.Label // classes of this task
	teacher  *nn.Network // nil in the first task

	beside  *nn.Workspace // the teacher's
	target  *tensor.Tensor
	distil  loss.Distiller
	mixture nn.LossFunc // mix
}

// LwFTemperature is T of the distillation (survey §app:impl_detail).
const LwFTemperature = 2

var (
	_ ocl.Learner   = (*LwF)(nil)
	_ ocl.TaskAware = (*LwF)(nil)
	_ Stepper       = (*LwF)(nil)
)

// NewLwF makes r, a learner without memory that was not used yet, an LwF. It distils by [loss.Distillation] with
// [LwFTemperature] or, if mc is set, by [loss.SigmoidDistillation] on the classes of earlier tasks, as LwF.MC does.
func NewLwF(r *Replay, mc bool) *LwF {
	l := &LwF{Replay: r, mc: mc, beside: r.WS.Beside()}
	l.mixture = l.mix
	r.Step = l
	return l
}

// BeginTask implements [ocl.TaskAware].
func (l *LwF) BeginTask(t ocl.TaskInfo) error {
	l.new = int64(len(t.Classes))
	l.current = append(l.current[:0], t.Classes...)
	return nil
}

// EndTask implements [ocl.TaskAware]: the network becomes the teacher of the next task.
func (l *LwF) EndTask(context.Context) error {
	l.old += l.new
	for _, k := range l.current {
		if !slices.Contains(l.earlier, k) {
			l.earlier = append(l.earlier, k)
		}
	}
	l.teach()
	l.teacher.CopyFrom(l.Net)
	return nil
}

// teach makes room for a teacher, and the loss that is measured against it.
func (l *LwF) teach() {
	if l.teacher == nil {
		l.teacher = l.Net.Clone()
	}
	l.distil = loss.Distillation{T: LwFTemperature}
	if l.mc {
		l.distil = loss.SigmoidDistillation{Classes: l.earlier}
	}
}

// Gradient implements [Stepper].
func (l *LwF) Gradient(r *Replay, b ocl.Batch) (s ocl.StepStats, err error) {
	r.Net.ZeroGrads()
	if l.teacher != nil {
		l.target = l.teacher.Predict(l.beside, b.X)
	}
	r.passes = append(r.passes[:0], pass{Batch: b, count: b.Len()})
	s.Loss, s.Correct, err = r.finish(r.Net.Accumulate(r.WS, r.batches(), l.mixture))
	return s, err
}

// mix is the loss of a pass.
func (l *LwF) mix(i int, logits, d *tensor.Tensor) error {
	if err := l.evaluate(i, logits, d); err != nil || l.teacher == nil {
		return err
	}
	w := float64(l.new) / float64(l.old+l.new)
	for j, v := range d.Data {
		d.Data[j] = float32(w) * v
	}
	p := &l.passes[i]
	p.mean = w*p.mean + (1-w)*l.distil.AddTo(d, logits, l.target, 1-w)
	return nil
}

// SaveState implements [ocl.State].
func (l *LwF) SaveState(e *checkpoint.Encoder) error {
	e.Int64s("lwf/counts", l.old, l.new)
	saveLabels(e, "lwf/earlier", l.earlier)
	saveLabels(e, "lwf/current", l.current)
	taught := int64(0)
	if l.teacher != nil {
		taught = 1
		if err := l.teacher.SaveState(e.Sub("lwf/teacher")); err != nil {
			return err
		}
	}
	e.Int64s("lwf/taught", taught)
	return l.Replay.SaveState(e)
}

// LoadState implements [ocl.State].
func (l *LwF) LoadState(d *checkpoint.Decoder) (err error) {
	if err = d.Int64s("lwf/counts", &l.old, &l.new); err != nil {
		return err
	}
	if l.earlier, err = loadLabels(d, "lwf/earlier"); err != nil {
		return err
	}
	if l.current, err = loadLabels(d, "lwf/current"); err != nil {
		return err
	}
	var taught int64
	if err = d.Int64s("lwf/taught", &taught); err != nil {
		return err
	}
	l.teacher = nil
	if taught == 1 {
		l.teach()
		if err = l.teacher.LoadState(d.Sub("lwf/teacher")); err != nil {
			return err
		}
	}
	return l.Replay.LoadState(d)
}
