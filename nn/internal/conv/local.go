package conv

import (
	"fmt"

	"ocl/internal/kernel"
)

// Square is a square of taps of a channel-last map with a border: Side × Side of them, the first of output y at input
// row y·Stride + First, and columns likewise. All positions have all taps, as those outside of the map lie in its
// border.
type Square struct{ Side, Stride, First int }

// local lists the positions of one image, whose taps are the same everywhere.
type local struct {
	s       *kernel.Set
	in, out Layout
	x, y    []int32 // inputs and outputs of the positions, in whole tiles
	size    int     // positions of a chunk
	chunks  int     // of an image
}

// localChunk is the most positions of a chunk.
const localChunk = 16 * kernel.ChannelLastTile

func newLocal(s *kernel.Set, in, out Layout, q Square) local {
	last := (out.H-1)*q.Stride + q.First + q.Side - 1
	if !in.ChannelLast || !out.ChannelLast || in.N != out.N || in.H != in.W || out.H != out.W || -q.First > in.Border ||
		last >= in.H+in.Border {
		panic(fmt.Sprintf("conv: taps %v from input %v to output %v. Use square channel-last maps with a border for all taps",
			q, in, out))
	}
	l := local{s: s, in: in, out: out, size: localChunk}
	for y := range out.H {
		for x := range out.W {
			l.x = append(l.x, offset("inputs", in.PixelAt(0, y*q.Stride+q.First, x*q.Stride+q.First)))
			l.y = append(l.y, offset("outputs", out.PixelAt(0, y, x)))
		}
	}
	for len(l.y)%kernel.ChannelLastTile != 0 {
		l.x, l.y = append(l.x, l.x[len(l.x)-1]), append(l.y, l.y[len(l.y)-1])
	}
	l.chunks = (len(l.y) + l.size - 1) / l.size
	return l
}

// positions belong to a chunk of an image.
func (l *local) positions(chunk int) (y, x []int32) {
	lo, hi := chunk*l.size, min((chunk+1)*l.size, len(l.y))
	return l.y[lo:hi], l.x[lo:hi]
}

// check panics unless buffers hold so many images.
func (l *local) check(dst, src []float32, images int) {
	l.in.holds("input", src, images)
	l.out.holds("output", dst, images)
}

// taps are the places of a square of taps relative to its first.
func (l *local) taps(q Square) (list []int32) {
	for t := range q.Side * q.Side {
		list = append(list, offset("taps", l.in.PixelAt(0, t/q.Side, t%q.Side)-l.in.PixelAt(0, 0, 0)))
	}
	return list
}

// channelPart is the channels of a chunk where each is treated by itself: their inputs stay in the first-level cache.
const channelPart = 64

// parts is the number of them.
func (l *local) parts() int { return (l.padded() + channelPart - 1) / channelPart }

// padded is the channels in whole vectors of every set.
func (l *local) padded() int { return roundUp(l.in.C, ChannelPad) }

// part is a range of channels.
func (l *local) part(i int) (first, n int) {
	return i * channelPart, min(channelPart, l.padded()-i*channelPart)
}

// split is the image, positions and channels of a chunk.
func (l *local) split(chunk int) (img, positions, part int) {
	return chunk / l.parts() / l.chunks, chunk / l.parts() % l.chunks, chunk % l.parts()
}

// Depthwise is a convolution of each channel with weights of its own.
type Depthwise struct {
	local
	tapX   []int32
	packed *Packed

	dst, src []float32
	finish   kernel.Finish
}

// Depthwise makes a convolution from in, which has a border for the taps, to out. It panics if the shapes do not fit
// each other.
func (m *Maker) Depthwise(in, out Layout, q Square, packed *Packed) *Depthwise {
	if in.C != out.C {
		panic(fmt.Sprintf("conv: depthwise from %d to %d channels", in.C, out.C))
	}
	d := &Depthwise{local: newLocal(m.Set, in, out, q), packed: packed}
	d.tapX = d.taps(q)
	return d
}

// PackForward copies weights [channel][tap] into parts [tap][channels of the part].
func (d *Depthwise) PackForward(w []float32) {
	dst, taps := room(&d.packed.forward, len(d.tapX)*d.padded()), len(d.tapX)
	for i := range d.parts() {
		first, n := d.part(i)
		for c := first; c < min(first+n, d.in.C); c++ {
			for t := range taps {
				dst[first*taps+t*n+c-first] = w[c*taps+t]
			}
		}
	}
}

// Forward writes the output for some images of x, and applies f to it.
func (d *Depthwise) Forward(team Team, z, x []float32, images int, f kernel.Finish) {
	d.check(z, x, images)
	d.dst, d.src, d.finish = z, x, f
	team.Run(d, images*d.chunks*d.parts())
}

