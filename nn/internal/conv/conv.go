// Package conv holds the convolutions of the engine with their gradients, direct and by Winograd's algorithm, in both
// memory layouts (docs/engine.md). It knows activations as slices of a [Layout] and nothing of layers or networks.
// Start at [Conv].
package conv

import (
	"fmt"

	"ocl/internal/kernel"
	"ocl/internal/largepages"
	"ocl/nn/internal/workers"
)

// Team is the workers that share the work of a convolution; [workers.Team] is one.
type Team interface {
	Size() int
	Run(task workers.Task, chunks int)
}

// span is the number of neighbouring pieces of work to put in a chunk: large, so that a worker stays in one part of
// memory, but with some chunks for each worker, so that a slow one is helped out.
func span(t Team, pieces int) int {
	if t.Size() == 1 {
		return pieces
	}
	return max(1, (pieces+12*t.Size()-1)/(12*t.Size()))
}

// Conv is a convolution with its gradients in one layout, for inputs and outputs of the layouts that it was made for.
// It packs weights [in][tap][out] for the kernels before their use.
type Conv interface {
	// PackForward makes the weights ready for Forward, PackBackward for InputGradient.
	PackForward(w []float32)
	PackBackward(w []float32)
	// Forward writes the output for some images of x, and applies f to it. In planes, a convolution of stride 2 takes
	// the [Phases] of its input.
	Forward(team Team, z, x []float32, images int, f kernel.Finish)
	// Finishes says whether Forward can apply a Finish other than the zero value.
	Finishes() bool
	// Spills says whether Forward, and whether InputGradient, writes to the borders of maps in planes.
	Spills() (forward, input bool)
	// InputGradient writes the gradient of the input, plus res if it is not nil. dx has the layout of what Forward
	// takes.
	InputGradient(team Team, dx, dz []float32, images int, res []float32)
	// WeightGradient adds the gradient of the weights over images [first, limit).
	WeightGradient(team Team, dw, dz, x []float32, first, limit int)
}

// Packed holds a convolution's weights in the kernels' forms. Convolutions of one kind may share it. The zero value is
// ready, and keeps what is packed. With a Room both forms lie there, and hold until anything else is packed into it.
type Packed struct {
	forward, backward []float32
	Room              *Room
}

// Room is memory for weights that are packed just before their use, for convolutions of any kinds one after the other:
// it stays in the caches. The zero value is ready.
type Room struct{ floats []float32 }

// room is where n packed weights go, forward or backward. Unless all of them will be written, they begin as zeros, and
// the padding of a block stays zero.
func (p *Packed) room(v *[]float32, n int, all bool) []float32 {
	if p.Room == nil {
		return room(v, n)
	}
	r := p.Room
	if len(r.floats) < n {
		r.floats = largepages.Floats(n)
	}
	*v = r.floats[:n]
	if !all {
		clear(*v)
	}
	return *v
}

// Maker makes the convolutions of one pass. They run one after the other and share their buffers.
type Maker struct {
	Set       *kernel.Set
	Algorithm string // one of Algorithms
	Workers   int    // of the teams that will run the convolutions
	Inference bool   // without gradients
	// Narrow is for the channel-last layout with few channels and many images: convolutions to few outputs have kernels of
	// their own, and images are taken one after the other.
	Narrow  bool
	scratch scratch
	tables  *tables
}

// Make returns the convolution from in to out, both of one layout. With stride 2 in planes, in is the layout of the
// whole map. Make builds the tables of offsets that the kernels follow. It panics if the shapes do not fit each
// other, if an offset needs more than 32 bits, and if a map in planes is narrower than PlanesWidth. The tables of
// channel-last convolutions and of Winograd's algorithm depend on the number of images; the first run with that
// number builds them.
func (m *Maker) Make(in, out Layout, w Window, packed *Packed) Conv {
	w.check(in, out)
	if m.scratch == nil {
		m.scratch, m.tables = scratch{}, newTables()
	}
	fast := m.byWinograd(in, out, w)
	if in.ChannelLast {
		u := newDirectChannelLast(m, in, out, w, packed)
		if fast {
			return newWinogradChannelLast(u, m.Workers, m.Inference, m.scratch)
		}
		return u
	}
	u := newDirectPlanes(m.Set, in, out, w, m.Workers, m.Inference, packed)
	if fast {
		return newWinogradPlanes(u, m.Workers, m.Inference, m.scratch)
	}
	return u
}

