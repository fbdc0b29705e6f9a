package stream

import (
	"math/rand/v2"

	"ocl"
	"ocl/data"
	"ocl/internal/rng"
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

// fill decodes the pictures in list into buf; place is the position of the first of them in its task.
func (s *Tasks) fill(buf *buffer, from *data.Split, list []int32, place int, aug *augmenter) ocl.Batch {
	size, plane := s.set.ImageLen(), s.set.H*s.set.W
	for i, at := range list {
		pixels := from.Image(int(at), size)
		if aug != nil {
			pixels = aug.apply(pixels, place+i)
		}
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

// augmenter crops a picture at random after padding it with black, and mirrors it with probability ½. Its generator is
// seeded anew for every sample: the draws depend on the seed, the task and the sample's place in it, so that a run resumed
// in mid-task sees the same pictures.
type augmenter struct {
	c, h, w, pad int
	base         uint64
	pcg          rand.PCG
	rand         *rand.Rand
	out          []uint8
}

func newAugmenter(set *data.Set) *augmenter {
	// An eighth of the side is the usual 4 pixels at 32×32.
	a := &augmenter{c: set.C, h: set.H, w: set.W, pad: (max(set.H, set.W) + 7) / 8, out: make([]uint8, set.ImageLen())}
	a.rand = rand.New(&a.pcg)
	return a
}

// begin takes the numbers of what the source is named after, a task.
func (a *augmenter) begin(seed uint64, source string) { a.base = rng.New(seed, source).Uint64() }

// apply returns the changed picture; it is valid until the next call.
func (a *augmenter) apply(pixels []uint8, place int) []uint8 {
	a.pcg.Seed(a.base, uint64(place))
	dy, dx := a.rand.IntN(2*a.pad+1)-a.pad, a.rand.IntN(2*a.pad+1)-a.pad
	flip := a.rand.IntN(2) == 1
	clear(a.out)
	for c := range a.c {
		src, dst := pixels[c*a.h*a.w:], a.out[c*a.h*a.w:]
		for y := range a.h {
			if y+dy < 0 || y+dy >= a.h {
				continue
			}
			for x := range a.w {
				from := x + dx
				if flip {
					from = a.w - 1 - from
				}
				if from >= 0 && from < a.w {
					dst[y*a.w+x] = src[(y+dy)*a.w+from]
				}
			}
		}
	}
	return a.out
}
