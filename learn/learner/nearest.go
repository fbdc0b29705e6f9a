package learner

import (
	"context"
	"fmt"

	"ocl"
	"ocl/checkpoint"
	"ocl/nn"
	"ocl/nn/tensor"
)

// Nearest is a [Replay] that predicts the class whose stored samples have the nearest mean feature ([NCM]). It asks the
// trunk of the network alone, so its head need not have an output a class. The Replay has a Memory, and none of the
// fields that need the boundaries of tasks.
type Nearest struct {
	*Replay
	ncm NCM
}

var (
	_ ocl.Preparer = (*Nearest)(nil)
	_ ocl.Watched  = (*Nearest)(nil)
	_ Open         = (*Nearest)(nil)
)

// Observe implements [ocl.Learner]. The means of an earlier Prepare become stale.
func (n *Nearest) Observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	if ctx.Err() == nil && b.Len() > 0 {
		n.ncm.Forget()
	}
	return n.Replay.Observe(ctx, b)
}

// Watch implements [ocl.Watched]: long work is to find the class means.
func (n *Nearest) Watch(f func(done, total int)) { n.ncm.watch = f }

// Prepare implements [ocl.Preparer]: it finds the class means of the memory's samples by the network as it is.
func (n *Nearest) Prepare(ctx context.Context) error {
	if n.Memory == nil || n.Memory.Len() == 0 {
		return fmt.Errorf("learner: the memory is empty, so there is no class mean to predict by. " +
			"Use a memory of at least 1, and observe a batch first")
	}
	return n.ncm.Fit(ctx, n.predicting(), n.WS, n.Memory)
}

// Predict implements [ocl.Learner]: the class of the nearest mean. Prepare comes before it.
func (n *Nearest) Predict(dst []ocl.Label, x *tensor.Tensor) error {
	if err := checkRoom(dst, x); err != nil || len(dst) == 0 {
		return err
	}
	return n.Decide(dst, nn.Outputs{Features: n.predicting().Predict(n.WS, x).Features})
}

// Decide implements [Open].
func (n *Nearest) Decide(dst []ocl.Label, o nn.Outputs) error {
	if !n.ncm.Fitted() {
		return fmt.Errorf("learner: there are no class means of the present network. Call Prepare after the last batch")
	}
	return n.ncm.Classify(dst, o.Features)
}

// Parts implements [Open].
func (n *Nearest) Parts() Parts {
	return Parts{Net: n.predicting(), WS: n.WS, Memory: n.Memory, Means: &n.ncm}
}

// SaveState implements [ocl.State].
func (n *Nearest) SaveState(e *checkpoint.Encoder) error { return n.state().SaveState(e) }

// LoadState implements [ocl.State].
func (n *Nearest) LoadState(d *checkpoint.Decoder) error { return n.state().LoadState(d) }

// state has the state of the Replay and the class means.
func (n *Nearest) state() checkpoint.Parts {
	return checkpoint.Parts{checkpoint.Inline(n.Replay), checkpoint.Sub("ncm", n.ncm.State(n.Net.Info().FeatureDim))}
}
