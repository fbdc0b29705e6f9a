// Package wired holds the layers of the networks of CN-DPM's experts, which are no chain: networks that read the maps
// of others. Package arch wires them. It shares convolutions, kernels and workers with package nn. Start at [Wiring].
package wired

import (
	"fmt"
	"slices"

	"ocl/internal/kernel"
	"ocl/nn"
	"ocl/nn/internal/conv"
	"ocl/nn/internal/workers"
	"ocl/nn/tensor"
)

// Wiring is the layers of networks that are no chain, in the order in which they run, with room for batches of up to a
// number of images. Several networks can be wired together: each has a [Section] of layers. A section may
// read what an earlier one wrote into a [Trunk], and no gradient passes from one to the other. The maps are
// channel-last (docs/engine.md). A wiring runs with the workers of its workspace, between the passes of that one.
//
// A layer is added by a method of its section, which returns the map that it writes. Forward runs all layers, and
// Backward of a section those of the section in reverse. As in a [nn.Workspace], no sum is split over workers, and the
// values of an image do not depend on the other images of its batch.
//
// Sections share the memory of their maps (memory.go). After Forward only trunks, the maps where sections end and
// those of the last section hold their values.
type Wiring struct {
	ws       *nn.Workspace
	team     team
	engine   nn.Engine
	makers   [2]conv.Maker // of sections that do not learn, and of those that do
	set      *kernel.Set
	n        int // most images
	images   int // of the last Forward
	sections []*Section
	placed   bool      // maps have memory
	x, d     []float32 // that sections share, of values and of gradients
	holder   *Section  // whose values are in x
	packing  packSections
}

// team is the workers of a workspace, as convolutions use them.
type team struct{ *nn.Workspace }

// Size implements [conv.Team].
func (t team) Size() int { return t.Workers() }

// Run implements [conv.Team].
func (t team) Run(task workers.Task, chunks int) { t.Workspace.Run(task, chunks) }

// New starts a wiring for up to n images at a time, of networks with an engine.
func New(ws *nn.Workspace, e nn.Engine, n int) *Wiring {
	if n < 1 {
		panic(fmt.Sprintf("wired: room for %d images. Give room for at least 1", n))
	}
	w := &Wiring{ws: ws, team: team{ws}, engine: e, set: kernel.Named(e.Kernel), n: n}
	for i := range w.makers {
		w.makers[i] = conv.Maker{Set: w.set, Algorithm: e.Convolution, Workers: ws.Workers(), Inference: i == 0, Narrow: true}
	}
	return w
}

// Map is the values of a batch between two layers, C channels of H×W pixels for each image, and their gradient.
type Map struct {
	g conv.Layout
	x []float32
	// channels [skip, C) have a gradient, in a layout of its own, where learns is set
	skip    int
	dg      conv.Layout
	d       []float32
	learns  bool
	written bool // in this backward pass: whoever comes next adds
	place   place
}

// own is the number of channels that have a gradient.
func (m *Map) own() int { return m.g.C - m.skip }

// Row is the values of a map of 1×1 pixels for an image.
func (m *Map) Row(img int) []float32 { return m.x[m.at(img):][:m.g.C] }

// Gradient is the gradient of such a map for an image, to be written before a backward pass or read after it, with no
// backward pass of another section between.
func (m *Map) Gradient(img int) []float32 { return m.d[img*m.dg.PixelStride:][:m.own()] }

// at is where an image begins.
func (m *Map) at(img int) int { return m.g.PixelAt(img, 0, 0) }

func write(dst, src []float32, g conv.Layout, img int) {
	for p := range g.Pixels() {
		to := dst[g.PixelAt(img, p/g.W, p%g.W):][:g.C]
		for c := range to {
			to[c] = src[c*g.Pixels()+p]
		}
	}
}

// Input is a map of c channels of h×w pixels that Load fills. It has a gradient if gradient is set.
func (w *Wiring) Input(c, h, width int, gradient bool) *Map {
	g := conv.ChannelLastLayout(c, h, width, w.n)
	m := &Map{g: g, x: make([]float32, g.Size()), learns: gradient}
	if gradient {
		m.dg, m.d = g, make([]float32, g.Size())
	}
	return m
}

