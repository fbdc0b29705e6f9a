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
	// Eval writes dL/dlogits into d [B,K] and returns the mean loss over the B rows (0 when B is 0). Logits that are
	// not finite give a loss that is not finite, and no error.
	Eval(d *tensor.Tensor, in Input) (float64, error)
}

// Input is everything that a criterion may use: the logits [B,K] of a batch and its labels, len(Y) == B, and what a
// learner knows if it is TaskAware. Lists of classes rise.
type Input struct {
	Logits *tensor.Tensor
	Y      []ocl.Label

	Old, New []ocl.Label    // C_old and C_new: the classes of earlier tasks, and those of this one
	Share    float64        // |C_new| / (|C_old| + |C_new|), a class counted once for every task it occurs in
	Teacher  *tensor.Tensor // the teacher's logits [B,K] of the same batch; nil without a teacher
}

// CrossEntropy is the mean over rows of −log softmax(z)_y, over all K outputs: K is known from the first step and
// nothing is masked. Sums are in float64, the gradient (softmax(z) − onehot(y))/B is rounded to float32 once. The
// gradient may take the place of the logits. It allocates nothing. A label outside [0, K) is an error.
type CrossEntropy struct{}

var _ Criterion = CrossEntropy{}

// Eval implements [Criterion].
func (CrossEntropy) Eval(d *tensor.Tensor, in Input) (float64, error) {
	z := in.Logits
	rows, classes := in.check("CrossEntropy", d)
	mean := 1 / float64(rows)
	loss := 0.0
	for i, y := range in.Y {
		if y < 0 || int(y) >= classes {
			return 0, fmt.Errorf("loss: row %d: label %d is not a class in [0, %d)", i, y, classes)
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
		loss += float64((math.Log(sum) + largest - zy) * mean)
		for k, v := range zs {
			ds[k] = float32(math.Exp(float64(v)-largest) / sum * mean)
		}
		ds[y] = float32((math.Exp(zy-largest)/sum - 1) * mean)
	}
	return loss, nil
}

// check returns B and K; it panics where logits, gradient and labels do not fit together.
func (in Input) check(name string, d *tensor.Tensor) (rows, classes int) {
	z := in.Logits
	if len(z.Shape) != 2 || z.Shape[0] != len(in.Y) || len(d.Shape) != 2 || d.Shape[0] != z.Shape[0] || d.Shape[1] != z.Shape[1] {
		panic(fmt.Sprintf("loss: %s: logits %v, gradient %v, %d labels. They must be [B,K], [B,K], B", name, z.Shape, d.Shape, len(in.Y)))
	}
	return z.Shape[0], z.Shape[1]
}
