// Package augment changes images at random before a network learns from them: crops, mirrors, colours, and
// RandAugment.
//
// A [Transform] changes the rows of a batch in place. The batch is a copy that belongs to the caller, because a batch
// that a learner observes, and what a memory holds, must stay as they came. Every draw comes from a source that the
// caller owns and saves, in an order that each transform states, so that a resumed run shows the same images. After the
// first batch a transform allocates nothing. [Compose] does several transforms in turn:
//
//	views := augment.Compose{
//		&augment.ResizedCrop{Scale: [2]float64{0.2, 1}},
//		&augment.Flip{P: 0.5},
//		&augment.ColorJitter{P: 0.8, Brightness: 0.4, Contrast: 0.4, Saturation: 0.4, Hue: 0.1, Values: values},
//		&augment.Grey{P: 0.2, Values: values},
//	}
//
// The package knows nothing of learners, memories and data sets.
package augment

import (
	"fmt"

	"ocl"
	"ocl/nn/tensor"
	"ocl/rng"
)

// Transform changes images at random. A transform has buffers of its own and serves one goroutine at a time.
type Transform interface {
	// Check says which parameter is out of its range, and what the range is. Apply on a transform that Check refuses may
	// panic.
	Check() error
	// Apply changes each row of x [B,C,H,W], from the first to the last, and draws from src only.
	Apply(x *tensor.Tensor, src *rng.Source)
}

// Compose applies transforms in turn, each to the whole batch.
type Compose []Transform

// Check implements [Transform]. It returns the first error.
func (c Compose) Check() error {
	for i, t := range c {
		if t == nil {
			return fmt.Errorf("augment: transform %d of %d is nil. Leave it out", i+1, len(c))
		}
		if err := t.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Apply implements [Transform]. All draws of a transform come before those of the next.
func (c Compose) Apply(x *tensor.Tensor, src *rng.Source) {
	for _, t := range c {
		t.Apply(x, src)
	}
}

// CropFlip crops images after padding them with zeros by an eighth of the longer side, the usual 4 pixels at 32×32, and
// mirrors them with probability ½. The zeros are values of x: a middle grey if the mean was subtracted.
type CropFlip struct{ image []float32 }

// Check implements [Transform]. There is nothing to check.
func (*CropFlip) Check() error { return nil }

// Apply implements [Transform]. It draws three numbers a row: the offsets y and x, and the mirror.
func (a *CropFlip) Apply(x *tensor.Tensor, src *rng.Source) {
	c, h, w := extents(x)
	pad := (max(h, w) + 7) / 8
	for i := range x.Shape[0] {
		dy, dx, mirror := src.IntN(2*pad+1)-pad, src.IntN(2*pad+1)-pad, src.IntN(2) == 1
		row := x.Row(i)
		a.image = append(a.image[:0], row...)
		clear(row)
		for plane := range c {
			from, to := a.image[plane*h*w:], row[plane*h*w:]
			for y := max(0, -dy); y < min(h, h-dy); y++ {
				for col := range w {
					at := col + dx
					if mirror {
						at = w - 1 - col + dx
					}
					if at >= 0 && at < w {
						to[y*w+col] = from[(y+dy)*w+at]
					}
				}
			}
		}
	}
}

// Flip mirrors each image, left to right, with probability P.
type Flip struct {
	P float64 // in [0,1]
}

// Check implements [Transform].
func (f *Flip) Check() error { return probability("Flip", f.P) }

// Apply implements [Transform]. It draws one number a row.
func (f *Flip) Apply(x *tensor.Tensor, src *rng.Source) {
	_, _, w := extents(x)
	for i := range x.Shape[0] {
		if src.Float64() >= f.P {
			continue
		}
		for line := x.Row(i); len(line) > 0; line = line[w:] {
			for l, r := 0, w-1; l < r; l, r = l+1, r-1 {
				line[l], line[r] = line[r], line[l]
			}
		}
	}
}

// extents are C, H and W of a batch. It panics if x has another number of axes.
func extents(x *tensor.Tensor) (c, h, w int) {
	if len(x.Shape) != 4 {
		panic(fmt.Sprintf("augment: a batch of the shape %v. Use [B,C,H,W]", x.Shape))
	}
	return x.Shape[1], x.Shape[2], x.Shape[3]
}

// probability checks the P of a transform.
func probability(of string, p float64) error { return within(of, "P", p, 0, 1) }

// within checks that a parameter lies in [lo,hi]. A NaN does not.
func within(of, name string, v, lo, hi float64) error {
	if !(v >= lo && v <= hi) {
		return fmt.Errorf("augment: %s.%s is %v. Use a number from %v to %v", of, name, v, lo, hi)
	}
	return nil
}

// agree panics if values are of another number of channels than the images.
func agree(of string, values ocl.PixelValues, channels int) {
	if values != nil && len(values) != channels {
		panic(fmt.Sprintf("augment: %s.Values are of %d channels, and the images have %d", of, len(values), channels))
	}
}

// toPixels turns a row of values into pixels in [0,1]. Nil values are those pixels already.
func toPixels(row []float32, values ocl.PixelValues) {
	for c := range values {
		plane := len(row) / len(values)
		black, span := values[c][0], values[c][255]-values[c][0]
		for i, v := range row[c*plane : (c+1)*plane] {
			row[c*plane+i] = (v - black) / span
		}
	}
}

// toValues undoes toPixels.
func toValues(row []float32, values ocl.PixelValues) {
	for c := range values {
		plane := len(row) / len(values)
		black, span := values[c][0], values[c][255]-values[c][0]
		for i, v := range row[c*plane : (c+1)*plane] {
			row[c*plane+i] = float32(v*span) + black
		}
	}
}
