package nn

import (
	"fmt"

	"ocl/internal/kernel"
	"ocl/internal/largepages"
	"ocl/nn/internal/conv"
	"ocl/nn/internal/workers"
	"ocl/nn/tensor"
)

// pass holds the states of all layers for batches of up to n images: activations, gradients, packed weights.
type pass struct {
	set  *kernel.Set
	team *workers.Team
	// inference says that the layer that binds or runs now shares its buffers with others and has no backward pass: each
	// layer where the pass does not learn, and the frozen ones where it does
	inference bool
	learns    bool // a backward pass can follow
	frozen    int  // the first layers, which infer
	lowest    int  // the first layer that gets a gradient
	// last says that the layer whose backward pass runs is the lowest one, and frozen ones are below it: nobody reads the
	// gradient of its input
	last             bool
	still            int // batch norms of frozen layers, the first ones
	states           []state
	n                int
	channelLastN     int                  // images that channel-last layers take at once: n, or more in inference
	channelLastFirst int                  // the first such layer
	first            int                  // of those, the image at which a part of n begins
	buffers          map[string][]float32 // that layers share, by role and layout
	parity           int                  // of the activation buffers, alternating in inference
	gradients        int                  // parity of the buffers of gradients

	features      []float32
	featureLayout conv.Layout
	logits        *tensor.Tensor
	featureOut    *tensor.Tensor
	dout          *tensor.Tensor // for the gradient of the logits, as a caller of Accumulate gives it
	dlogits       []float32
	outLayout     conv.Layout

	convs   []boundConv
	maker   conv.Maker
	norms   []*norm
	pending []*norm // whose outputs are still to be written, in this order
	packs   *packs
	brief   bool // weights are packed just before their use into room, see briefConv; packed says which lie there
	room    conv.Room
	packed  briefly
	job     packJob

	// the current batch
	net      *Network
	mode     Mode
	deferred bool // whoever runs the pass moves the running statistics
	images   int
	spent    bool          // a backward pass has written over the activations
	part     tensor.Tensor // the images of a part
	loss     lossTask
	meeting  *meeting  // of the gradients of weights, which then go there instead of to dst; nil: none
	own      []float32 // those of one convolution that come second to a meeting
	dst      []float32 // gradients of the parameters [P]; nil while per-sample gradients are made
	samples  []float32 // per-sample gradients [B,P], or nil

	profile *profile
}

// newPass makes the states of all layers for n images at a time. With parts = 0 a backward pass can follow. Otherwise
// the pass is for inference, and channel-last layers take parts·n images at once, because they read many more
// weights.
func newPass(net *Network, team *workers.Team, n, parts int, packs *packs) *pass {
	layers, frozen := net.passLayers()
	s := &pass{set: net.set, team: team, inference: parts > 0, learns: parts == 0, frozen: frozen, lowest: net.lowest(),
		n: n, channelLastN: n, buffers: map[string][]float32{}, packs: packs}
	s.brief = s.learns && frozen == 0 && team.Size() == 1
	s.maker = conv.Maker{Set: net.set, Algorithm: net.info.Engine.Convolution, Workers: team.Size()}
	of := net.inputLayout(n)
	g := conv.PlanesLayout(of.C, of.H, of.W, n)
	for i, l := range layers {
		s.inference = !s.learns || i < s.frozen
		s.maker.Inference = s.inference
		if _, ok := l.(channelLastLayer); ok {
			s.channelLastN = n * max(parts, 1)
			s.channelLastFirst = i + 1
		}
		var st state
		st, g = l.bind(s, g)
		s.states = append(s.states, st)
		if i < s.frozen {
			s.still = len(s.norms)
		}
	}
	s.inference = !s.learns
	s.outLayout = g
	s.dlogits = make([]float32, g.Size())
	s.logits = tensor.New(0, g.C)
	s.featureOut = tensor.New(0, net.info.FeatureDim)
	s.logits.Data = make([]float32, s.channelLastN*g.C)
	s.dout = tensor.New(n, g.C)
	s.featureOut.Data = make([]float32, s.channelLastN*net.info.FeatureDim)
	return s
}

// allocate returns a buffer of one layer alone, where a backward pass needs it; inference shares it by role and shape.
func (p *pass) allocate(role string, g conv.Layout) []float32 {
	if p.inference {
		return p.buffer(role, g)
	}
	return largepages.Floats(g.Size())
}

