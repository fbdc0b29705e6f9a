package conv

import (
	"ocl/internal/kernel"
	"ocl/internal/largepages"
)

// Cache budgets, in bytes, of what one tile loop touches; both fit the first-level cache of 32 KB beside the weights.
const (
	planesBand     = 20 << 10 // input rows of all channels in a forward band, unless a channel's are fewer than
	planesRun      = 136      // positions: shorter runs are over before the caches have learned to ask for them ahead
	planesGradArea = 1024     // positions of a weight-gradient block; a multiple of every vector
	planesGradTaps = 90       // most values of k that meet a block of outputs' gradients while it is in the cache
)

// directPlanes is a convolution in the planes layout. With stride 2 its input is given as four phases (see [Phases])
// and so is the gradient of its input.
type directPlanes struct {
	core
	ins int // input channels
	fwd *planesConv
	bwd planesPhases
}

// planesPhases is an input gradient, phase by phase.
type planesPhases struct {
	all  []planesPhase
	size int // of all packed weights
}

// planesPhase is the part of an input gradient that writes one phase: all input channels from channel first on.
type planesPhase struct {
	conv *planesConv
	taps []int
	at   int // where the phase begins
	w    int // where its packed weights begin
}

func newDirectPlanes(s *kernel.Set, in, out Layout, w Window, workers int, inference bool,
	packed *Packed) *directPlanes {
	u := &directPlanes{ins: in.C,
		core: core{s: s, w: w, in: in, out: out, weights: in.C * w.Taps * out.C, packed: packed, plus: newPlus(in.C)}}
	phaseOf := func(d int) (phase, shift int) { // of a tap shift, for stride 2
		if d == -1 {
			return 1, -1
		}
		return d, 0
	}
	if w.Stride == 2 {
		u.in = phasesOf(in)
	}
	var off, target []int32
	for c := range u.ins {
		for t := range w.Taps {
			dy, dx := w.shift(t)
			ch := c
			if w.Stride == 2 {
				var py, px int
				py, dy = phaseOf(dy)
				px, dx = phaseOf(dx)
				ch += (2*py + px) * u.ins
			}
			off = append(off, offset("inputs", ch*u.in.stride+dy*u.in.RowStride+dx))
			target = append(target, offset("weights", (c*w.Taps+t)*out.C))
		}
	}
	u.fwd = newPlanesConv(s, out, u.in, off, u.in.C)
	u.forward = u.fwd
	if inference {
		return u
	}
	u.gradient = newPlanesGrad(s, out, u.in, off, target, workers)
	u.backward = &u.bwd

	phases := 1
	if w.Stride == 2 {
		phases = 4
	}
	for f := range phases {
		var taps []int
		var off []int32
		for t := range w.Taps {
			if dy, dx := w.shift(t); w.Stride == 1 || dy&1 == f/2 && dx&1 == f%2 {
				taps = append(taps, t)
			}
		}
		if len(taps) == 0 {
			continue // a 1×1 kernel of stride 2 touches one phase only
		}
		for o := range out.C {
			for _, t := range taps {
				dy, dx := w.shift(t)
				sy, sx := -dy, -dx
				if w.Stride == 2 { // 2·y'+dy = 2·y+phase
					sy, sx = (f/2-dy)/2, (f%2-dx)/2
				}
				off = append(off, offset("outputs", o*out.stride+sy*out.RowStride+sx))
			}
		}
		dst := u.in
		dst.C = u.ins
		c := newPlanesConv(s, dst, out, off, out.C)
		u.bwd.all = append(u.bwd.all, planesPhase{conv: c, taps: taps, at: f * u.ins * u.in.stride, w: u.bwd.size})
		u.bwd.size += c.packed()
	}
	return u
}

func (u *directPlanes) PackForward(w []float32) {
	po := u.s.PlanesOut
	wf := u.packed.room(&u.packed.forward, u.fwd.packed(), u.out.C%po == 0)
	k := len(u.fwd.off)
	for b := range u.fwd.blocks {
		cols := min(po, u.out.C-b*po)
		for i := range k {
			copy(wf[(b*k+i)*po:][:cols], w[i*u.out.C+b*po:])
		}
	}
}

func (u *directPlanes) PackBackward(w []float32) {
	po, taps, outs := u.s.PlanesOut, u.w.Taps, u.out.C
	wb := u.packed.room(&u.packed.backward, u.bwd.size, u.ins%po == 0)
	for _, f := range u.bwd.all {
		at := f.w
		for b := range f.conv.blocks {
			n := min(po, u.ins-b*po)
			for o := range outs {
				for _, t := range f.taps {
					for j := range n {
						wb[at+j] = w[((b*po+j)*taps+t)*outs+o]
					}
					at += po
				}
			}
		}
	}
}

