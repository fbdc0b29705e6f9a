package learner

import (
	"errors"
	"fmt"

	"ocl"
	"ocl/nn/tensor"
)

// Unlearning learners are sums, so what was learned of a sample can be taken away again. An [Amending] learner lets go of what it stores; this is about what it has learned.
type Unlearning interface {
	ocl.Learner
	// Unlearn takes away what Observe has added of these images [B,C,H,W] with these labels, in any order and whatever was observed since. Then the learner is one
	// that never observed them, but for the rounding of its sums; a class without samples is predicted no more. Prepare comes before the next prediction.
	//
	// More samples of a class than were observed are an error that wraps [ErrNotLearned]; whether it was these, nobody can see. Settings with which the learner is no sum
	// are one that wraps [ErrNoSums], also for an empty batch, which changes nothing. After an error nothing has changed.
	Unlearn(b ocl.Batch) error
}

var (
	// ErrNotLearned says that a sample cannot be taken away, as it was not observed.
	ErrNotLearned = errors.New("a sample was not learned")
	// ErrNoSums says that what a learner has learned depends on the order, so that nothing can be taken away.
	ErrNoSums = errors.New("what was learned is no sum over samples")
)

var (
	_ Unlearning = (*ClassMeans)(nil)
	_ Unlearning = (*SLDA)(nil)
	_ Unlearning = (*RanPAC)(nil)
)

// Unlearn implements [Unlearning].
func (l *ClassMeans) Unlearn(b ocl.Batch) error {
	return l.prepare().unlearn(b, l.scale, func(*tensor.Tensor) {})
}

// Unlearn implements [Unlearning]. With Running it is an error.
func (l *SLDA) Unlearn(b ocl.Batch) error {
	if l.Running {
		return fmt.Errorf("learner: slda: unlearn: %w. Use method.slda.covariance=pooled", ErrNoSums)
	}
	return l.prepare().unlearn(b, nil, func(x *tensor.Tensor) { l.products.subtract(x, l.samples()) })
}

// Unlearn implements [Unlearning]. With Recursive it is an error.
func (l *RanPAC) Unlearn(b ocl.Batch) error {
	if l.Recursive {
		return fmt.Errorf("learner: ranpac: unlearn: %w. Use method.ranpac.solver=sums", ErrNoSums)
	}
	return l.prepare().unlearn(b, nil, func(x *tensor.Tensor) { l.gram.subtract(x, l.samples()) })
}
