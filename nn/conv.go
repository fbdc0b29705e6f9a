package nn

import "ocl/internal/kernel"

// conv is a convolution with its gradients in one layout. Weights are packed for the kernels before use.
type conv interface {
	packForward(w []float32)
	packBackward(w []float32)
	// forward writes the output for images of x, finished by f. A planes convolution of stride 2 takes the phases of its
	// input.
	forward(p *pool, z, x []float32, images int, f kernel.Finish)
	// finishes says whether forward takes a Finish that does anything.
	finishes() bool
	// input writes the gradient of the input, plus res where it is not nil, laid out as dx.
	input(p *pool, dx, dz []float32, images int, res []float32)
	// weights adds the gradient of the weights over images [first, limit).
	weights(p *pool, dw, dz, x []float32, first, limit int)
}

// window is the geometry of a square kernel: 1 or 9 taps, stride 1 or 2, padded so that a map keeps its size.
type window struct{ taps, stride int }

// shift is where a tap lies relative to the centre.
func (w window) shift(tap int) (dy, dx int) {
	if w.taps == 1 {
		return 0, 0
	}
	return tap/3 - 1, tap%3 - 1
}

// out is the number of output pixels along a side of n.
func (w window) out(n int) int { return (n + w.stride - 1) / w.stride }

// source is the input coordinate that an output coordinate reads through a shift.
func (w window) source(y, dy, limit int) (int, bool) {
	iy := y*w.stride + dy
	return iy, iy >= 0 && iy < limit
}

// target is the output coordinate that reads an input coordinate through a shift.
func (w window) target(y, dy, limit int) (int, bool) {
	t := y - dy
	return t / w.stride, t >= 0 && t%w.stride == 0 && t/w.stride < limit
}

// plus finishes a sum by adding another array.
type plus struct{ ones, zeros []float32 }

// newPlus serves a convolution with so many outputs.
func newPlus(outputs int) plus {
	n := roundUp(outputs+planesPad, channelPad) // as far as a block of outputs reaches
	p := plus{make([]float32, n), make([]float32, n)}
	for i := range p.ones {
		p.ones[i] = 1
	}
	return p
}

// to is the sum plus res, or the sum alone where res is nil.
func (p plus) to(res []float32) kernel.Finish {
	if res == nil {
		return kernel.Finish{}
	}
	return kernel.Finish{Scale: p.ones, Shift: p.zeros, Res: res}
}

// packed holds a convolution's weights in the kernels' forms. Passes of one workspace share it.
type packed struct{ forward, backward []float32 }

// room returns v, or n floats if it is still empty. New ones are zero, and so stays what pads a block.
func room(v *[]float32, n int) []float32 {
	if *v == nil {
		*v = make([]float32, n)
	}
	return *v
}

// newConv returns the convolution from in to out, both of one layout, by the given algorithm where there is a choice. For
// inference it has no gradients.
func newConv(s *kernel.Set, algorithm string, in, out geom, w window, workers int, inference bool, weights *packed, mem scratch) conv {
	fast := byWinograd(algorithm, s, in, out, w)
	if in.rows {
		u := newRowsUnit(s, in, out, w, workers, weights)
		if fast {
			return newWinogradRows(u, workers, inference, mem)
		}
		return u
	}
	u := newPlanesUnit(s, in, out, w, workers, weights)
	if fast {
		return newWinogradPlanes(u, workers, inference, mem)
	}
	return u
}

// rowsUnit is a convolution in the channel-last layout.
type rowsUnit struct {
	s        *kernel.Set
	w        window
	in, out  geom
	fwd, bwd *rowsConv
	grad     *rowsGrad
	packed   *packed
	plus     plus
}

func newRowsUnit(s *kernel.Set, in, out geom, w window, workers int, weights *packed) *rowsUnit {
	forward := func(y, x, tap int) (int, int, bool) {
		dy, dx := w.shift(tap)
		iy, oky := w.source(y, dy, in.h)
		ix, okx := w.source(x, dx, in.w)
		return iy, ix, oky && okx
	}
	backward := func(y, x, tap int) (int, int, bool) {
		dy, dx := w.shift(tap)
		oy, oky := w.target(y, dy, out.h)
		ox, okx := w.target(x, dx, out.w)
		return oy, ox, oky && okx
	}
	u := &rowsUnit{s: s, w: w, in: in, out: out, packed: weights, plus: newPlus(in.c),
		fwd: newRowsConv(s, out, in, w.taps, forward, func(y, x int) (int, int) { return y * w.stride, x * w.stride }),
		bwd: newRowsConv(s, in, out, w.taps, backward, func(y, x int) (int, int) { return y / w.stride, x / w.stride }),
	}
	u.grad = newRowsGrad(s, out, in, w.taps, forward, workers)
	return u
}

