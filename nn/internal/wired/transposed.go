package wired

import (
	"ocl/internal/kernel"
	"ocl/nn/internal/conv"
)

// transposedTaps is the pixels of the kernel of a transposed convolution: 4×4.
const transposedTaps = 16

// A transposed convolution with a kernel of 4×4 pixels, stride 2 and padding 1 adds each input pixel times the kernel
// to a square of 4×4 outputs, and the squares of neighbours overlap by half. So a block of 2×2 outputs sums the four
// inputs around it, each times another quarter of the kernel: it is a convolution with 2×2 taps to four times the
// channels, and no product is with a zero. Block (y, x) holds the output pixels (2y−1+i, 2x−1+j), of which channel o is
// channel (2i+j)·phase + o of the block. The first block begins above and left of the map.

// transposed turns weights [in][4×4][out] into those of the convolution to blocks, and its gradient back.
type transposed struct {
	ins, outs int
	phase     int       // channels from a pixel of a block to the next
	w         []float32 // [in][2×2][4·phase]; channels beyond outs stay zero
	dw        []float32
}

func newTransposed(l Weights, phase int) *transposed {
	n := l.in * 4 * 4 * phase
	return &transposed{ins: l.in, outs: l.out, phase: phase, w: make([]float32, n), dw: make([]float32, n)}
}

// each calls f with the first weight of each tap of an input in the network and in the convolution to blocks. Input
// (y+dy, x+dx) adds kernel pixel (i−2·dy, j−2·dx) to pixel (i, j) of block (y, x).
func (t *transposed) each(f func(from, to int)) {
	for pixel := range 4 {
		for tap := range 4 {
			ky, kx := pixel/2-2*(tap/2-1), pixel%2-2*(tap%2-1)
			for i := range t.ins {
				f((i*transposedTaps+ky*4+kx)*t.outs, ((i*4+tap)*4+pixel)*t.phase)
			}
		}
	}
}

func (t *transposed) expand(w []float32) []float32 {
	t.each(func(from, to int) { copy(t.w[to:to+t.outs], w[from:]) })
	return t.w
}

// bias sets the biases of a block's channels.
func (t *transposed) bias(dst, b []float32) {
	for pixel := range 4 {
		copy(dst[pixel*t.phase:], b)
	}
}

func (t *transposed) gradient(c *convolution, s *Section, images int) {
	clear(t.dw)
	c.conv.WeightGradient(s.w.team, t.dw, c.out.d, c.in.x, 0, images)
	dst := c.l.of(s.net.Grads())
	t.each(func(from, to int) { s.w.set.Axpy(dst[from:from+t.outs], t.dw[to:to+t.outs], 1) })
}

// blocks adds a transposed convolution from in to blocks of out, with bias, and a ReLU if relu is set. Its outputs are
// the channels of a pixel of out.
func (s *Section) blocks(l Weights, in, out *Map, phase int, relu bool) {
	c := &convolution{l: l, in: in, out: out, relu: relu, transposed: newTransposed(l, phase),
		f:      kernel.Finish{Scale: ones(out.g.C), Shift: make([]float32, conv.Reach(out.g.C)), Relu: relu},
		biases: biasGradient{m: out, at: l.bias, phase: phase, outs: l.out}}
	c.make(s, in.g, in.dg, out.g, conv.Window{Taps: 4, Stride: 1})
	s.count(l.in, transposedTaps, l.out, in.g.Pixels())
	s.layer(c, in)
}

// Transposed adds a transposed convolution with a kernel of 4×4 pixels, stride 2 and padding 1, which doubles the sides
// of a map, and a ReLU behind it if relu is set.
func (s *Section) Transposed(l Weights, in *Map, relu bool) *Map {
	u := &unblock{phase: (l.out + conv.ChannelPad - 1) / conv.ChannelPad * conv.ChannelPad}
	u.in = s.newMap(4*u.phase, in.g.H+1, in.g.W+1)
	s.blocks(l, in, u.in, u.phase, relu)
	u.out = s.newMap(l.out, 2*in.g.H, 2*in.g.W)
	s.each(u.forward, u.backward, u.in)
	return u.out
}

// unblock copies the pixels of blocks to a map of their own.
type unblock struct {
	in, out *Map
	phase   int
}

// pixels calls f with where each output pixel of an image begins, in the blocks and in the map.
func (u *unblock) pixels(img int, f func(block, pixel int)) {
	for y := range u.out.g.H {
		for x := range u.out.g.W {
			f(u.in.g.PixelAt(img, (y+1)/2, (x+1)/2)+((y+1)%2*2+(x+1)%2)*u.phase, u.out.g.PixelAt(img, y, x))
		}
	}
}

func (u *unblock) forward(_, img int) {
	u.pixels(img, func(block, pixel int) { copy(u.out.x[pixel:][:u.out.g.C], u.in.x[block:]) })
}

func (u *unblock) backward(_, img int) {
	clear(u.in.d[u.in.at(img):][:u.in.g.Pixels()*u.in.g.PixelStride]) // what blocks hold outside the map has no gradient
	u.pixels(img, func(block, pixel int) { copy(u.in.d[block:][:u.out.g.C], u.out.d[pixel:]) })
}
