package learner

import "ocl"

// Stepper is ModelUpdate without the step of the optimiser: it retrieves, and leaves in the network's gradients the
// direction of the step.
type Stepper interface {
	// Gradient sets Net.Grads for one step on the incoming batch, which is augmented if Augment is set. Of the stats
	// it fills Loss, Correct (rows of b that the network predicted correctly) and Replay (rows replayed).
	Gradient(r *Replay, b ocl.Batch) (ocl.StepStats, error)
}

// Summed runs the incoming and the replay batch through the network separately, each with its own batch-norm
// statistics, and adds the gradients of their mean losses, as the survey's authors do: ∇ℓ(B_n) + ∇ℓ(B_M). Loss is the
// sum of both means. Both passes have the same parameters, so they run at the same time if there are two workers.
type Summed struct{}

// Gradient implements [Stepper].
func (Summed) Gradient(r *Replay, b ocl.Batch) (s ocl.StepStats, err error) {
	r.Net.ZeroGrads()
	replay, err := r.retrieve()
	if err != nil {
		return s, err
	}
	s.Replay = replay.Len()
	r.passes = append(r.passes[:0], pass{Batch: b, count: b.Len()})
	if s.Replay > 0 {
		r.passes = append(r.passes, pass{Batch: replay})
	}
	s.Loss, s.Correct, err = r.accumulate()
	return s, err
}

// Joint runs both batches through the network as one batch with common batch-norm statistics, and takes the mean loss
// over all rows, as the survey's text says: ∇ℓ(B_n ∪ B_M).
type Joint struct{}

// Gradient implements [Stepper].
func (Joint) Gradient(r *Replay, b ocl.Batch) (s ocl.StepStats, err error) {
	r.Net.ZeroGrads()
	replay, err := r.retrieve()
	if err != nil {
		return s, err
	}
	both := b
	if n := replay.Len(); n > 0 {
		c, h, w := r.Net.Input()
		r.joined.Resize(b.Len()+n, c, h, w)
		copy(r.joined.X.Data[copy(r.joined.X.Data, b.X.Data):], replay.X.Data)
		copy(r.joined.Y[copy(r.joined.Y, b.Y):], replay.Y)
		both = ocl.Batch{X: &r.joined.X, Y: r.joined.Y}
		s.Replay = n
	}
	r.passes = append(r.passes[:0], pass{Batch: both, count: b.Len()})
	s.Loss, s.Correct, err = r.accumulate()
	return s, err
}