// packForward copies weights [in][tap][out] into blocks [tap][in][block of out].
func (u *rowsUnit) packForward(w []float32) {
	taps, ins, outs := u.w.taps, u.in.c, u.out.c
	wf := room(&u.packed.forward, u.fwd.packed())
	for _, b := range u.fwd.blocks {
		width := b.vecs * u.s.Lanes
		cols := min(width, outs-b.first)
		for tap := range taps {
			dst := wf[b.w+tap*ins*width:]
			for c := range ins {
				copy(dst[c*width:][:cols], w[(c*taps+tap)*outs+b.first:])
			}
		}
	}
}

// packBackward copies them into blocks [tap][out][block of in].
func (u *rowsUnit) packBackward(w []float32) {
	taps, ins, outs := u.w.taps, u.in.c, u.out.c
	wb := room(&u.packed.backward, u.bwd.packed())
	for _, b := range u.bwd.blocks {
		width := b.vecs * u.s.Lanes
		rows := min(width, ins-b.first)
		for tap := range taps {
			u.s.Transpose(wb[b.w+tap*outs*width:], width, w[(b.first*taps+tap)*outs:], taps*outs, rows, outs)
		}
	}
}

func (u *rowsUnit) finishes() bool { return true }

func (u *rowsUnit) forward(p *pool, z, x []float32, images int, f kernel.Finish) {
	u.fwd.run(p, z, x, u.packed.forward, images, f)
}

func (u *rowsUnit) input(p *pool, dx, dz []float32, images int, res []float32) {
	u.bwd.run(p, dx, dz, u.packed.backward, images, u.plus.to(res))
}

func (u *rowsUnit) weights(p *pool, dw, dz, x []float32, first, limit int) {
	u.grad.run(p, dw, dz, x, first, limit)
}

// planesUnit is a convolution in the planes layout. With stride 2 its input is given as four phases (see phases) and so
// is the gradient of its input.
type planesUnit struct {
	s       *kernel.Set
	w       window
	in, out geom // in: the map itself for stride 1, the phases for stride 2
	ins     int  // input channels
	fwd     *planesConv
	bwd     []planesPhase
	grad    *planesGrad
	size    int // of all phases' packed weights
	packed  *packed
	plus    plus
}

// planesPhase is the part of an input gradient that writes one phase: all input channels from channel first on.
type planesPhase struct {
	conv  *planesConv
	taps  []int
	first int // channel
	w     int // where its packed weights begin
}

func newPlanesUnit(s *kernel.Set, in, out geom, w window, workers int, weights *packed) *planesUnit {
	u := &planesUnit{s: s, w: w, in: in, out: out, ins: in.c, packed: weights, plus: newPlus(in.c)}
	phaseOf := func(d int) (phase, shift int) { // of a tap shift, for stride 2
		if d == -1 {
			return 1, -1
		}
		return d, 0
	}
	if w.stride == 2 {
		u.in, u.ins = phaseGeom(in), in.c
	}
	var off, target []int32
	for c := range u.ins {
		for t := range w.taps {
			dy, dx := w.shift(t)
			ch := c
			if w.stride == 2 {
				var py, px int
				py, dy = phaseOf(dy)
				px, dx = phaseOf(dx)
				ch += (2*py + px) * u.ins
			}
			off = append(off, int32(ch*u.in.stride+dy*u.in.row+dx))
			target = append(target, int32((c*w.taps+t)*out.c))
		}
	}
	u.fwd = newPlanesConv(s, out, u.in, off, u.in.c)
	u.grad = newPlanesGrad(s, out, u.in, off, target, workers)

	phases := 1
	if w.stride == 2 {
		phases = 4
	}
	for f := range phases {
		var taps []int
		var off []int32
		for t := range w.taps {
			if dy, dx := w.shift(t); w.stride == 1 || dy&1 == f/2 && dx&1 == f%2 {
				taps = append(taps, t)
			}
		}
		if len(taps) == 0 {
			continue // a 1×1 kernel of stride 2 touches one phase only
		}
		for o := range out.c {
			for _, t := range taps {
				dy, dx := w.shift(t)
				sy, sx := -dy, -dx
				if w.stride == 2 { // 2·y'+dy = 2·y+phase
					sy, sx = (f/2-dy)/2, (f%2-dx)/2
				}
				off = append(off, int32(o*out.stride+sy*out.row+sx))
			}
		}
		dst := u.in
		dst.c = u.ins
		c := newPlanesConv(s, dst, out, off, out.c)
		u.bwd = append(u.bwd, planesPhase{conv: c, taps: taps, first: f * u.ins, w: u.size})
		u.size += c.packed()
	}
	return u
}