// buffer is shared by all layers that ask for the same role and shape. It starts as zeros, and so do the borders of
// planes that only vector kernels write to.
func (p *pass) buffer(role string, g conv.Layout) []float32 {
	key := fmt.Sprint(role, g)
	if p.buffers[key] == nil {
		p.buffers[key] = largepages.Floats(g.Size())
	}
	return p.buffers[key]
}

// activation returns a buffer for a layer's output. In inference two buffers alternate, because a block still reads its
// input.
func (p *pass) activation(g conv.Layout) []float32 {
	p.parity ^= 1
	return p.allocate(fmt.Sprint("activation", p.parity), g)
}

// sum returns the buffer for the output z of a convolution, from which batch norm computes y. A backward pass needs
// both z and y. In inference z and y are the same buffer, which halves the traffic through the caches, unless the
// convolution writes to the borders of y.
func (p *pass) sum(role string, c conv.Conv, g conv.Layout, y []float32) []float32 {
	if p.inference && c.Finishes() {
		return y
	}
	return p.allocate(role, g)
}

// gradient returns a buffer for the gradient of a layer's input. Two buffers alternate, because a block still reads the
// gradient of its output.
func (p *pass) gradient(g conv.Layout) []float32 {
	p.gradients ^= 1
	return p.buffer(fmt.Sprint("gradient", p.gradients), g)
}

func (p *pass) begin(net *Network, x *tensor.Tensor, mode Mode) {
	p.net, p.mode, p.images, p.pending, p.spent = net, mode, x.Dim(0), p.pending[:0], false
	p.pack(p.team, p.profile, net, false)
	p.profile.start()
	switch s := p.states[0].(type) {
	case *stemState:
		s.load(x)
	case *entryState:
		s.load(x)
	case *linearState:
		for img := range p.images {
			copy(s.x[img*s.in.PixelStride:], x.Row(img))
		}
	case *flattenState:
		for img := range p.images {
			copy(s.x[img*s.in.PixelStride:], x.Row(img))
		}
	}
	p.mark("input", "forward")
}

func (p *pass) forward(net *Network, x *tensor.Tensor, mode Mode) *tensor.Tensor {
	p.begin(net, x, mode)
	a := p.forwardFrozen()
	for _, s := range p.states[p.frozen:] {
		a = s.forward(p, a)
	}
	if mode == Train && !p.deferred {
		p.move()
	}
	return p.finish(a)
}

// forwardFrozen runs the frozen layers, which infer whatever the mode is.
func (p *pass) forwardFrozen() (a []float32) {
	if p.frozen == 0 {
		return nil
	}
	mode := p.mode
	p.mode, p.inference = Eval, true
	for _, b := range p.norms[:p.still] {
		b.settle(p.net)
	}
	for _, s := range p.states[:p.frozen] {
		a = s.forward(p, a)
	}
	p.mode, p.inference = mode, !p.learns
	return a
}

// infer returns the logits of up to channelLastN images in inference. Those of an image do not depend on the others.
func (p *pass) infer(net *Network, x *tensor.Tensor) *tensor.Tensor {
	all := x.Dim(0)
	var a []float32
	for p.first = 0; p.first < all; p.first += p.n {
		v := &p.part
		v.SetRows(x, p.first, min(p.first+p.n, all))
		p.begin(net, v, Eval)
		a = nil
		for _, s := range p.states[:p.channelLastFirst] {
			a = s.forward(p, a)
		}
	}
	p.images = all
	for _, s := range p.states[p.channelLastFirst:] {
		a = s.forward(p, a)
	}
	return p.finish(a)
}

// finish copies the outputs of the last layer that are active.
func (p *pass) finish(a []float32) *tensor.Tensor {
	k := p.net.outputs()
	p.logits.Shape[0], p.logits.Shape[1] = p.images, k
	p.logits.Data = p.logits.Data[:p.images*k]
	for img := range p.images {
		copy(p.logits.Row(img), a[img*p.outLayout.PixelStride:])
	}
	return p.logits
}

func (p *pass) backward(d *tensor.Tensor) {
	net := p.net
	p.spent = true
	p.pack(p.team, p.profile, net, true)
	p.profile.start()
	for img := range p.images {
		row := p.dlogits[img*p.outLayout.PixelStride:][:p.outLayout.C]
		clear(row[copy(row, d.Row(img)):])
	}
	g := p.dlogits
	for i := len(p.states) - 1; i >= p.lowest; i-- {
		p.last = i == p.lowest && p.frozen > 0
		g = p.states[i].backward(p, g)
	}
}

