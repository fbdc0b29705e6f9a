package stream

import (
	"fmt"

	"ocl"
	"ocl/data"
	"ocl/stream/shift"
	"ocl/tensor"
)

// buffer is the memory of a batch, reused from one to the next.
type buffer struct {
	x *tensor.Tensor // [b,C,H,W]
	y []ocl.Label
	// raw is room for the bytes of an image that has to be read.
	raw []uint8
	// view is the tensor that callers get. It is shorter for an incomplete batch, which then needs no allocation.
	view tensor.Tensor
}

func newBuffer(b int, set *data.Set) *buffer {
	x := tensor.New(b, set.C, set.H, set.W)
	return &buffer{x: x, y: make([]ocl.Label, b), raw: make([]uint8, set.ImageLen()), view: tensor.Tensor{Shape: []int{b, set.C, set.H, set.W}}}
}

// half is the training or the test half of a stream.
type half struct {
	name    string // train or test
	from    *data.Split
	lists   [][]int32       // [task or test set] images of the data set, in the order of delivery
	shifted []*shift.Images // [task] of the kind shift, nil until they are needed
}

// sample is an image of a half: a place in one of its lists.
type sample struct{ list, at int32 }

// put decodes a sample into row i of buf.
func (s *Tasks) put(buf *buffer, i int, h *half, of sample) error {
	image, size := int(h.lists[of.list][of.at]), len(buf.raw)
	row := buf.x.Data[i*size : (i+1)*size]
	buf.y[i] = ocl.Label(h.from.Y[image])
	if s.opts.Kind == shifted.Name {
		return s.putShifted(row, h, of)
	}
	pixels, err := h.from.Images.Image(image, buf.raw)
	if err != nil {
		return err
	}
	s.values(row, pixels)
	return nil
}

// values converts 8-bit pixels into the network's inputs.
func (s *Tasks) values(row []float32, pixels []uint8) {
	plane := s.set.H * s.set.W
	for c := range s.info.Pixels {
		value := &s.info.Pixels[c]
		src, dst := pixels[c*plane:(c+1)*plane], row[c*plane:(c+1)*plane]
		for p, v := range src {
			dst[p] = value[v]
		}
	}
}

// putShifted decodes a sample of the kind shift.
func (s *Tasks) putShifted(row []float32, h *half, of sample) error {
	images, err := s.shift(h, int(of.list))
	if err != nil {
		return err
	}
	if !s.opts.Shift.Float {
		s.values(row, images.Bytes(int(of.at)))
		return nil
	}
	copy(row, images.Floats(int(of.at)))
	plane := s.set.H * s.set.W
	for c := range s.set.C {
		mean, std := float32(0), float32(1)
		if len(s.opts.Mean) > 0 {
			mean = float32(s.opts.Mean[c])
		}
		if len(s.opts.Std) > 0 {
			std = float32(s.opts.Std[c])
		}
		for p := range row[c*plane : (c+1)*plane] {
			row[c*plane+p] = (row[c*plane+p] - mean) / std
		}
	}
	return nil
}

// batch is the first n rows of buf.
func (buf *buffer) batch(n int) ocl.Batch {
	buf.view.Shape[0] = n
	buf.view.Data = buf.x.Data[:n*len(buf.raw)]
	return ocl.Batch{X: &buf.view, Y: buf.y[:n]}
}

// fill decodes a part of a list into buf.
func (s *Tasks) fill(buf *buffer, h *half, list, from, to int) (ocl.Batch, error) {
	for at := from; at < to; at++ {
		if err := s.put(buf, at-from, h, sample{int32(list), int32(at)}); err != nil {
			return ocl.Batch{}, fmt.Errorf("stream: %w", err)
		}
	}
	return buf.batch(to - from), nil
}

// PixelValues is the table from a byte v to a network input, for each channel: v/255, or (v/255 - mean)/std. mean and std
// have a value for each channel, or none.
func PixelValues(channels int, mean, std []float64) [][256]float32 {
	table := make([][256]float32, channels)
	for c := range table {
		m, d := 0.0, 1.0
		if len(mean) > 0 {
			m = mean[c]
		}
		if len(std) > 0 {
			d = std[c]
		}
		for v := range table[c] {
			table[c][v] = float32((float64(v)/255 - m) / d)
		}
	}
	return table
}