// Load copies images x [B,C,H,W] into an input.
func (m *Map) Load(x *tensor.Tensor) {
	x.CheckShape("images of a wiring", -1, m.g.C, m.g.H, m.g.W)
	for img := range x.Dim(0) {
		write(m.x, x.Row(img), m.g, img)
	}
}

// Trunk is the maps of several sections side by side: each section reads its own channels behind those of the sections
// before it. The maps before its own have no gradient for it.
type Trunk struct {
	w    *Wiring
	g    conv.Layout
	x    []float32
	used int
}

// Trunk makes room for c channels of h×w pixels in all.
func (w *Wiring) Trunk(c, h, width int) *Trunk {
	g := conv.ChannelLastLayout(c, h, width, w.n)
	return &Trunk{w: w, g: g, x: make([]float32, g.Size())}
}

// Section is the layers of one network in a wiring.
type Section struct {
	w      *Wiring
	net    *nn.Network
	learns bool
	layers []layer
	reads  []*Map // by layers, which write their gradients
	maps   []*Map // that its layers write or show
	flops  int64  // of one image's forward pass
	packed struct {
		net               *nn.Network
		forward, backward uint64
	}
}

// Section begins the layers of a network. Only one that learns has a backward pass. It panics where the network has
// another engine than the wiring.
func (w *Wiring) Section(net *nn.Network, learns bool) *Section {
	if e := net.Info().Engine; e != w.engine {
		panic(fmt.Sprintf("wired: Section: a network with the engine %v, in a wiring with %v. Give both one engine", e,
			w.engine))
	}
	s := &Section{w: w, net: net, learns: learns}
	w.sections = append(w.sections, s)
	return s
}

// maker makes the convolutions of the section.
func (s *Section) maker() *conv.Maker {
	if s.learns {
		return &s.w.makers[1]
	}
	return &s.w.makers[0]
}

// Use makes another network of the same shape the section's.
func (s *Section) Use(net *nn.Network) {
	if own, other := s.net.Info(), net.Info(); own.Engine != other.Engine || !slices.Equal(own.Named, other.Named) {
		panic(fmt.Sprintf("wired: Use: a section with %v and %v, got a network with %v and %v. Use a network of the same shape",
			own.Engine, own.Named, other.Engine, other.Named))
	}
	s.net = net
}

// FLOPs is the number of floating-point operations of one image's forward pass through the section, two a multiply-add,
// counted with the taps beyond the border; a transposed convolution is counted as the products of its definition. A
// backward pass takes twice as many.
func (s *Section) FLOPs() int64 { return s.flops }

// wired is a layer of a section.
type layer interface {
	forward(s *Section, images int)
	// backward adds the gradients of the parameters to those of the section's network, and writes or adds that of the
	// input.
	backward(s *Section, images int)
}

// imagewise is a layer that does each image by itself.
type imagewise struct {
	reads       []*Map
	ahead, back func(worker, img int)
	now         func(worker, img int)
}

// each adds a layer that does each image by itself, forward and, unless that is nil, back. The latter writes the
// gradients of the maps that it reads, so no layer behind it may read them too.
func (s *Section) each(ahead, back func(worker, img int), reads ...*Map) {
	s.layer(&imagewise{reads: reads, ahead: ahead, back: back}, reads...)
}

func (l *imagewise) forward(s *Section, images int) {
	l.now = l.ahead
	s.w.team.Run(l, images)
}

func (l *imagewise) backward(s *Section, images int) {
	if l.back == nil || len(l.reads) > 0 && !l.reads[0].learns {
		return
	}
	for _, m := range l.reads {
		if m.written {
			panic(fmt.Sprintf("wired: a layer behind one that does each image by itself reads a map of %d×%d×%d too", m.g.C,
				m.g.H,
				m.g.W))
		}
		m.written = true
	}
	l.now = l.back
	s.w.team.Run(l, images)
}

// DoChunk implements [nn.Task].
func (l *imagewise) DoChunk(worker, img int) { l.now(worker, img) }

