package learner

import (
	"context"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/loss"
)

// AGEM is averaged GEM (survey §methods, par: A-GEM): a Replay with another line 4. From the second task on, the
// network is not trained on the replay batch. This batch is a reference instead: to first order, a step must not raise
// its loss. Let g be the gradient of the incoming batch and g_ref that of the replay batch. Both are gradients of the
// learner's criterion; Reference can name another one for g_ref.
//
//	g ← g − (g·g_ref / g_ref·g_ref) g_ref   where g·g_ref < 0
//
// over all parameters at once; otherwise g stays as it is. Both passes are in training mode, each with its own
// batch-norm statistics. Loss is the sum of both means. In the first task, and with an empty memory, AGEM is
// Finetune. The memory is filled from the first batch on, so the reference may contain samples of the current task.
type AGEM struct {
	*Replay
	Reference loss.Criterion // loss that g_ref is computed from; nil uses Replay.Criterion

	tasks     int64 // begun
	reference []float32
	apart     [][]float32
}

var (
	_ ocl.Learner   = (*AGEM)(nil)
	_ ocl.Extending = (*AGEM)(nil)
	_ Stepper       = (*AGEM)(nil)
)

// NewAGEM makes r, a learner that was not used yet, an AGEM.
func NewAGEM(r *Replay) *AGEM {
	a := &AGEM{Replay: r, reference: make([]float32, len(r.Net.Params()))}
	a.apart = [][]float32{a.reference}
	r.Step, r.owner = a, "A-GEM"
	return a
}

// BeginTask implements [ocl.TaskAware].
func (a *AGEM) BeginTask(t ocl.TaskInfo) error {
	if err := a.beginTask(t); err != nil {
		return err
	}
	a.tasks++
	return nil
}

// EndTask implements [ocl.TaskAware]. It trains only if a trick reviews the memory.
func (a *AGEM) EndTask(ctx context.Context) error { return a.endTask(ctx) }

// Gradient implements [Stepper].
func (a *AGEM) Gradient(r *Replay, _ ocl.Batch) (s ocl.StepStats, err error) {
	var reference Pass
	if a.tasks > 1 {
		if reference, err = r.Draw(); err != nil {
			return s, err
		}
	}
	if reference.Len() == 0 {
		return r.Accumulate(r.Incoming())
	}
	reference.Criterion = a.Reference
	if s, err = r.AccumulateApart(a.apart, r.Incoming(), reference); err != nil {
		return s, err
	}
	g := r.Net.Grads()
	if dot := r.WS.Dot(g, a.reference); dot < 0 {
		r.WS.AddScaled(g, a.reference, float32(-dot/r.WS.Dot(a.reference, a.reference)))
	}
	return s, nil
}

// SaveState implements [ocl.State].
func (a *AGEM) SaveState(e *checkpoint.Encoder) error { return a.parts().SaveState(e) }

// LoadState implements [ocl.State].
func (a *AGEM) LoadState(d *checkpoint.Decoder) error { return a.parts().LoadState(d) }

func (a *AGEM) parts() checkpoint.Parts {
	return checkpoint.Parts{checkpoint.Values("tasks", &a.tasks), checkpoint.Inline(a.Replay)}
}