// Finishes implements [Conv]: it is false where a border would be finished too: it must stay zero.
func (u *directPlanes) Finishes() bool { return u.fwd.exact }

// Spills implements [Conv]: tiles that are no whole rows reach over the borders.
func (u *directPlanes) Spills() (forward, input bool) {
	for _, f := range u.bwd.all {
		input = input || !f.conv.exact
	}
	return !u.fwd.exact, input
}

func (p *planesPhases) run(team Team, dst, src, w []float32, images int, f kernel.Finish) {
	for _, phase := range p.all {
		part := f
		part.Res = kernel.Tail(f.Res, phase.at)
		phase.conv.run(team, dst[phase.at:], src, w[phase.w:], images, part)
	}
}

// planesConv is a convolution in the planes layout: K values of k, each an offset into the input and a row of packed
// weights. Stride 2 is a convolution over the four phases of its input, see [Phases].
type planesConv struct {
	s       *kernel.Set
	out, in Layout  // the same map; in has as many channels as off reaches
	off     []int32 // offsets of k in the input buffer
	blocks  int     // blocks of PlanesOut outputs
	exact   bool    // whole rows fill tiles, so that borders are never written
	band    int     // rows (exact) or tiles (contiguous) in a band
	bands   int     // bands an image (exact only)

	// the arguments of one run
	dst, src, w []float32
	images      int
	finish      kernel.Finish
	total, span int // bands in all and in a chunk
}

func newPlanesConv(s *kernel.Set, out, in Layout, off []int32, channels int) *planesConv {
	c := &planesConv{s: s, out: out, in: in, off: off, blocks: (out.C + s.PlanesOut - 1) / s.PlanesOut}
	vec := 2 * s.Lanes
	c.exact = out.W%vec == 0 || out.W == s.Lanes && out.H%2 == 0
	floats := planesBand / 4 / max(1, channels)
	if c.exact {
		step := 1 // rows that a tile takes
		if out.W == s.Lanes {
			step = 2
		}
		c.band = min(out.H, max(step, (floats/out.RowStride-2)/step*step, roundUp(planesRun/out.RowStride, 2)))
		c.bands = (out.H + c.band - 1) / c.band
	} else {
		c.band = max(4, (floats-2*out.RowStride)/vec)
	}
	return c
}

// packed is the number of floats of the packed weights.
func (c *planesConv) packed() int { return c.blocks * len(c.off) * c.s.PlanesOut }

func (c *planesConv) run(team Team, dst, src, w []float32, images int, f kernel.Finish) {
	c.dst, c.src, c.w, c.images, c.finish = dst, src, w, images, f
	c.total = images * c.bands
	if !c.exact {
		tiles := (images*c.out.plane + 2*c.s.Lanes - 1) / (2 * c.s.Lanes)
		c.total = (tiles + c.band - 1) / c.band
	}
	c.span = span(team, c.total)
	team.Run(c, (c.total+c.span-1)/c.span)
}

func (c *planesConv) DoChunk(_, chunk int) {
	for b := chunk * c.span; b < min((chunk+1)*c.span, c.total); b++ {
		c.convolve(b)
	}
}

// finishFrom is f for the outputs from first on, whose first place is at.
func finishFrom(f kernel.Finish, first, at int) kernel.Finish {
	if f.Scale != nil {
		f.Scale, f.Shift, f.Res = f.Scale[first:], f.Shift[first:], kernel.Tail(f.Res, at)
	}
	return f
}

// convolve computes all outputs of one band.
func (c *planesConv) convolve(chunk int) {
	po, lanes := c.s.PlanesOut, c.s.Lanes
	a := kernel.Planes{X: c.src, Off: c.off, OutStride: c.out.stride, RowStride: c.out.RowStride}
	at := c.out.lead
	if c.exact {
		img, row := chunk/c.bands, chunk%c.bands*c.band
		at += img*c.out.plane + row*c.out.RowStride
		a.Rows = min(c.band, c.out.H-row)
		if c.out.W == lanes {
			a.Rows, a.RowStride, a.Tiles, a.VecStride = a.Rows/2, 2*c.out.RowStride, 1, c.out.RowStride
		} else {
			a.Tiles, a.VecStride = c.out.W/(2*lanes), lanes
		}
	} else {
		first := chunk * c.band
		tiles := (c.images*c.out.plane + 2*lanes - 1) / (2 * lanes)
		at += first * 2 * lanes
		a.Rows, a.Tiles, a.VecStride = 1, min(c.band, tiles-first), lanes
	}
	a.XBase = at
	n := len(c.off) * po
	for b := range c.blocks {
		a.Out = c.dst[b*po*c.out.stride+at:]
		a.W = c.w[b*n : (b+1)*n]
		a.Finish = finishFrom(c.finish, b*po, b*po*c.out.stride+at)
		c.s.Planes(&a)
	}
}

