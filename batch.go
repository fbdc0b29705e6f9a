package ocl

import (
	"slices"

	"ocl/tensor"
)

// Batch is a mini-batch of labelled images. A learner may read it during Observe and must neither keep nor modify it;
// [Batch.Clone] keeps it. [NewBatch] makes one.
type Batch struct {
	X *tensor.Tensor // [B,C,H,W] float32: what a network sees
	Y []Label        // [B]
	// Pixels are the 8-bit images [B,C,H,W] that X was made of by the stream's [PixelValues]. A memory stores them. They may
	// be nil in a batch of which nothing is stored, such as one of replayed images.
	Pixels []byte
}

// NewBatch returns a batch of images of the shape [C,H,W], uint8 [len(y),C,H,W], as a network sees them by values. It
// keeps pixels and y.
func NewBatch(shape [3]int, pixels []byte, y []Label, values PixelValues) Batch {
	b := Batch{X: tensor.New(len(y), shape[0], shape[1], shape[2]), Y: y, Pixels: pixels}
	for i := range y {
		values.Write(b.X.Row(i), b.Image(i))
	}
	return b
}

// Len is the number B of samples in the batch.
func (b Batch) Len() int { return len(b.Y) }

// Image is the 8-bit image of row i [C,H,W], a view.
func (b Batch) Image(i int) []byte {
	n := b.X.RowLen()
	return b.Pixels[i*n : (i+1)*n : (i+1)*n]
}

// Rows is a view of rows [lo, hi).
func (b Batch) Rows(lo, hi int) Batch {
	part := Batch{X: b.X.Rows(lo, hi), Y: b.Y[lo:hi]}
	if b.Pixels != nil {
		n := b.X.RowLen()
		part.Pixels = b.Pixels[lo*n : hi*n : hi*n]
	}
	return part
}

// Clone is a copy that the caller may keep and change.
func (b Batch) Clone() Batch {
	return Batch{X: b.X.Clone(), Y: slices.Clone(b.Y), Pixels: slices.Clone(b.Pixels)}
}

// PixelValues are what a network sees of 8-bit pixels: byte k of channel c is the value [c][k].
type PixelValues [][256]float32

// NewPixelValues returns the values k/255, or (k/255 - mean)/std. mean and std have a number for each channel, or none.
func NewPixelValues(channels int, mean, std []float64) PixelValues {
	values := make(PixelValues, channels)
	for c := range values {
		m, d := 0.0, 1.0
		if len(mean) > 0 {
			m = mean[c]
		}
		if len(std) > 0 {
			d = std[c]
		}
		for k := range values[c] {
			values[c][k] = float32((float64(k)/255 - m) / d)
		}
	}
	return values
}

// Write writes to dst what a network sees of an 8-bit image [C,H,W]. Both have C·H·W elements.
func (v PixelValues) Write(dst []float32, image []byte) {
	plane := len(image) / len(v)
	for c := range v {
		of, to := &v[c], dst[c*plane:(c+1)*plane]
		for i, k := range image[c*plane:][:len(to)] {
			to[i] = of[k]
		}
	}
}
