package learner

import (
	"fmt"

	"ocl"
	"ocl/nn/tensor"
)

var (
	_ Unlearning = (*ClassMeans)(nil)
	_ Unlearning = (*SLDA)(nil)
	_ Unlearning = (*RanPAC)(nil)
)

// Unlearn implements [Unlearning].
func (l *ClassMeans) Unlearn(b ocl.Batch) error {
	return l.unlearn(b, l.scale, func(*tensor.Tensor) {})
}

// Unlearn implements [Unlearning]. With Running it is an error.
func (l *SLDA) Unlearn(b ocl.Batch) error {
	if l.Running {
		return fmt.Errorf("learner: slda: unlearn: %w. Use method.slda.covariance=pooled", ErrNoSums)
	}
	return l.unlearn(b, nil, func(x *tensor.Tensor) { l.products.subtract(x, l.samples()) })
}

// Unlearn implements [Unlearning]. With Recursive it is an error.
func (l *RanPAC) Unlearn(b ocl.Batch) error {
	if l.Recursive {
		return fmt.Errorf("learner: ranpac: unlearn: %w. Use method.ranpac.solver=sums", ErrNoSums)
	}
	return l.unlearn(b, nil, func(x *tensor.Tensor) { l.gram.subtract(x, l.samples()) })
}
