// Package learner holds the learners: what they do with an incoming batch, and how they predict. A learner is built of a
// network, an optimiser, a memory and a criterion; it knows nothing of data sets, streams, metrics, clocks or files, so
// it cannot see a test set. Start at [Replay].
package learner

import (
	"fmt"

	"ocl"
	"ocl/tensor"
)

// argmax is the index of the largest logit, the first one where several are.
func argmax(logits []float32) ocl.Label {
	best := 0
	for k, v := range logits {
		if v > logits[best] {
			best = k
		}
	}
	return ocl.Label(best)
}

// largest sets dst to the classes of the largest logits [B,K].
func largest(dst []ocl.Label, logits *tensor.Tensor) {
	for i := range dst {
		dst[i] = argmax(logits.Row(i))
	}
}

// batch is a buffer of images and labels that grows and is used again.
type batch struct {
	x tensor.Tensor
	y []ocl.Label
}

// resize makes room for n images of shape [C,H,W]; their content is undefined.
func (b *batch) resize(n int, c, h, w int) {
	if need := n * c * h * w; cap(b.x.Data) < need {
		b.x.Data = make([]float32, need)
		b.y = make([]ocl.Label, n)
	}
	b.x.Shape = append(b.x.Shape[:0], n, c, h, w)
	b.x.Data = b.x.Data[:n*c*h*w]
	b.y = b.y[:n]
}

// checkRoom returns an error unless dst has room for one label of each row of x.
func checkRoom(dst []ocl.Label, x *tensor.Tensor) error {
	if len(dst) != x.Dim(0) {
		return fmt.Errorf("learner: predict: room for %d labels, want one for each of %d images", len(dst), x.Dim(0))
	}
	return nil
}
