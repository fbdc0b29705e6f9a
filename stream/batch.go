package stream

import (
	"fmt"

	"ocl"
	"ocl/data"
	"ocl/tensor"
)

// buffer is the memory of a batch, reused from one to the next.
type buffer struct {
	whole ocl.Batch
	// view is the tensor that callers get. It is shorter for an incomplete batch, which then needs no allocation.
	view tensor.Tensor
}

func newBuffer(b int, set *data.Set) *buffer {
	whole := ocl.Batch{X: tensor.New(b, set.C, set.H, set.W), Y: make([]ocl.Label, b), Pixels: make([]byte, b*set.ImageLen())}
	return &buffer{whole, tensor.Tensor{Shape: []int{b, set.C, set.H, set.W}}}
}

// half is the training or the test half of a stream.
type half struct {
	name    string // train or test
	from    *data.Split
	lists   [][]int32   // [task or test set] images of the data set, in the order of delivery
	shifted [][][]uint8 // [task][image] of the kind shift, nil until they are needed
}

// sample is an image of a half: a place in one of its lists.
type sample struct{ list, at int32 }

// put reads a sample into row i of buf.
func (s *Tasks) put(buf *buffer, i int, h *half, of sample) error {
	image, pixels := int(h.lists[of.list][of.at]), buf.whole.Image(i)
	buf.whole.Y[i] = ocl.Label(h.from.Y[image])
	read, err := s.pixels(h, of, image, pixels)
	if err != nil {
		return err
	}
	copy(pixels, read)
	s.info.Pixels.Write(buf.whole.X.Row(i), pixels)
	return nil
}

// pixels is the image of a sample. room is a buffer that may be used for it.
func (s *Tasks) pixels(h *half, of sample, image int, room []uint8) ([]uint8, error) {
	if s.opts.Kind != shifted.Name {
		return h.from.Images.Image(image, room)
	}
	images, err := s.shift(h, int(of.list))
	if err != nil {
		return nil, err
	}
	return images[of.at], nil
}

// batch is the first n rows of buf.
func (buf *buffer) batch(n int) ocl.Batch {
	values := n * buf.whole.X.RowLen()
	buf.view.Shape[0], buf.view.Data = n, buf.whole.X.Data[:values]
	return ocl.Batch{X: &buf.view, Y: buf.whole.Y[:n], Pixels: buf.whole.Pixels[:values]}
}

// fill reads a part of a list into buf.
func (s *Tasks) fill(buf *buffer, h *half, list, from, to int) (ocl.Batch, error) {
	for at := from; at < to; at++ {
		if err := s.put(buf, at-from, h, sample{int32(list), int32(at)}); err != nil {
			return ocl.Batch{}, fmt.Errorf("stream: %w", err)
		}
	}
	return buf.batch(to - from), nil
}
