// Package conv holds the convolutions of the engine with their gradients, direct and by Winograd's algorithm, in both memory
// layouts (docs/engine.md). It knows activations as slices of a [Layout] and nothing of layers or networks. Start at [Conv].
package conv

import (
	"ocl/internal/kernel"
	"ocl/nn/internal/workers"
)

// Conv is a convolution with its gradients in one layout, for inputs and outputs of the layouts that it was made for. It packs
// weights [in][tap][out] for the kernels before their use.
type Conv interface {
	// PackForward makes the weights ready for Forward, PackBackward for InputGradient.
	PackForward(w []float32)
	PackBackward(w []float32)
	// Forward writes the output for images of x, finished by f. In planes, a convolution of stride 2 takes the [Phases] of its
	// input.
	Forward(team *workers.Team, z, x []float32, images int, f kernel.Finish)
	// Finishes says whether Forward takes a Finish that does anything.
	Finishes() bool
	// InputGradient writes the gradient of the input, plus res where it is not nil, laid out as dx: as what Forward takes.
	InputGradient(team *workers.Team, dx, dz []float32, images int, res []float32)
	// WeightGradient adds the gradient of the weights over images [first, limit).
	WeightGradient(team *workers.Team, dw, dz, x []float32, first, limit int)
}

// Packed holds a convolution's weights in the kernels' forms. Convolutions of one kind may share it. The zero value is ready.
type Packed struct{ forward, backward []float32 }

// Maker makes the convolutions of one pass, which run one after the other: they share what they work in.
type Maker struct {
	Set       *kernel.Set
	Algorithm string // one of Algorithms
	Workers   int    // of the teams that will run the convolutions
	Inference bool   // without gradients
	scratch   scratch
}

// Make returns the convolution from in to out, both of one layout. With stride 2 in planes, in is the layout of the whole map.
func (m *Maker) Make(in, out Layout, w Window, packed *Packed) Conv {
	if m.scratch == nil {
		m.scratch = scratch{}
	}
	fast := m.byWinograd(in, out, w)
	if in.ChannelLast {
		u := newRowsUnit(m.Set, in, out, w, m.Workers, packed)
		if fast {
			return newWinogradRows(u, m.Workers, m.Inference, m.scratch)
		}
		return u
	}
	u := newPlanesUnit(m.Set, in, out, w, m.Workers, packed)
	if fast {
		return newWinogradPlanes(u, m.Workers, m.Inference, m.scratch)
	}
	return u
}

// Window is the geometry of a square kernel: 1 or 9 taps, stride 1 or 2, padded so that a map keeps its size.
type Window struct{ Taps, Stride int }

// shift is where a tap lies relative to the centre.
func (w Window) shift(tap int) (dy, dx int) {
	if w.Taps == 1 {
		return 0, 0
	}
	return tap/3 - 1, tap%3 - 1
}

// Out is the number of output pixels along a side of n.
func (w Window) Out(n int) int { return (n + w.Stride - 1) / w.Stride }

// source is the input coordinate that an output coordinate reads through a shift.
func (w Window) source(y, dy, limit int) (int, bool) {
	iy := y*w.Stride + dy
	return iy, iy >= 0 && iy < limit
}

// target is the output coordinate that reads an input coordinate through a shift.
func (w Window) target(y, dy, limit int) (int, bool) {
	t := y - dy
	return t / w.Stride, t >= 0 && t%w.Stride == 0 && t/w.Stride < limit
}

// plus finishes a sum by adding another array.
type plus struct{ ones, zeros []float32 }

