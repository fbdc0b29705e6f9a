package nn

import (
	"ocl/internal/kernel"
	"ocl/internal/portable"
	"ocl/nn/internal/conv"
)

// poolLayer is average pooling by windows of side×side at a stride of side, rounding down, and flattening to features
// in the order (c, y, x).
type poolLayer struct{ side int }

type poolState struct {
	side    int
	in, out conv.Layout // out: features as one pixel
	oh, ow  int
	sums    []float32 // of a window, one a channel
	y, g    []float32
}

func (l poolLayer) bind(p *pass, in conv.Layout) (state, conv.Layout) {
	oh, ow := in.H/l.side, in.W/l.side
	out := conv.ChannelLastLayout(in.C*oh*ow, 1, 1, in.N)
	s := &poolState{side: l.side, in: in, out: out, oh: oh, ow: ow, sums: make([]float32, in.C),
		y: p.buffer("features", out)}
	p.features = s.y
	p.featureLayout = out
	if !p.inference {
		s.g = p.gradient(in)
	}
	return s, out
}

func (s *poolState) forward(p *pass, x []float32) []float32 {
	scale := 1 / float32(s.side*s.side)
	for img := range p.images {
		for oy := range s.oh {
			for ox := range s.ow {
				clear(s.sums)
				for k := range s.side * s.side {
					for c, v := range x[s.in.PixelAt(img, oy*s.side+k/s.side, ox*s.side+k%s.side):][:len(s.sums)] {
						s.sums[c] += v
					}
				}
				y := s.y[img*s.out.PixelStride+oy*s.ow+ox:]
				for c, v := range s.sums {
					y[c*s.oh*s.ow] = v * scale
				}
			}
		}
	}
	p.mark("pool", "forward")
	return s.y
}

func (s *poolState) backward(p *pass, g []float32) []float32 {
	clear(s.g) // pixels beyond the last window get no gradient
	scale := 1 / float32(s.side*s.side)
	for img := range p.images {
		for y := range s.oh * s.side {
			for x := range s.ow * s.side {
				dst := s.g[s.in.PixelAt(img, y, x):][:s.in.C]
				src := g[img*s.out.PixelStride+(y/s.side)*s.ow+x/s.side:]
				for c := range dst {
					dst[c] = src[c*s.oh*s.ow] * scale
				}
			}
		}
	}
	p.mark("pool", "input gradient")
	return s.g
}

// linearLayer is y = x·W + b on features, with a ReLU or a cosine behind it unless it is the head (survey §biased_fc,
// eq: logit).
type linearLayer struct {
	out  int
	w    convRef
	bias int
	relu bool
	wave bool // cos y, and not y
	// features: the outputs are the features of the network
	features bool
	// input: the features are the images themselves
	input bool
	first bool // no layer before it has parameters, so nobody asks for the gradient of its input
}

type linearState struct {
	l         *linearLayer
	in, out   conv.Layout
	conv      conv.Conv
	x, y, g   []float32
	slope     []float32 // −sin y of a wave, in training
	lastInput []float32
}

func (l *linearLayer) bind(p *pass, in conv.Layout) (state, conv.Layout) {
	if l.input {
		in = conv.ChannelLastLayout(in.C*in.H*in.W, 1, 1, in.N)
	}
	out := conv.ChannelLastLayout(l.out, 1, 1, in.N)
	s := &linearState{l: l, in: in, out: out, conv: p.conv(in, out, conv.Window{Taps: 1, Stride: 1}, l.w)}
	s.y = p.allocate(l.w.name, out)
	if l.input {
		s.x = p.allocate("input", in)
	}
	if l.features {
		p.features, p.featureLayout = s.y, out
	}
	if !p.inference {
		s.g = p.allocate("dlinear", in)
		if l.wave {
			s.slope = p.allocate("slope", out)
		}
	}
	return s, out
}

func (s *linearState) forward(p *pass, x []float32) []float32 {
	if s.l.input {
		x = s.x
	}
	s.lastInput = x
	s.conv.Forward(p.team, s.y, x, p.images, kernel.Finish{})
	bias := p.net.params[s.l.bias : s.l.bias+s.l.out]
	for img := range p.images {
		y := s.y[img*s.out.PixelStride:][:s.l.out]
		for o := range y {
			y[o] += bias[o]
			if s.l.relu && y[o] <= 0 {
				y[o] = 0
			}
		}
		if s.l.wave {
			s.waves(y, img*s.out.PixelStride)
		}
	}
	p.mark(s.l.w.name, "forward")
	return s.y
}

// waves takes the cosines of the outputs of an image, which begin at a place.
func (s *linearState) waves(y []float32, at int) {
	for o, v := range y {
		sin, cos := portable.Sincos(float64(v))
		y[o] = float32(cos)
		if s.slope != nil {
			s.slope[at+o] = float32(-sin)
		}
	}
}

func (s *linearState) backward(p *pass, g []float32) []float32 {
	for img := range p.images {
		row := g[img*s.out.PixelStride:][:s.l.out]
		bias := p.rowOf(img)[s.l.bias:][:s.l.out]
		y := s.y[img*s.out.PixelStride:]
		for o := range row {
			if s.l.relu && y[o] <= 0 {
				row[o] = 0
			}
			if s.l.wave {
				row[o] *= s.slope[img*s.out.PixelStride+o]
			}
			bias[o] += row[o]
		}
	}
	p.weights(s.l.w, s.conv, g, s.lastInput)
	if s.l.first || p.last {
		return nil
	}
	s.conv.InputGradient(p.team, s.g, g, p.images, nil)
	p.mark(s.l.w.name, "input gradient")
	return s.g
}