// planesGrad is the gradient of a planes convolution with respect to its weights. Where rows are no whole vectors it
// runs over borders too: there the output's gradient is zero.
type planesGrad struct {
	s       *kernel.Set
	out, in Layout
	off     []int32     // as in planesConv, padded to a multiple of GradIn by repeating the last
	k       int         // values of k before padding
	target  []int32     // index in the parameter of (k, output 0)
	kGroups int         // groups of GradIn values of k in a chunk
	oGroups int         // groups of GradOut outputs
	sums    [][]float32 // apart by lane; one a worker
	flat    [][]float32

	y, x, dst    []float32
	first, limit int // images
}

func newPlanesGrad(s *kernel.Set, out, in Layout, off, target []int32, workers int) *planesGrad {
	g := &planesGrad{s: s, out: out, in: in, k: len(off), target: target}
	g.off = append([]int32(nil), off...)
	for len(g.off)%s.GradIn != 0 {
		g.off = append(g.off, off[len(off)-1])
	}
	// as many chunks as every worker gets equally many of
	groups := len(g.off) / s.GradIn
	rounds := (groups + workers*planesGradTaps/s.GradIn - 1) / (workers * planesGradTaps / s.GradIn)
	g.kGroups = (groups + workers*rounds - 1) / (workers * rounds)
	g.oGroups = (out.C + s.GradOut - 1) / s.GradOut
	for range workers {
		n := roundUp(g.oGroups*g.kGroups*s.GradOut*s.GradIn, kernel.LaneGroup)
		g.sums = append(g.sums, largepages.Floats(n*s.Lanes))
		g.flat = append(g.flat, make([]float32, n))
	}
	return g
}

func (g *planesGrad) run(team Team, dst, y, x []float32, first, limit int) {
	g.dst, g.y, g.x, g.first, g.limit = dst, y, x, first, limit
	team.Run(g, (len(g.off)/g.s.GradIn+g.kGroups-1)/g.kGroups)
}

func (g *planesGrad) DoChunk(worker, chunk int) {
	mo, ni, lanes := g.s.GradOut, g.s.GradIn, g.s.Lanes
	lo := chunk * g.kGroups
	hi := min(lo+g.kGroups, len(g.off)/ni)
	sums, tile := g.sums[worker], mo*ni*lanes
	clear(sums)
	a := kernel.PlanesGrad{X: g.x, Y: g.y, YStride: g.out.stride, Off: g.off[lo*ni : hi*ni],
		ImageStride: g.out.plane, RowStride: g.out.RowStride}
	block := func(at int) {
		a.XBase = at
		for o := range g.oGroups {
			a.YBase = o*mo*g.out.stride + at
			a.Dst = sums[o*g.kGroups*tile:][:(hi-lo)*tile]
			g.s.PlanesGrad(&a)
		}
	}
	switch first := g.out.RowAt(0, g.first, 0); {
	case g.out.W%lanes != 0: // one run over all positions; the last vector ends in the last image's zero row
		a.Images, a.Rows = 1, 1
		total := (g.limit-g.first)*g.out.plane - g.out.RowStride
		for p := 0; p < total; p += planesGradArea {
			a.Vecs = (min(planesGradArea, total-p) + lanes - 1) / lanes
			block(first + p)
		}
	case g.out.Pixels() > planesGradArea: // bands of rows
		a.Images, a.Vecs = 1, g.out.W/lanes
		band := max(1, planesGradArea/g.out.W)
		for img := g.first; img < g.limit; img++ {
			for y := 0; y < g.out.H; y += band {
				a.Rows = min(band, g.out.H-y)
				block(g.out.RowAt(0, img, y))
			}
		}
	default: // groups of images
		a.Rows, a.Vecs = g.out.H, g.out.W/lanes
		group := planesGradArea / g.out.Pixels()
		for img := g.first; img < g.limit; img += group {
			a.Images = min(group, g.limit-img)
			block(g.out.RowAt(0, img, 0))
		}
	}
	flat := g.flat[worker]
	g.s.LaneSums(flat, sums)
	for o := range g.oGroups {
		outs := min(mo, g.out.C-o*mo)
		for kg := lo; kg < hi; kg++ {
			part := flat[(o*g.kGroups+kg-lo)*mo*ni:][:mo*ni]
			for n := range min(ni, g.k-kg*ni) {
				dst := g.dst[int(g.target[kg*ni+n])+o*mo:][:outs]
				for m := range dst {
					dst[m] += part[m*ni+n]
				}
			}
		}
	}
}
