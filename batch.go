package ocl

import (
	"slices"

	"ocl/nn/tensor"
)

// Batch is a mini-batch of labelled images. A learner may read it during Observe and must neither keep nor modify it;
// [Batch.Clone] keeps it. [NewBatch] makes one.
type Batch struct {
	X *tensor.Tensor // [B,C,H,W] float32: what a network sees
	Y []Label        // [B]
	// Pixels are what X was made of by the stream's [Encoding]: 8-bit images [B,C,H,W], or embeddings in float16; or
	// what X was made to, where X are activations. A memory stores them. They may be nil in a batch of which nothing is
	// stored, such as one of replayed images.
	Pixels []byte
}

// NewBatch returns a batch of samples of the shape [C,H,W], such as images, uint8 [len(y),C,H,W], as a network sees
// them by an encoding. It keeps pixels and y.
func NewBatch(shape [3]int, pixels []byte, y []Label, by Encoding) Batch {
	b := Batch{X: tensor.New(len(y), shape[0], shape[1], shape[2]), Y: y, Pixels: pixels}
	for i := range y {
		by.Write(b.X.Row(i), b.Image(i))
	}
	return b
}

// Len is the number B of samples in the batch.
func (b Batch) Len() int { return len(b.Y) }

// Image is the part of Pixels that belongs to row i, such as an 8-bit image [C,H,W]: a view.
func (b Batch) Image(i int) []byte {
	n := len(b.Pixels) / len(b.Y)
	return b.Pixels[i*n : (i+1)*n : (i+1)*n]
}

// Rows is a view of rows [lo, hi).
func (b Batch) Rows(lo, hi int) Batch {
	part := Batch{X: b.X.Rows(lo, hi), Y: b.Y[lo:hi]}
	if b.Pixels != nil && len(b.Y) > 0 {
		n := len(b.Pixels) / len(b.Y)
		part.Pixels = b.Pixels[lo*n : hi*n : hi*n]
	}
	return part
}

// Clone is a copy that the caller may keep and change.
func (b Batch) Clone() Batch {
	return Batch{X: b.X.Clone(), Y: slices.Clone(b.Y), Pixels: slices.Clone(b.Pixels)}
}