func (u *planesUnit) packForward(w []float32) {
	po := u.s.PlanesOut
	wf := room(&u.packed.forward, u.fwd.packed())
	k := len(u.fwd.off)
	for b := range u.fwd.blocks {
		cols := min(po, u.out.c-b*po)
		for i := range k {
			copy(wf[(b*k+i)*po:][:cols], w[i*u.out.c+b*po:])
		}
	}
}

func (u *planesUnit) packBackward(w []float32) {
	po, taps, outs := u.s.PlanesOut, u.w.taps, u.out.c
	wb := room(&u.packed.backward, u.size)
	for _, f := range u.bwd {
		at := f.w
		for b := range f.conv.blocks {
			rows := min(po, u.ins-b*po)
			for o := range outs {
				for _, t := range f.taps {
					for j := range rows {
						wb[at+j] = w[((b*po+j)*taps+t)*outs+o]
					}
					at += po
				}
			}
		}
	}
}

// finishes is false where a border would be finished too: it must stay zero.
func (u *planesUnit) finishes() bool { return u.fwd.exact }

func (u *planesUnit) forward(p *pool, z, x []float32, images int, f kernel.Finish) {
	u.fwd.run(p, z, x, u.packed.forward, images, f)
}

func (u *planesUnit) input(p *pool, dx, dz []float32, images int, res []float32) {
	for _, f := range u.bwd {
		at := f.first * u.in.stride
		f.conv.run(p, dx[at:], dz, u.packed.backward[f.w:], images, u.plus.to(tail(res, at)))
	}
}

func (u *planesUnit) weights(p *pool, dw, dz, x []float32, first, limit int) {
	u.grad.run(p, dw, dz, x, first, limit)
}

// phaseGeom is the shape of the four phases of a map: phase (py, px) of channel c holds pixels (2y+py, 2x+px) and is
// channel (2·py+px)·C + c of the result.
func phaseGeom(g geom) geom { return planesGeom(4*g.c, (g.h+1)/2, (g.w+1)/2, g.n) }

// phases splits a map into its phases, and merges the phases of a gradient.
type phases struct {
	s        *kernel.Set
	g, split geom
	dst, src []float32
	images   int
	merge    bool
}

func (f *phases) run(p *pool, dst, src []float32, images int, merge bool) {
	f.dst, f.src, f.images, f.merge = dst, src, images, merge
	p.run(f, f.g.c)
}

func (f *phases) do(_, c int) {
	for img := range f.images {
		for y := range f.g.h {
			whole := f.g.at(c, img, y)
			even := f.split.at((2*(y&1))*f.g.c+c, img, y/2)
			odd := even + f.g.c*f.split.stride
			ne, no := (f.g.w+1)/2, f.g.w/2
			if f.merge {
				f.s.Merge(f.dst[whole:][:f.g.w], f.src[even:][:ne], f.src[odd:][:no])
			} else {
				f.s.Split(f.dst[even:][:ne], f.dst[odd:][:no], f.src[whole:][:f.g.w])
			}
		}
	}
}

// relayout turns planes into rows and back.
type relayout struct {
	s            *kernel.Set
	planes, rows geom
	dst, src     []float32
	back         bool
}

func (r *relayout) run(p *pool, dst, src []float32, images int, back bool) {
	r.dst, r.src, r.back = dst, src, back
	p.run(r, images)
}

func (r *relayout) do(_, img int) {
	for y := range r.planes.h {
		pl, ro := r.planes.at(0, img, y), r.rows.pos(img, y, 0)
		if r.back {
			r.s.Transpose(r.dst[pl:], r.planes.stride, r.src[ro:], r.rows.cs, r.planes.w, r.planes.c)
		} else {
			r.s.Transpose(r.dst[ro:], r.rows.cs, r.src[pl:], r.planes.stride, r.planes.c, r.planes.w)
		}
	}
}