// packer is a layer whose weights are packed for the kernels.
type packer interface {
	packForward(net *nn.Network)
	packBackward(net *nn.Network)
}

// Forward runs all layers of all sections on so many images, which the inputs hold.
func (w *Wiring) Forward(images int) {
	if images < 1 || images > w.n {
		panic(fmt.Sprintf("wired: Wiring: %d images, but there is room for 1 to %d", images, w.n))
	}
	w.placeMaps()
	w.images = images
	for _, s := range w.sections {
		s.forward()
		w.ws.Count(int64(images) * s.flops)
	}
}

// forward runs the section's layers.
func (s *Section) forward() {
	s.pack(false)
	s.clearBehind(false)
	for _, l := range s.layers {
		l.forward(s, s.w.images)
	}
	s.w.holder = s
}

// Backward runs the section's layers in reverse, for the images of the last Forward, and adds the gradients of the
// parameters to those of its network. The gradients of the maps where the section ends must be set before; those that
// its layers read are written. Where another section has run since, the values of this one are computed again, which
// does not count as an operation.
func (s *Section) Backward() {
	w := s.w
	if !s.learns {
		panic("wired: Backward: a section that does not learn. Make one that does")
	}
	if w.holder != s {
		s.forward()
	}
	s.pack(true)
	for _, m := range s.reads {
		m.written = false
	}
	s.clearBehind(true)
	for i := len(s.layers) - 1; i >= 0; i-- {
		s.layers[i].backward(s, w.images)
	}
	w.ws.Count(2 * int64(w.images) * s.flops)
}

// packSections packs one layer a chunk.
type packSections struct {
	s        *Section
	backward bool
}

// DoChunk implements [nn.Task].
func (j *packSections) DoChunk(_, chunk int) {
	l, ok := j.s.layers[len(j.s.layers)-1-chunk].(packer) // the last and largest first
	if !ok {
		return
	}
	if j.backward {
		l.packBackward(j.s.net)
	} else {
		l.packForward(j.s.net)
	}
}

// pack makes the weights of a pass ready.
func (s *Section) pack(backward bool) {
	done := &s.packed.forward
	if backward {
		done = &s.packed.backward
	}
	if s.packed.net != s.net {
		s.packed.net, s.packed.forward, s.packed.backward = s.net, 0, 0
	}
	version := s.net.Info().Version
	if *done == version {
		return
	}
	s.w.packing = packSections{s, backward}
	s.w.team.Run(&s.w.packing, len(s.layers))
	*done = version
}

// layer adds a layer and the maps that it reads.
func (s *Section) layer(l layer, reads ...*Map) {
	for _, m := range reads {
		m.markRead()
	}
	s.layers, s.reads = append(s.layers, l), append(s.reads, reads...)
	s.w.placed = false
}

// count adds the work of a layer.
func (s *Section) count(in, taps, out, pixels int) { s.flops += 2 * int64(in*taps) * int64(out*pixels) }

// Join adds the channels of a map to a trunk and returns the map of all channels there, those of earlier sections
// first. It shares its gradient with m.
func (s *Section) Join(t *Trunk, m *Map) *Map {
	if m.g.H != t.g.H || m.g.W != t.g.W || t.used+m.g.C > t.g.C {
		panic(fmt.Sprintf("wired: Join: %d channels of %d×%d for a trunk that has room for %d of %d×%d", m.g.C, m.g.H, m.g.W,
			t.g.C-t.used, t.g.H, t.g.W))
	}
	at := t.used
	t.used += m.g.C
	if m.g.C < t.g.C { // somebody else is in it
		s.each(func(_, img int) {
			from, to := m.x[m.at(img):], t.x[t.g.PixelAt(img, 0, 0)+at:]
			for p := range m.g.Pixels() {
				copy(to[p*t.g.PixelStride:][:m.g.C], from[p*m.g.PixelStride:])
			}
		}, nil, m) // the joined map has the same gradient
	}
	if at == 0 {
		return m
	}
	view := t.g
	view.C = t.used
	return s.show(&Map{g: view, x: t.x, skip: at, dg: m.dg, learns: m.learns}, m)
}
