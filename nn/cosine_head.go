package nn

import (
	"cmp"
	"fmt"

	"ocl/internal/kernel"
	"ocl/nn/internal/conv"
)

// cosineLayer is z_k = σ·cos(w_k, φ) on features, the head of LUCIR (Hou et al. 2019).
type cosineLayer struct {
	out   int
	w     convRef
	sigma int  // its offset
	fixed bool // σ is not learned
	first bool // as that of a linear layer
}

// cosine adds such a layer. scale is the σ that stays; 0 has it learned.
func (b *Builder) cosine(name string, out int, scale float64) {
	in := b.g.C
	l := &cosineLayer{first: len(b.net.info.Named) == 0, out: out,
		w: b.param(Param{Name: name + ".weight", In: in, Taps: 1, Out: out})}
	l.w.shared = true
	l.sigma = b.vector(name+".sigma", 1, cmp.Or(float32(scale), 1))
	l.fixed = scale > 0
	b.net.info.Named[len(b.net.info.Named)-1].Fixed = l.fixed
	b.count(in, 1, out, 1)
	b.net.layers = append(b.net.layers, l)
	b.g = conv.Sketch(true, out, 1, 1, 1)
}

type cosineState struct {
	l       *cosineLayer
	in, out conv.Layout
	conv    conv.Conv
	cos     []float32 // of the angles
	y, g    []float32
	x       []float32 // of the last forward pass
	rows    []float64 // 1/‖φ‖ of each image
	columns []float64 // 1/‖w_k‖
	slopes  []float64 // of a backward pass: Σ σ·g·cos by class
	version uint64    // of the parameters that columns are of
}

func (l *cosineLayer) bind(p *pass, in conv.Layout) (state, conv.Layout) {
	out := conv.ChannelLastLayout(l.out, 1, 1, in.N)
	s := &cosineState{l: l, in: in, out: out, conv: p.conv(in, out, conv.Window{Taps: 1, Stride: 1}, l.w)}
	s.cos, s.y = p.allocate(l.w.name+" cosines", out), p.allocate(l.w.name, out)
	s.rows, s.columns, s.slopes = make([]float64, in.N), make([]float64, l.out), make([]float64, l.out)
	if !p.inference {
		s.g = p.allocate("dlinear", in)
	}
	return s, out
}

func (s *cosineState) forward(p *pass, x []float32) []float32 {
	s.x = x
	s.conv.Forward(p.team, s.cos, x, p.images, kernel.Finish{})
	s.measure(p.net)
	sigma := p.net.params[s.l.sigma]
	for img := range p.images {
		inverse := inverseLength(x[img*s.in.PixelStride:][:s.in.C])
		s.rows[img] = inverse
		cos, y := s.cos[img*s.out.PixelStride:][:s.l.out], s.y[img*s.out.PixelStride:]
		for k, v := range cos {
			cos[k] = float32(float64(v) * inverse * s.columns[k])
			y[k] = cos[k] * sigma
		}
	}
	p.mark(s.l.w.name, "forward")
	return s.y
}

// measure makes columns those of the parameters.
func (s *cosineState) measure(n *Network) {
	if s.version == n.version {
		return
	}
	clear(s.columns)
	for w := s.l.w.of(n.params); len(w) > 0; w = w[s.l.out:] {
		for k, v := range w[:s.l.out] {
			s.columns[k] += float64(float64(v) * float64(v))
		}
	}
	for k, sum := range s.columns {
		s.columns[k] = inverseRoot(sum)
	}
	s.version = n.version
}

// backward turns the gradient g of an output into that of the product w_k·φ, which is σ·g/(‖w_k‖·‖φ‖). The gradients of
// w_k and φ that follow lose their parts along w_k and φ, because a cosine does not depend on lengths.
func (s *cosineState) backward(p *pass, g []float32) []float32 {
	sigma := float64(p.net.params[s.l.sigma])
	clear(s.slopes)
	for img := range p.images {
		row, cos := g[img*s.out.PixelStride:][:s.l.out], s.cos[img*s.out.PixelStride:]
		inverse, dSigma := s.rows[img], 0.0
		along := 0.0 // Σ σ·g·cos by image
		for k, v := range row {
			part := float64(float64(v) * float64(cos[k]))
			dSigma += part
			slope := float64(part * sigma)
			along += slope
			s.slopes[k] += slope
			row[k] = float32(float64(v) * sigma * inverse * s.columns[k])
		}
		if !s.l.fixed {
			p.rowOf(img)[s.l.sigma] += float32(dSigma)
		}
		s.rows[img] = float64(along * inverse * inverse)
		if p.samples != nil {
			s.shorten(p, img)
			clear(s.slopes)
		}
	}
	if p.samples == nil {
		s.shorten(p, 0)
	}
	p.weights(s.l.w, s.conv, g, s.x)
	if s.l.first || p.last {
		return nil
	}
	s.conv.InputGradient(p.team, s.g, g, p.images, nil)
	for img := range p.images {
		x := s.x[img*s.in.PixelStride:][:s.in.C]
		d := s.g[img*s.in.PixelStride:][:s.in.C]
		for i, v := range x {
			d[i] -= float32(float64(v) * s.rows[img])
		}
	}
	p.mark(s.l.w.name, "input gradient")
	return s.g
}

// shorten takes the parts along the weights from their gradients, those of an image's loss or of all.
func (s *cosineState) shorten(p *pass, img int) {
	for k, slope := range s.slopes {
		s.slopes[k] = float64(slope * s.columns[k] * s.columns[k])
	}
	w, d := s.l.w.of(p.net.params), s.l.w.of(p.rowOf(img))
	for ; len(w) > 0; w, d = w[s.l.out:], d[s.l.out:] {
		for k, slope := range s.slopes {
			d[k] -= float32(float64(w[k]) * slope)
		}
	}
}

func (l *cosineLayer) String() string { return fmt.Sprintf("cosine head of %d outputs", l.out) }
