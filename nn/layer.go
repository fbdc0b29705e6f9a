package nn

import (
	"fmt"

	"ocl/nn/internal/conv"
	"ocl/nn/tensor"
)

// layer is one step of a network: a description without weights or caches, shared by copies of the network. bind makes
// its working state for a pass.
type layer interface {
	bind(p *pass, in conv.Layout) (state, conv.Layout)
	fmt.Stringer // what its buffers depend on, beside its input
}

// state is a layer's caches and buffers in one pass. x and g are activations and gradients in the engine's layouts.
type state interface {
	forward(p *pass, x []float32) []float32
	// backward adds the gradients of the parameters to those of the pass and returns that of the input, which the first
	// layer does not find.
	backward(p *pass, g []float32) []float32
}

// convRef says where a convolution's parameter lies.
type convRef struct {
	name string
	at   int
	size int
	// shared says that others than the convolution add to its gradient too
	shared bool
}

func (r convRef) of(v []float32) []float32 { return v[r.at : r.at+r.size] }

// stemLayer takes images in: they are copied into planes, convolved 3×3, normalised and rectified.
type stemLayer struct {
	out  int
	conv convRef
	norm normRef
}

type stemState struct {
	l       *stemLayer
	g, in   conv.Layout
	conv    conv.Conv
	bn      *norm
	x, z, y []float32
}

func (l *stemLayer) bind(p *pass, in conv.Layout) (state, conv.Layout) {
	g := conv.PlanesLayout(l.out, in.H, in.W, in.N)
	s := &stemState{l: l, g: g, in: in, conv: p.conv(in, g, conv.Window{Taps: 9, Stride: 1}, l.conv),
		bn: p.norm(g, true, l.norm)}
	s.x, s.y = p.buffer("input", in), p.activation(g)
	s.z = p.sum("z", s.conv, g, s.y)
	if !p.inference {
		s.bn.clearZ, _ = s.conv.Spills()
	}
	return s, g
}

// load copies images into planes.
func (s *stemState) load(x *tensor.Tensor) {
	for img := range x.Dim(0) {
		src := x.Row(img)
		for c := range s.in.C {
			for y := range s.in.H {
				copy(s.x[s.in.RowAt(c, img, y):][:s.in.W], src[(c*s.in.H+y)*s.in.W:])
			}
		}
	}
}

func (s *stemState) forward(p *pass, _ []float32) []float32 {
	p.convNorm(s.l.conv.name, s.conv, s.bn, s.in, s.y, s.z, s.x, nil)
	return s.y
}

func (s *stemState) backward(p *pass, g []float32) []float32 {
	dz := p.normBackward(s.l.conv, s.bn, g, s.y, s.z)
	p.weights(s.l.conv, s.conv, dz, s.x)
	return nil
}

// channelLastLayer turns planes into the channel-last layout.
type channelLastLayer struct{}

type channelLastState struct {
	r       *conv.Relayout
	in, out conv.Layout
	y, g    []float32
}

func (channelLastLayer) bind(p *pass, in conv.Layout) (state, conv.Layout) {
	out := conv.ChannelLastLayout(in.C, in.H, in.W, p.channelLastN)
	s := &channelLastState{r: conv.NewRelayout(p.set, in, out), in: in, out: out, y: p.buffer("channel-last", out)}
	if !p.inference {
		s.g = p.gradient(in)
	}
	return s, out
}

func (s *channelLastState) forward(p *pass, x []float32) []float32 {
	y, part := s.y[s.out.PixelAt(p.first, 0, 0):], p.imagesAtOnce(s.in, s.in)
	for first := 0; first < p.images; first += part {
		limit := min(first+part, p.images)
		p.writePending(first, limit)
		s.r.Run(p.team, y, x, first, limit, false)
	}
	p.pending = p.pending[:0]
	p.mark("to channel-last", "forward")
	return s.y
}

func (s *channelLastState) backward(p *pass, g []float32) []float32 {
	s.r.Run(p.team, s.g, g, 0, p.images, true)
	p.mark("to channel-last", "input gradient")
	return s.g
}
