package stream

import (
	"ocl"
	"ocl/data"
	"ocl/tensor"
)

// buffer is the memory of a batch, reused from one to the next.
type buffer struct {
	x *tensor.Tensor // [b,C,H,W]
	y []ocl.Label
	// view is what is handed out: its extent and length shrink for an incomplete batch, without an allocation.
	view tensor.Tensor
}

func newBuffer(b int, set *data.Set) *buffer {
	x := tensor.New(b, set.C, set.H, set.W)
	return &buffer{x: x, y: make([]ocl.Label, b), view: tensor.Tensor{Shape: []int{b, set.C, set.H, set.W}}}
}

// fill decodes the images in list into buf.
func (s *Tasks) fill(buf *buffer, from *data.Split, list []int32) ocl.Batch {
	size, plane := s.set.ImageLen(), s.set.H*s.set.W
	for i, at := range list {
		pixels := from.Image(int(at), size)
		row := buf.x.Data[i*size : (i+1)*size]
		for c := range s.info.Pixels {
			value := &s.info.Pixels[c]
			src, dst := pixels[c*plane:(c+1)*plane], row[c*plane:(c+1)*plane]
			for p, v := range src {
				dst[p] = value[v]
			}
		}
		buf.y[i] = ocl.Label(from.Y[at])
	}
	buf.view.Shape[0] = len(list)
	buf.view.Data = buf.x.Data[:len(list)*size]
	return ocl.Batch{X: &buf.view, Y: buf.y[:len(list)]}
}

// pixelValues is the table from a byte to a network input, for each channel: v/255, or (v/255 - mean)/std.
func pixelValues(channels int, opts Options) [][256]float32 {
	table := make([][256]float32, channels)
	for c := range table {
		mean, std := 0.0, 1.0
		if len(opts.Mean) > 0 {
			mean = opts.Mean[c]
		}
		if len(opts.Std) > 0 {
			std = opts.Std[c]
		}
		for v := range table[c] {
			table[c][v] = float32((float64(v)/255 - mean) / std)
		}
	}
	return table
}
