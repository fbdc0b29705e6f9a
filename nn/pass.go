package nn

import (
	"fmt"
	"time"

	"ocl/internal/kernel"
	"ocl/tensor"
)

// pass holds the states of all layers for batches of up to n images: activations, gradients, packed weights.
type pass struct {
	set       *kernel.Set
	pool      *pool
	inference bool // buffers are shared between layers; there is no backward pass
	states    []state
	n         int
	buffers   map[string][]float32
	parity    int // of the activation buffers, alternating in inference

	features    []float32
	featureGeom geom
	logits      *tensor.Tensor
	featureOut  *tensor.Tensor
	inputGrad   *tensor.Tensor
	dlogits     []float32
	outGeom     geom

	packedForward, packedBackward uint64 // versions of the packed weights

	// the current batch
	net       *Network
	mode      Mode
	images    int
	wantInput bool
	dst       []float32 // gradients of the parameters [P]; nil while per-sample gradients are made
	samples   []float32 // per-sample gradients [B,P], or nil

	profile *profile
}

func newPass(net *Network, p *pool, n int, inference bool) *pass {
	s := &pass{set: net.set, pool: p, inference: inference, n: n, buffers: map[string][]float32{}}
	g := planesGeom(net.c, net.h, net.w, n)
	for _, l := range net.layers {
		var st state
		st, g = l.bind(s, g)
		s.states = append(s.states, st)
	}
	s.outGeom = g
	s.dlogits = make([]float32, g.size())
	s.logits = tensor.New(0, net.classes)
	s.featureOut = tensor.New(0, net.featureDim)
	s.logits.Data = make([]float32, n*net.classes)
	s.featureOut.Data = make([]float32, n*net.featureDim)
	return s
}

// own is a buffer of one layer alone, where a backward pass needs it; inference shares it by role and shape.
func (p *pass) own(role string, g geom) []float32 {
	if p.inference {
		return p.buffer(role, g)
	}
	return make([]float32, g.size())
}

// buffer is shared by all layers that ask for the same role and shape. It starts as zeros, and so do the borders of
// planes that only vector kernels write to.
func (p *pass) buffer(role string, g geom) []float32 {
	key := fmt.Sprint(role, g)
	if p.buffers[key] == nil {
		p.buffers[key] = make([]float32, g.size())
	}
	return p.buffers[key]
}

// activation is a layer's output; in inference two buffers take turns, since a block still reads its input.
func (p *pass) activation(g geom) []float32 {
	p.parity ^= 1
	return p.own(fmt.Sprint("activation", p.parity), g)
}

func (p *pass) begin(net *Network, x *tensor.Tensor, mode Mode) {
	p.net, p.mode, p.images = net, mode, x.Dim(0)
	p.startMark()
	if p.packedForward != net.version {
		for _, s := range p.states {
			s.pack(p, false)
		}
		p.packedForward = net.version
		p.mark("weights", "pack forward")
	}
	switch s := p.states[0].(type) {
	case *stemState:
		s.load(x)
	case *linearState:
		for img := range p.images {
			copy(s.x[img*s.in.cs:], x.Row(img))
		}
	}
	p.mark("input", "forward")
}

func (p *pass) forward(net *Network, x *tensor.Tensor, mode Mode) *tensor.Tensor {
	p.begin(net, x, mode)
	var a []float32
	for _, s := range p.states {
		a = s.forward(p, a)
	}
	p.logits.Shape[0] = p.images
	p.logits.Data = p.logits.Data[:p.images*net.classes]
	for img := range p.images {
		copy(p.logits.Row(img), a[img*p.outGeom.cs:])
	}
	return p.logits
}

func (p *pass) backward(d *tensor.Tensor, wantInput bool) {
	net := p.net
	p.startMark()
	if p.packedBackward != net.version || wantInput && !p.wantInput {
		p.wantInput = wantInput
		for _, s := range p.states {
			s.pack(p, true)
		}
		p.packedBackward = net.version
		p.mark("weights", "pack backward")
	}
	p.wantInput = wantInput
	for img := range p.images {
		copy(p.dlogits[img*p.outGeom.cs:][:net.classes], d.Row(img))
	}
	g := p.dlogits
	for i := len(p.states) - 1; i >= 0; i-- {
		g = p.states[i].backward(p, g, i > 0 || wantInput)
	}
}

// weights adds the gradient of a convolution's weights, for the batch or sample by sample, and in the latter case that
// of the batch norm behind it.
func (p *pass) weights(r convRef, c conv, bn *norm, dz, x []float32) {
	if p.samples == nil {
		c.weights(p.pool, r.of(p.dst), dz, x, 0, p.images)
	} else {
		for img := range p.images {
			row := p.rowOf(img)
			if bn != nil {
				bn.perSample(row, img)
			}
			c.weights(p.pool, r.of(row), dz, x, img, img+1)
		}
	}
	p.mark(r.name, "weight gradient")
}

// rowOf is where the gradients of an image's loss are added.
func (p *pass) rowOf(img int) []float32 {
	if p.samples == nil {
		return p.dst
	}
	n := len(p.net.params)
	return p.samples[img*n : (img+1)*n]
}

// LayerTime is the time one layer spent on one kind of work since profiling began.
type LayerTime struct {
	Layer, Work string
	Time        time.Duration
}

type profile struct {
	last  time.Time
	index map[[2]string]int
	times []LayerTime
}

func (p *pass) startMark() {
	if p.profile != nil {
		p.profile.last = time.Now()
	}
}

// mark books the time since the last mark on a layer.
func (p *pass) mark(layer, work string) {
	if p.profile == nil {
		return
	}
	now := time.Now()
	key := [2]string{layer, work}
	i, ok := p.profile.index[key]
	if !ok {
		i = len(p.profile.times)
		p.profile.index[key] = i
		p.profile.times = append(p.profile.times, LayerTime{Layer: layer, Work: work})
	}
	p.profile.times[i].Time += now.Sub(p.profile.last)
	p.profile.last = now
}