// Window is the geometry of a square kernel: 1 or 9 taps, stride 1 or 2, padded so that a map keeps its size. With 4
// taps, in the channel-last layout and with stride 1, each side grows by a pixel: an output lies at the corner of the
// four inputs that it reads.
type Window struct{ Taps, Stride int }

// check panics unless the window takes in to out.
func (w Window) check(in, out Layout) {
	if corner := w == (Window{4, 1}) && in.ChannelLast; !corner && w.Taps != 1 && w.Taps != 9 || w.Stride != 1 &&
		w.Stride != 2 {
		panic(fmt.Sprintf("conv: %d taps and stride %d. Use 1 or 9 taps and stride 1 or 2, or 4 taps and stride 1 in the channel-last layout",
			w.Taps, w.Stride))
	}
	if in.ChannelLast != out.ChannelLast || in.N != out.N || out.H != w.Out(in.H) || out.W != w.Out(in.W) ||
		min(in.C, out.C, out.N, out.H, out.W) < 1 {
		panic(fmt.Sprintf("conv: input %v and output %v do not fit. Use one layout, the same number of images, and sides divided by stride %d",
			in, out, w.Stride))
	}
	if !out.ChannelLast && out.W < PlanesWidth {
		panic(fmt.Sprintf("conv: maps of %d×%d pixels in planes, narrower than %d. Use the channel-last layout", out.H, out.W,
			PlanesWidth))
	}
}

// shift is where a tap lies relative to the centre.
func (w Window) shift(tap int) (dy, dx int) {
	switch w.Taps {
	case 1:
		return 0, 0
	case 4:
		return tap/2 - 1, tap%2 - 1
	}
	return tap/3 - 1, tap%3 - 1
}

// Out is the number of output pixels along a side of n.
func (w Window) Out(n int) int {
	if w.Taps == 4 {
		return n + 1
	}
	return (n + w.Stride - 1) / w.Stride
}

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

// runner is a convolution in one direction. It writes that of some images of src to dst, finished by f; w holds the
// packed weights.
type runner interface {
	run(team Team, dst, src, w []float32, images int, f kernel.Finish)
}

// gradientRunner adds the gradient of the weights over images [first, limit) to dst, in the parameter's order.
type gradientRunner interface {
	run(team Team, dst, y, x []float32, first, limit int)
}

// core is the common part of the convolutions of both layouts and algorithms. It checks the buffers of a run, once:
// they must be as long as the tables reach.
type core struct {
	s                 *kernel.Set
	w                 Window
	in, out           Layout // in planes with stride 2, in is the layout of the phases
	weights           int    // floats of the parameter
	packed            *Packed
	plus              plus
	forward, backward runner
	gradient          gradientRunner
}

func (c *core) Forward(team Team, z, x []float32, images int, f kernel.Finish) {
	if c.packed.forward == nil {
		panic("conv: Forward without PackForward")
	}
	c.in.holds("input", x, images)
	c.out.holds("output", z, images)
	if f.Res != nil {
		c.out.holds("residual", f.Res, images)
	}
	c.forward.run(team, z, x, c.packed.forward, images, f)
}

func (c *core) InputGradient(team Team, dx, dz []float32, images int, res []float32) {
	if c.packed.backward == nil {
		panic("conv: InputGradient without PackBackward")
	}
	c.in.holds("gradient of the input", dx, images)
	c.out.holds("gradient of the output", dz, images)
	if res != nil {
		c.in.holds("sum with the gradient of the input", res, images)
	}
	c.backward.run(team, dx, dz, c.packed.backward, images, c.plus.to(res))
}

func (c *core) WeightGradient(team Team, dw, dz, x []float32, first, limit int) {
	if len(dw) != c.weights || first < 0 || first >= limit {
		panic(fmt.Sprintf("conv: gradient of %d weights over images %d to %d. Give room for %d weights, and at least one image",
			len(dw), first, limit, c.weights))
	}
	c.in.holds("input", x, limit)
	c.out.holds("gradient of the output", dz, limit)
	c.gradient.run(team, dw, dz, x, first, limit)
}

func (c *core) Finishes() bool { return true }

// Spills implements [Conv]: the channel-last layout has no borders, and Winograd's algorithm ends where rows do.
func (c *core) Spills() (forward, input bool) { return false, false }

// room returns v, or n new floats if v is empty. New floats are zero, and the padding of a block stays zero.
func room(v *[]float32, n int) []float32 {
	if *v == nil {
		*v = largepages.Floats(n)
	}
	if len(*v) != n {
		panic(fmt.Sprintf("conv: room for %d packed weights instead of %d. Share Packed between convolutions of one kind only",
			len(*v), n))
	}
	return *v
}
