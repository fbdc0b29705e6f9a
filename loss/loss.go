// Package loss holds the criteria on logits. It knows nothing of networks: a caller runs the forward and the backward
// pass. Start at [Criterion].
package loss

import (
	"fmt"
	"math"

	"ocl"
	"ocl/tensor"
)

// Criterion is a loss over a batch. Several goroutines may evaluate it at once, each on a batch of its own.
type Criterion interface {
	// Eval writes dL/dlogits into d [B,K], which may be the logits themselves, and returns the mean loss over the B rows
	// (0 when B is 0). Logits that are not finite give a loss that is not finite, and no error.
	Eval(d *tensor.Tensor, in Input) (float64, error)
}

// Input is what a criterion may look at: the logits [B,K] of a batch and its labels, len(Y) == B.
type Input struct {
	Logits *tensor.Tensor
	Y      []ocl.Label
}

// CrossEntropy is the mean over rows of −log softmax(z)_y, over all K outputs: K is known from the first step and nothing
// is masked. Sums are in float64, the gradient (softmax(z) − onehot(y))/B is rounded to float32 once. It allocates
// nothing. A label outside [0, K) is an error.
type CrossEntropy struct{}

var _ Criterion = CrossEntropy{}

// Eval implements [Criterion].
func (CrossEntropy) Eval(d *tensor.Tensor, in Input) (float64, error) {
	z := in.Logits
	if len(z.Shape) != 2 || z.Shape[0] != len(in.Y) || len(d.Shape) != 2 || d.Shape[0] != z.Shape[0] || d.Shape[1] != z.Shape[1] {
		panic(fmt.Sprintf("loss: CrossEntropy: logits %v, gradient %v, %d labels; want [B,K], [B,K], B", z.Shape, d.Shape, len(in.Y)))
	}
	rows, classes := z.Shape[0], z.Shape[1]
	mean := 1 / float64(rows)
	loss := 0.0
	for i, y := range in.Y {
		if y < 0 || int(y) >= classes {
			return 0, fmt.Errorf("loss: row %d: label %d; want a class in [0, %d)", i, y, classes)
		}
		zs, ds := z.Data[i*classes:(i+1)*classes], d.Data[i*classes:(i+1)*classes]
		largest := math.Inf(-1)
		for _, v := range zs {
			largest = math.Max(largest, float64(v)) // NaN if any is
		}
		sum := 0.0
		for _, v := range zs {
			sum += math.Exp(float64(v) - largest)
		}
		zy := float64(zs[y])
		loss += (math.Log(sum) + largest - zy) * mean
		for k, v := range zs {
			ds[k] = float32(math.Exp(float64(v)-largest) / sum * mean)
		}
		ds[y] = float32((math.Exp(zy-largest)/sum - 1) * mean)
	}
	return loss, nil
}