// DoChunk implements [workers.Task].
func (d *Depthwise) DoChunk(_, chunk int) {
	img, positions, part := d.split(chunk)
	first, n := d.part(part)
	y, x := d.positions(positions)
	at := d.out.From(img) + first
	d.s.Depthwise(&kernel.Depthwise{Out: d.dst[at:], X: d.src[d.in.From(img)+first:],
		W:      d.packed.forward[first*len(d.tapX):],
		OutPos: y, XPos: x, TapX: d.tapX, C: n, Finish: finishFrom(d.finish, first, at)})
}

// MaxPool is the maximum over a square of taps. The border of its input counts as zeros.
type MaxPool struct {
	local
	tapX     []int32
	dst, src []float32
}

// MaxPool makes one from in, which has a border for the taps, to out. It panics if the shapes do not fit each other.
func (m *Maker) MaxPool(in, out Layout, q Square) *MaxPool {
	if in.C != out.C {
		panic(fmt.Sprintf("conv: pooling from %d to %d channels", in.C, out.C))
	}
	p := &MaxPool{local: newLocal(m.Set, in, out, q)}
	p.tapX = p.taps(q)
	return p
}

// Forward writes the output for some images of x.
func (p *MaxPool) Forward(team Team, z, x []float32, images int) {
	p.check(z, x, images)
	p.dst, p.src = z, x
	team.Run(p, images*p.chunks*p.parts())
}

// DoChunk implements [workers.Task].
func (p *MaxPool) DoChunk(_, chunk int) {
	img, positions, part := p.split(chunk)
	first, n := p.part(part)
	y, x := p.positions(positions)
	p.s.ChannelLastMax(&kernel.ChannelLastMax{Out: p.dst[p.out.From(img)+first:], X: p.src[p.in.From(img)+first:],
		OutPos: y, XPos: x, TapX: p.tapX, C: n})
}

// Stem is a convolution of pictures of a [DenseLayout]: the taps of a row and their channels lie side by side, and are
// one tap with many inputs for the kernel.
type Stem struct {
	local
	blocks []outputBlock
	depth  int // inputs of a row of taps
	tapX   []int32
	tapW   map[int][]int32 // by vectors of a block
	packed *Packed
	side   int

	dst, src []float32
	finish   kernel.Finish
}

// Stem makes a convolution from in, which has a border for the taps, to out. It panics if the shapes do not fit each
// other.
func (m *Maker) Stem(in, out Layout, q Square, packed *Packed) *Stem {
	c := &Stem{local: newLocal(m.Set, in, out, q), depth: q.Side * in.C, side: q.Side, packed: packed}
	if in.PixelStride != in.C {
		panic("conv: the pixels of pictures are not side by side. Use DenseLayout")
	}
	c.blocks = outputBlocks(m.Set, out.C, q.Side*c.depth)
	c.tapW = map[int][]int32{}
	for row := range q.Side {
		c.tapX = append(c.tapX, offset("taps", in.PixelAt(0, row, 0)-in.PixelAt(0, 0, 0)))
	}
	for _, b := range c.blocks {
		c.tapW[b.vecs] = everyStride(q.Side, c.depth*b.vecs*m.Set.Lanes)
	}
	return c
}

// PackForward copies weights [in][tap][out] into blocks [row of taps][tap of the row and in][block of out].
func (c *Stem) PackForward(w []float32) {
	ins, outs := c.in.C, c.out.C
	dst := room(&c.packed.forward, c.side*c.depth*roundUp(outs, c.s.Lanes))
	for _, b := range c.blocks {
		width := b.vecs * c.s.Lanes
		n := min(width, outs-b.first)
		for k := range c.side * c.depth {
			tap, in := k/ins, k%ins
			copy(dst[b.w+k*width:][:n], w[(in*c.side*c.side+tap)*outs+b.first:])
		}
	}
}

// Forward writes the output for some images of x, and applies f to it.
func (c *Stem) Forward(team Team, z, x []float32, images int, f kernel.Finish) {
	c.check(z, x, images)
	c.dst, c.src, c.finish = z, x, f
	team.Run(c, images*c.chunks)
}

// DoChunk implements [workers.Task].
func (c *Stem) DoChunk(_, chunk int) {
	img, positions := chunk/c.chunks, chunk%c.chunks
	y, x := c.positions(positions)
	at := c.out.From(img)
	for _, b := range c.blocks {
		c.s.ChannelLast(&kernel.ChannelLast{Out: c.dst[at+b.first:], X: c.src[c.in.From(img):], W: c.packed.forward[b.w:],
			OutPos: y, XPos: x, TapX: c.tapX, TapW: c.tapW[b.vecs], C: c.depth, Vecs: b.vecs,
			Finish: finishFrom(c.finish, b.first, at+b.first)})
	}
}
