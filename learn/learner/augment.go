package learner

import (
	"math"

	"ocl"
	"ocl/checkpoint"
	"ocl/internal/portable"
	"ocl/learn/augment"
	"ocl/learn/memory"
	"ocl/nn/tensor"
	"ocl/rng"
)

// CosineRestarts is the schedule of the original GDumb (Prabhu et al. 2020): an epoch at a tenth of high, then cycles
// of 1, 2, 4, … epochs, in each of which the rate falls along half a cosine from high towards low.
func CosineRestarts(high, low float64) Schedule {
	return func(epoch int) float64 {
		if epoch == 0 {
			return high / 10
		}
		at, length := epoch-1, 1
		for at >= length {
			at -= length
			length *= 2
		}
		return low + float64((high-low)/2*(1+portable.Cos(math.Pi*float64(at)/float64(length))))
	}
}

// augmentation changes the images that a network is trained on, with new draws each time. Without a source it changes
// nothing.
type augmentation struct {
	by    augment.Transform
	rand  *rng.Source
	shown memory.Buffer
}

// begin makes the source "replay/augment" of a learner's seed. Without a transform, images are cropped and flipped.
func (a *augmentation) begin(seed uint64, by augment.Transform) {
	a.rand, a.by = rng.New(seed, "replay/augment"), by
	if by == nil {
		a.by = &augment.CropFlip{}
	}
}

// apply changes each row of x.
func (a *augmentation) apply(x *tensor.Tensor) {
	if a.rand != nil {
		a.by.Apply(x, a.rand)
	}
}

// of returns b as the network sees it: an augmented copy in a buffer of a, or b itself if nothing is augmented.
func (a *augmentation) of(b ocl.Batch) ocl.Batch {
	if a.rand == nil {
		return b
	}
	a.shown.Resize(b.Len(), b.X.Shape[1], b.X.Shape[2], b.X.Shape[3])
	copy(a.shown.X.Data, b.X.Data)
	copy(a.shown.Y, b.Y)
	a.apply(&a.shown.X)
	return ocl.Batch{X: &a.shown.X, Y: a.shown.Y}
}

// parts is the state: the source, where there is one.
func (a *augmentation) parts() checkpoint.Parts {
	if a.rand == nil {
		return nil
	}
	return checkpoint.Parts{checkpoint.Binary("rng/augment", a.rand)}
}

// mixture says what CutMix pasted into a batch: row i contains a box from another row, and y[i] is the label of that
// row.
type mixture struct {
	share  float64 // share of an image that still shows the row's own picture
	y      []ocl.Label
	rows   []int
	images []float32
}

// cut replaces a box of every row of b, the same in all, by that of a row drawn at random (CutMix, Yun et al. 2019,
// with α = 1): the box has the sides √(1−λ) of the image for λ from U(0,1), a centre drawn from all pixels, and is cut
// off at the border. It draws λ, the order of the rows, and the centre's x and y.
func (m *mixture) cut(b *memory.Buffer, src *rng.Source) {
	n, c, h, w := b.X.Shape[0], b.X.Shape[1], b.X.Shape[2], b.X.Shape[3]
	side := math.Sqrt(1 - src.Float64())
	m.rows, m.y = m.rows[:0], m.y[:0]
	for i := range n {
		m.rows = append(m.rows, i)
	}
	src.Shuffle(n, func(i, j int) { m.rows[i], m.rows[j] = m.rows[j], m.rows[i] })
	left, right := span(src.IntN(w), int(float64(w)*side), w)
	top, bottom := span(src.IntN(h), int(float64(h)*side), h)
	m.images = append(m.images[:0], b.X.Data...)
	size := c * h * w
	for i, other := range m.rows {
		m.y = append(m.y, b.Y[other])
		for line := range c * h {
			if y := line % h; y >= top && y < bottom {
				copy(b.X.Data[i*size+line*w+left:i*size+line*w+right], m.images[other*size+line*w+left:])
			}
		}
	}
	m.share = 1 - float64((right-left)*(bottom-top))/float64(w*h)
}

// span is the interval of a length around a centre, cut off at 0 and end.
func span(centre, length, end int) (from, to int) {
	return max(0, centre-length/2), min(end, centre+length/2)
}
