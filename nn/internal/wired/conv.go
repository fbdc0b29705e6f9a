package wired

import (
	"fmt"

	"ocl/internal/kernel"
	"ocl/nn"
	"ocl/nn/internal/conv"
)

// convolution is a convolution, or a linear layer as one of a map of one pixel, with bias and ReLU where they are.
type convolution struct {
	l       Weights
	in, out *Map
	relu    bool
	conv    conv.Conv // of all input channels
	own     conv.Conv // of those that have a gradient; conv where all have
	f       kernel.Finish
	biases  biasGradient
	// where weights have another form in the convolution than in the network
	transposed *transposed
}

// Conv adds a convolution of in with zeros around it, of 1×1 or 3×3 pixels, with stride 1 or 2. A ReLU follows if relu
// is set, which only a convolution with bias can have.
func (s *Section) Conv(l Weights, in *Map, stride int, relu bool) *Map {
	w := conv.Window{Taps: l.taps, Stride: stride}
	out := s.newMap(l.out, w.Out(in.g.H), w.Out(in.g.W))
	s.convolve(l, in, out, w, relu)
	return out
}

// Linear adds y = x·W + b on a map of one pixel, with a ReLU if relu is set.
func (s *Section) Linear(l Weights, in *Map, relu bool) *Map {
	out := s.newMap(l.out, 1, 1)
	s.convolve(l, in, out, conv.Window{Taps: 1, Stride: 1}, relu)
	return out
}

func (s *Section) convolve(l Weights, in, out *Map, w conv.Window, relu bool) {
	if in.g.C != l.in || relu && l.bias < 0 {
		panic(fmt.Sprintf("wired: %s: %d inputs for a layer of %d, ReLU %v, biases at %d", l.name, in.g.C, l.in, relu, l.bias))
	}
	c := &convolution{l: l, in: in, out: out, relu: relu}
	c.make(s, in.g, in.dg, out.g, w)
	if l.bias >= 0 {
		c.f = kernel.Finish{Scale: ones(l.out), Shift: make([]float32, conv.Reach(l.out)), Relu: relu}
		c.biases = biasGradient{m: out, at: l.bias, phase: l.out, outs: l.out}
	}
	s.count(l.in, l.taps, l.out, out.g.Pixels())
	s.layer(c, in)
}

// make makes the convolutions.
func (c *convolution) make(s *Section, in, own, out conv.Layout, w conv.Window) {
	c.conv = s.maker().Make(in, out, w, &conv.Packed{})
	c.own = c.conv
	if c.in.skip > 0 && c.in.learns {
		c.own = s.maker().Make(own, out, w, &conv.Packed{})
	}
	if c.f.Scale != nil && !c.conv.Finishes() {
		panic("wired: a convolution that does not finish")
	}
}

func ones(n int) []float32 {
	v := make([]float32, conv.Reach(n))
	for i := range v {
		v[i] = 1
	}
	return v
}

func (c *convolution) packForward(net *nn.Network) {
	w := c.l.of(net.Params())
	if c.transposed != nil {
		w = c.transposed.expand(w)
	}
	c.conv.PackForward(w)
	switch b := c.l.bias; {
	case c.transposed != nil:
		c.transposed.bias(c.f.Shift, net.Params()[b:b+c.l.out])
	case b >= 0:
		copy(c.f.Shift, net.Params()[b:b+c.l.out])
	}
}

func (c *convolution) packBackward(net *nn.Network) {
	if !c.in.learns {
		return
	}
	w := c.l.of(net.Params())
	if c.transposed != nil {
		w = c.transposed.expand(w)
	}
	c.own.PackBackward(w[c.in.skip*(len(w)/c.in.g.C):])
}

func (c *convolution) forward(s *Section, images int) {
	c.conv.Forward(s.w.team, c.out.x, c.in.x, images, c.f)
}

func (c *convolution) backward(s *Section, images int) {
	team := s.w.team
	if c.l.bias >= 0 {
		c.biases.run(s, images, c.relu)
	}
	if c.transposed != nil {
		c.transposed.gradient(c, s, images)
	} else {
		c.conv.WeightGradient(team, c.l.of(s.net.Grads()), c.out.d, c.in.x, 0, images)
	}
	if !c.in.learns {
		return
	}
	var res []float32
	if c.in.written {
		res = c.in.d
	}
	c.own.InputGradient(team, c.in.d, c.out.d, images, res)
	c.in.written = true
}

// biasGradient masks the gradient of a map by its ReLU and adds up that of the biases, image by image and then over the
// images in their order. Every phase-th channel, one for each pixel of a block, has the same
// bias.
type biasGradient struct {
	m           *Map
	at          int // of the biases
	phase, outs int
	relu        bool
	set         *kernel.Set
	sums        []float32 // [N,C]
}

func (b *biasGradient) run(s *Section, images int, relu bool) {
	if b.sums == nil {
		b.sums = make([]float32, b.m.g.N*b.m.g.C)
	}
	b.set, b.relu = s.w.set, relu
	s.w.team.Run(b, images)
	dst := s.net.Grads()[b.at : b.at+b.outs]
	for at := 0; at < images*b.m.g.C; at += b.phase {
		b.set.Axpy(dst, b.sums[at:at+b.outs], 1)
	}
}

// DoChunk implements [workers.Task].
func (b *biasGradient) DoChunk(_, img int) {
	g := b.m.dg
	size := g.Pixels() * g.PixelStride
	d := b.m.d[img*size:][:size]
	if b.relu {
		b.set.ReLUGrad(d, b.m.x[img*size:][:size])
	}
	sums := b.sums[img*g.C : (img+1)*g.C]
	clear(sums)
	b.set.ChannelLastSums(sums, d, g.Pixels(), g.PixelStride)
}

// Flatten adds the pixels of a map as one pixel of C·H·W channels, in the order (y, x, c), those without a gradient
// first.
func (s *Section) Flatten(in *Map) *Map {
	pixels := in.g.Pixels()
	out := s.newMap(in.g.C*pixels, 1, 1)
	out.skip = in.skip * pixels
	out.dg, out.learns = conv.ChannelLastLayout(in.own()*pixels, 1, 1, s.w.n), in.learns
	skip, own := in.skip, in.own()
	s.each(func(_, img int) {
		flat, x := out.Row(img), in.x[in.at(img):]
		for p := range pixels {
			px := x[p*in.g.PixelStride:]
			copy(flat[p*skip:(p+1)*skip], px)
			copy(flat[skip*pixels+p*own:][:own], px[skip:])
		}
	}, func(_, img int) {
		d, flat := in.d[in.dg.PixelAt(img, 0, 0):], out.Gradient(img)
		for p := range pixels {
			copy(d[p*in.dg.PixelStride:][:own], flat[p*own:])
		}
	}, in)
	return out
}

// Unflatten shows a map of one pixel, in the order (y, x, c), as c channels of h×w pixels. Both are the same memory.
func (s *Section) Unflatten(in *Map, c, h, w int) *Map {
	if c*h*w != in.g.C || c%conv.ChannelPad != 0 || in.skip > 0 {
		panic(fmt.Sprintf("wired: Unflatten: %d values as %d channels of %d×%d. Give as many, and a multiple of %d channels",
			in.g.C, c, h, w, conv.ChannelPad))
	}
	g := conv.Layout{ChannelLast: true, C: c, H: h, W: w, N: s.w.n, PixelStride: c}
	return s.show(&Map{g: g, dg: g, learns: in.learns}, in)
}