// convNorm writes y = relu?(norm(conv(x)) + res?): by running statistics in inference with the convolution alone where
// it can. Otherwise it goes through z. In planes y then stays pending: whoever reads it next has it written, part by
// part, so that a part is still in the second-level cache when it is read. x has the layout in.
func (p *pass) convNorm(layer string, c conv.Conv, b *norm, in conv.Layout, y, z, x, res []float32) {
	if p.folds(c) {
		p.flush()
		c.Forward(p.team, y, x, p.images, b.finish(res))
		p.mark(layer, "forward")
		return
	}
	b.begin(p.net, p.mode, y, z, res, p.images)
	if b.g.ChannelLast {
		c.Forward(p.team, z, x, p.images, kernel.Finish{})
		p.mark(layer, "forward")
		b.forward(p.team)
		p.mark(layer, "norm")
		return
	}
	part := p.partOf(c, in, b.g)
	for first := 0; first < p.images; first += part {
		limit := min(first+part, p.images)
		p.writePending(first, limit)
		p.mark(layer, "norm")
		p.convolve(layer, c, b, in, x, first, limit)
	}
	p.pending = append(p.pending[:0], b)
	b.settleBatch(p.team)
	p.mark(layer, "norm")
}

// folds says whether a convolution finishes with the batch norm behind it.
func (p *pass) folds(c conv.Conv) bool { return p.inference && p.mode == Eval && c.Finishes() }

// convolve does images [first, limit) of a convolution in planes and adds up what came of it.
func (p *pass) convolve(layer string, c conv.Conv, b *norm, in conv.Layout, x []float32, first, limit int) {
	c.Forward(p.team, b.z[b.g.ImageAt(first):], x[in.ImageAt(first):], limit-first, kernel.Finish{})
	p.mark(layer, "forward")
	b.observe(p.team, first, limit)
	p.mark(layer, "norm")
}

// writePending writes images [first, limit) of the outputs that are pending.
func (p *pass) writePending(first, limit int) {
	for _, b := range p.pending {
		b.write(p.team, first, limit)
	}
}

// flush writes all that is pending, for whoever reads it as a whole.
func (p *pass) flush() {
	p.writePending(0, p.images)
	p.pending = p.pending[:0]
}

// partBytes is the most bytes of input and output of a convolution that a worker has at once where a batch is large.
const partBytes = 768 << 10

// partOf is the number of images that a convolution in planes takes at once. Training batches are small: each
// worker's share of them fits its cache. A convolution that writes to borders takes all images, because it also
// writes beyond the last image of a part, where something pending may not have been read yet (see sum).
func (p *pass) partOf(c conv.Conv, in, out conv.Layout) int {
	if !p.inference || !c.Finishes() {
		return p.images
	}
	return p.imagesAtOnce(in, out)
}

// imagesAtOnce is the number of images whose input and output fit the caches of all workers.
func (p *pass) imagesAtOnce(in, out conv.Layout) int {
	return max(1, p.team.Size()*partBytes/4/(in.ImageFloats()+out.ImageFloats()))
}

// settle makes the batch norms of an inference pass ready.
func (p *pass) settle(net *Network) {
	for _, b := range p.norms {
		b.settle(net)
	}
}

// move moves the running statistics of all batch norms towards those of the batch.
func (p *pass) move() {
	for _, b := range p.norms[p.still:] {
		b.move()
	}
}

// normBackward is the backward pass of the batch norm behind a convolution. It masks g by y > 0 where a ReLU follows,
// turns z into its gradient and returns it.
func (p *pass) normBackward(r convRef, b *norm, g, y, z []float32) []float32 {
	var samples func()
	if p.samples != nil {
		samples = func() {
			for img := range p.images {
				b.perSample(p.rowOf(img), img)
			}
		}
	}
	b.backward(p.team, p.dst, g, y, z, p.images, samples)
	p.mark(r.name, "norm backward")
	return z
}

// weights adds the gradient of a convolution's weights, for the batch or sample by sample.
func (p *pass) weights(r convRef, c conv.Conv, dz, x []float32) {
	switch {
	case p.meeting != nil && !r.shared:
		p.meetAt(r, func(dst []float32) { c.WeightGradient(p.team, dst, dz, x, 0, p.images) })
	case p.samples == nil:
		c.WeightGradient(p.team, r.of(p.dst), dz, x, 0, p.images)
	default:
		for img := range p.images {
			c.WeightGradient(p.team, r.of(p.rowOf(img)), dz, x, img, img+1)
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

func (p *pass) mark(layer, work string) { p.profile.mark(layer, work) }