// newPlus serves a convolution with so many outputs.
func newPlus(outputs int) plus {
	n := Reach(outputs)
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

// room returns v, or n floats if it is still empty. New ones are zero, and so stays what pads a block.
func room(v *[]float32, n int) []float32 {
	if *v == nil {
		*v = make([]float32, n)
	}
	return *v
}

// rowsUnit is a convolution in the channel-last layout.
type rowsUnit struct {
	s        *kernel.Set
	w        Window
	in, out  Layout
	fwd, bwd *rowsConv
	grad     *rowsGrad
	packed   *Packed
	plus     plus
}

func newRowsUnit(s *kernel.Set, in, out Layout, w Window, workers int, weights *Packed) *rowsUnit {
	forward := func(y, x, tap int) (int, int, bool) {
		dy, dx := w.shift(tap)
		iy, oky := w.source(y, dy, in.H)
		ix, okx := w.source(x, dx, in.W)
		return iy, ix, oky && okx
	}
	backward := func(y, x, tap int) (int, int, bool) {
		dy, dx := w.shift(tap)
		oy, oky := w.target(y, dy, out.H)
		ox, okx := w.target(x, dx, out.W)
		return oy, ox, oky && okx
	}
	u := &rowsUnit{s: s, w: w, in: in, out: out, packed: weights, plus: newPlus(in.C),
		fwd: newRowsConv(s, out, in, w.Taps, forward, func(y, x int) (int, int) { return y * w.Stride, x * w.Stride }),
		bwd: newRowsConv(s, in, out, w.Taps, backward, func(y, x int) (int, int) { return y / w.Stride, x / w.Stride }),
	}
	u.grad = newRowsGrad(s, out, in, w.Taps, forward, workers)
	return u
}

// PackForward copies weights [in][tap][out] into blocks [tap][in][block of out].
func (u *rowsUnit) PackForward(w []float32) {
	taps, ins, outs := u.w.Taps, u.in.C, u.out.C
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

// PackBackward copies them into blocks [tap][out][block of in].
func (u *rowsUnit) PackBackward(w []float32) {
	taps, ins, outs := u.w.Taps, u.in.C, u.out.C
	wb := room(&u.packed.backward, u.bwd.packed())
	for _, b := range u.bwd.blocks {
		width := b.vecs * u.s.Lanes
		rows := min(width, ins-b.first)
		for tap := range taps {
			u.s.Transpose(wb[b.w+tap*outs*width:], width, w[(b.first*taps+tap)*outs:], taps*outs, rows, outs)
		}
	}
}

func (u *rowsUnit) Finishes() bool { return true }

func (u *rowsUnit) Forward(team *workers.Team, z, x []float32, images int, f kernel.Finish) {
	u.fwd.run(team, z, x, u.packed.forward, images, f)
}

func (u *rowsUnit) InputGradient(team *workers.Team, dx, dz []float32, images int, res []float32) {
	u.bwd.run(team, dx, dz, u.packed.backward, images, u.plus.to(res))
}

func (u *rowsUnit) WeightGradient(team *workers.Team, dw, dz, x []float32, first, limit int) {
	u.grad.run(team, dw, dz, x, first, limit)
}

// planesUnit is a convolution in the planes layout. With stride 2 its input is given as four phases (see phases) and so
// is the gradient of its input.
type planesUnit struct {
	s       *kernel.Set
	w       Window
	in, out Layout // in: the map itself for stride 1, the phases for stride 2
	ins     int    // input channels
	fwd     *planesConv
	bwd     []planesPhase
	grad    *planesGrad
	size    int // of all phases' packed weights
	packed  *Packed
	plus    plus
}

// planesPhase is the part of an input gradient that writes one phase: all input channels from channel first on.
type planesPhase struct {
	conv  *planesConv
	taps  []int
	first int // channel
	w     int // where its packed weights begin
}

func newPlanesUnit(s *kernel.Set, in, out Layout, w Window, workers int, weights *Packed) *planesUnit {
	u := &planesUnit{s: s, w: w, in: in, out: out, ins: in.C, packed: weights, plus: newPlus(in.C)}
	phaseOf := func(d int) (phase, shift int) { // of a tap shift, for stride 2
		if d == -1 {
			return 1, -1
		}
		return d, 0
	}
	if w.Stride == 2 {
		u.in, u.ins = phasesOf(in), in.C
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
			off = append(off, int32(ch*u.in.stride+dy*u.in.RowStride+dx))
			target = append(target, int32((c*w.Taps+t)*out.C))
		}
	}
	u.fwd = newPlanesConv(s, out, u.in, off, u.in.C)
	u.grad = newPlanesGrad(s, out, u.in, off, target, workers)

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
				off = append(off, int32(o*out.stride+sy*out.RowStride+sx))
			}
		}
		dst := u.in
		dst.C = u.ins
		c := newPlanesConv(s, dst, out, off, out.C)
		u.bwd = append(u.bwd, planesPhase{conv: c, taps: taps, first: f * u.ins, w: u.size})
		u.size += c.packed()
	}
	return u
}

func (u *planesUnit) PackForward(w []float32) {
	po := u.s.PlanesOut
	wf := room(&u.packed.forward, u.fwd.packed())
	k := len(u.fwd.off)
	for b := range u.fwd.blocks {
		cols := min(po, u.out.C-b*po)
		for i := range k {
			copy(wf[(b*k+i)*po:][:cols], w[i*u.out.C+b*po:])
		}
	}
}

func (u *planesUnit) PackBackward(w []float32) {
	po, taps, outs := u.s.PlanesOut, u.w.Taps, u.out.C
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
func (u *planesUnit) Finishes() bool { return u.fwd.exact }

func (u *planesUnit) Forward(team *workers.Team, z, x []float32, images int, f kernel.Finish) {
	u.fwd.run(team, z, x, u.packed.forward, images, f)
}

func (u *planesUnit) InputGradient(team *workers.Team, dx, dz []float32, images int, res []float32) {
	for _, f := range u.bwd {
		at := f.first * u.in.stride
		f.conv.run(team, dx[at:], dz, u.packed.backward[f.w:], images, u.plus.to(kernel.Tail(res, at)))
	}
}

func (u *planesUnit) WeightGradient(team *workers.Team, dw, dz, x []float32, first, limit int) {
	u.grad.run(team, dw, dz, x, first, limit)
}
