package stream

import (
	"fmt"

	"ocl"
	"ocl/data"
	"ocl/nn/tensor"
)

// buffer is the memory of a batch, reused from one to the next.
type buffer struct {
	whole ocl.Batch
	// view is the tensor that callers get. It is shorter for an incomplete batch, which then needs no allocation.
	view tensor.Tensor
}

func newBuffer(b int, set *data.Set) *buffer {
	whole := ocl.Batch{X: tensor.New(b, set.C, set.H, set.W), Y: make([]ocl.Label, b),
		Pixels: make([]byte, b*set.ImageLen())}
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
	var read []uint8
	var err error
	if s.opts.Kind != shifted.Name {
		read, err = h.from.Images.Image(image, pixels)
	} else {
		var images [][]uint8
		if images, err = s.shift(h, int(of.list)); err == nil {
			read = images[of.at]
		}
	}
	if err != nil {
		return err
	}
	copy(pixels, read)
	s.info.Encoding().Write(buf.whole.X.Row(i), pixels)
	return nil
}

// fill reads n samples into buf.
func (s *Tasks) fill(buf *buffer, h *half, n int, of func(i int) sample) (ocl.Batch, error) {
	for i := range n {
		if err := s.put(buf, i, h, of(i)); err != nil {
			return ocl.Batch{}, fmt.Errorf("stream: %w", err)
		}
	}
	buf.view.Shape[0], buf.view.Data = n, buf.whole.X.Data[:n*buf.whole.X.RowLen()]
	return ocl.Batch{X: &buf.view, Y: buf.whole.Y[:n], Pixels: buf.whole.Pixels[:n*s.set.ImageLen()]}, nil
}

// deliver yields a list of a half in batches of size b, from the given batch on. It says whether all were taken.
func (s *Tasks) deliver(yield func(ocl.Batch, error) bool, buf *buffer, h *half, list, b, from int) bool {
	n := len(h.lists[list])
	for at := from * b; at < n; at += b {
		batch, err := s.fill(buf, h, min(b, n-at), func(i int) sample { return sample{int32(list), int32(at + i)} })
		if !yield(batch, err) || err != nil {
			return false
		}
	}
	return true
}
