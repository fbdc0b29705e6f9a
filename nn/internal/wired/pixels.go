package wired

import (
	"fmt"

	"ocl/internal/kernel"
	"ocl/nn/tensor"
)

// PixelErrors is the end of a decoder: a transposed convolution to the channels of an image, a sigmoid, and Σ (x − x̂)²
// over the values of an image. A row of the wiring is a decoded image; several may belong to one target.
type PixelErrors struct {
	Of    []int32   // for each row, which target it belongs to
	Sum   []float64 // of each row, after a forward pass
	Slope []float32 // of each row in a backward pass: its loss has the gradient Slope·(x̂ − x) of x̂

	out     *Map      // the pixels in blocks, see transposed
	c       int       // channels of an image
	targets []float32 // [B] maps
	inside  []float32 // of a map: 1 for values of the image, 0 for what lies around it or is padding
	set     *kernel.Set
}

// PixelErrors adds the end of a decoder to a section.
func (s *Section) PixelErrors(l Weights, in *Map) *PixelErrors {
	n, out := s.w.n, s.newMap(4*l.out, in.g.H+1, in.g.W+1)
	s.blocks(l, in, out, l.out, false)
	k := &PixelErrors{out: out, c: l.out, set: s.w.set, Of: make([]int32, n), Slope: make([]float32, n),
		Sum: make([]float64, n)}
	k.inside = make([]float32, k.size())
	k.eachValue(func(_, at int) { k.inside[at] = 1 })
	s.each(k.forward, k.backward)
	return k
}

// size is the floats of a map of one image.
func (k *PixelErrors) size() int { return k.out.g.Pixels() * k.out.g.PixelStride }

// Targets sets the images [B,C,H,W] that rows are compared with.
func (k *PixelErrors) Targets(x *tensor.Tensor) {
	h, w, size := k.sides()
	x.CheckShape("targets of a decoder", -1, k.c, h, w)
	if n := x.Dim(0) * size; n != len(k.targets) {
		k.targets = make([]float32, n)
	}
	for img := range x.Dim(0) {
		row, to := x.Row(img), k.targets[img*size:][:size]
		k.eachValue(func(value, at int) { to[at] = row[value] })
	}
}

func (k *PixelErrors) sides() (h, w, size int) {
	return 2 * (k.out.g.H - 1), 2 * (k.out.g.W - 1), k.size()
}

// Image copies the decoded image of a row to dst [C,H,W].
func (k *PixelErrors) Image(dst []float32, row int) {
	x := k.out.x[k.out.at(row):]
	k.eachValue(func(value, at int) { dst[value] = x[at] })
}

// eachValue calls f for each value of an image [C,H,W] and its place in a map.
func (k *PixelErrors) eachValue(f func(value, at int)) {
	h, w, _ := k.sides()
	for c := range k.c {
		for y := range h {
			for x := range w {
				f((c*h+y)*w+x, k.out.g.PixelAt(0, (y+1)/2, (x+1)/2)+((y+1)%2*2+(x+1)%2)*k.c+c)
			}
		}
	}
}

// of is a row's target and decoded image, with where the latter lies.
func (k *PixelErrors) of(row int) (target, x []float32, at int) {
	size, of := k.size(), int(k.Of[row])
	if of < 0 || (of+1)*size > len(k.targets) {
		panic(fmt.Sprintf("wired: PixelErrors: a row of target %d, which is not set", of))
	}
	at = k.out.at(row)
	return k.targets[of*size:][:size], k.out.x[at:][:size], at
}

func (k *PixelErrors) forward(_, row int) {
	target, x, _ := k.of(row)
	k.Sum[row] = k.set.SigmoidError(x, target, k.inside)
}

func (k *PixelErrors) backward(_, row int) {
	target, x, at := k.of(row)
	k.set.SigmoidErrorGrad(k.out.d[at:][:len(x)], x, target, k.inside, k.Slope[row])
}
