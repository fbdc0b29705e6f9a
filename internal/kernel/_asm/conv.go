package main

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/mmcloughlin/avo/gotypes"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// convolutions generates the convolution kernels of one instruction set. Tile sizes are those of the Set of that name.
type convolutions struct {
	target
	planesOut, gradOut, gradIn, channelLastVecs, narrowOuts int

	args gotypes.Component // the argument struct, where its address has a register
}

// tileSizes are those of the Sets.
var tileSizes = map[isa]convolutions{
	avx2:   {planesOut: 5, gradOut: 4, gradIn: 3, channelLastVecs: 2, narrowOuts: 2},
	avx512: {planesOut: 10, gradOut: 5, gradIn: 5, channelLastVecs: 5, narrowOuts: 4},
	neon:   {planesOut: 5, gradOut: 4, gradIn: 3, channelLastVecs: 2, narrowOuts: 2},
}

func convKernels(g *generator, sets ...isa) {
	g.tables()
	for _, i := range sets {
		c := tileSizes[i]
		c.target = target{generator: g, isa: i}
		c.planes()
		c.planesGrad()
		for v := 1; v <= c.channelLastVecs; v++ {
			c.channelLast(v)
			c.channelLastGrad(v)
		}
		c.channelLastNarrow()
		c.depthwise()
		c.channelLastMax()
		c.fmaPeak()
	}
}

const (
	channelLastTile = 5 // kernel.ChannelLastTile
	cacheLine       = 64
	depthUnroll     = 4 // products of one output in a turn of the innermost loop
	gradUnroll      = 2 // vectors of a row in a turn of PlanesGrad
	// weightsAhead is how many bytes of weights before their use ChannelLast asks for them.
	weightsAhead = 2048
)

// begin starts a function with one argument struct.
func (c *convolutions) begin(name, args, doc string) {
	c.function(name+c.name, "func(a *"+args+")", name+c.name+" "+doc)
	c.args = c.Dereference(c.Param("a"))
}

func (c *convolutions) argument(f string) gotypes.Component {
	if c.args != nil {
		return c.args.Field(f)
	}
	return c.Dereference(c.Param("a")).Field(f)
}

// field loads a field of the argument struct, base the data pointer of a slice.
func (c *convolutions) field(f string) reg.GPVirtual {
	r := c.GP64()
	c.Load(c.argument(f), r)
	return r
}

func (c *convolutions) base(f string) reg.GPVirtual {
	r := c.GP64()
	c.Load(c.argument(f).Base(), r)
	return r
}

func (c *convolutions) length(f string) reg.GPVirtual {
	r := c.GP64()
	c.Load(c.Dereference(c.Param("a")).Field(f).Len(), r)
	return r
}

// scaled copies r·4, floats to bytes.
func (c *convolutions) scaled(r reg.GPVirtual) reg.GPVirtual {
	c.SHLQ(Imm(2), r)
	return r
}

// unlessSet skips body when a flag of the argument struct is set.
func (c *convolutions) unlessSet(flag string, body func()) {
	r, l := c.GP64(), c.label("set")
	c.Load(c.Dereference(c.Param("a")).Field(flag), r.As8())
	c.TESTB(r.As8(), r.As8())
	c.JNZ(LabelRef(l))
	body()
	c.Label(l)
}

// loop repeats body n times, n > 0; it counts n down.
func (c *convolutions) loop(n reg.GPVirtual, body func()) {
	l := c.label("loop")
	c.Label(l)
	body()
	c.DECQ(n)
	c.JNZ(LabelRef(l))
}

// unrolled repeats body n times, n ≥ 0, the bulk of it times a turn of the loop: body(u) is the u-th of a turn and step
// advances the pointers past a number of them. It destroys n.
func (c *convolutions) unrolled(n reg.GPVirtual, times int, body func(u int), step func(bodies int)) {
	turns := c.copyOf(n)
	c.SHRQ(Imm(uint64(bits.Len(uint(times))-1)), turns)
	c.unless(turns, func() {
		c.loop(turns, func() {
			for u := range times {
				body(u)
			}
			step(times)
		})
	})
	c.ANDQ(Imm(uint64(times-1)), n)
	c.unless(n, func() {
		c.loop(n, func() {
			body(0)
			step(1)
		})
	})
}

// accumulate adds x·y to a sum.
type accumulate func(x Op, y, sum reg.VecVirtual)

// product is the first term of a sum.
func (c *convolutions) product(x Op, y, sum reg.VecVirtual) { c.VMULPS(x, y, sum) }

func (c *convolutions) multiplyAdd(x Op, y, sum reg.VecVirtual) { c.VFMADD231PS(x, y, sum) }

// summed leaves the sums of n ≥ 0 terms in acc, as unrolled runs them; term(u) adds the u-th of a turn. The first is a
// product: sums that begin with zeros take 25 cycles longer on Zen 3, as much as a quarter of 20 terms.
func (c *convolutions) summed(n reg.GPVirtual, acc []reg.VecVirtual, term func(u int, add accumulate), step func(terms int)) {
	none, odd, end := c.label("none"), c.label("odd"), c.label("summed")
	c.TESTQ(n, n)
	c.JZ(LabelRef(none))
	c.TESTQ(U32(depthUnroll-1), n)
	c.JNZ(LabelRef(odd))
	turn := func(first accumulate) {
		term(0, first)
		for u := 1; u < depthUnroll; u++ {
			term(u, c.multiplyAdd)
		}
		step(depthUnroll)
	}
	turn(c.product)
	c.SHRQ(Imm(uint64(bits.Len(depthUnroll)-1)), n)
	c.DECQ(n)
	c.unless(n, func() { c.loop(n, func() { turn(c.multiplyAdd) }) })
	c.JMP(LabelRef(end))
	c.Label(odd)
	term(0, c.product)
	step(1)
	c.DECQ(n)
	c.unrolled(n, depthUnroll, func(u int) { term(u, c.multiplyAdd) }, step)
	c.JMP(LabelRef(end))
	c.Label(none)
	c.clear(acc...)
	c.Label(end)
}

// counted repeats body n times with the counter in memory, where registers are short.
func (c *convolutions) counted(n reg.GPVirtual, body func()) {
	m := c.AllocLocal(8)
	c.MOVQ(n, m)
	c.unless(n, func() {
		l := c.label("counted")
		c.Label(l)
		body()
		c.DECQ(m)
		c.JNZ(LabelRef(l))
	})
}

// unless skips body when n is zero.
func (c *convolutions) unless(n reg.GPVirtual, body func()) {
	l := c.label("skip")
	c.TESTQ(n, n)
	c.JZ(LabelRef(l))
	body()
	c.Label(l)
}

func (c *convolutions) copyOf(r reg.GPVirtual) reg.GPVirtual {
	d := c.GP64()
	c.MOVQ(r, d)
	return d
}

func (c *convolutions) planes() {
	c.begin("planes", "Planes", "is planesGeneric with vectors along positions.")
	x, xb := c.base("X"), c.scaled(c.field("XBase"))
	c.ADDQ(xb, x)
	out := c.base("Out")
	stride, second := c.scaled(c.field("OutStride")), c.scaled(c.field("VecStride"))
	weights, w := c.AllocLocal(8), c.base("W")
	c.MOVQ(w, weights)
	c.counted(c.field("Rows"), func() {
		tiles, xt, ot := c.field("Tiles"), c.copyOf(x), c.copyOf(out)
		c.unless(tiles, func() {
			c.loop(tiles, func() {
				w := c.GP64()
				c.MOVQ(weights, w)
				c.planesTile(xt, ot, w, c.base("Off"), stride, second)
			})
		})
		next := c.scaled(c.field("WStride"))
		c.ADDQ(next, weights)
		rowStride := c.scaled(c.field("RowStride"))
		c.ADDQ(rowStride, x)
		c.ADDQ(rowStride, out)
	})
	c.end()
}

func (c *convolutions) planesTile(x, out, w, off, stride, second reg.GPVirtual) {
	acc := c.vecs(2 * c.planesOut)
	x1, wk, offk, k := c.GP64(), w, off, c.length("Off")
	c.LEAQ(Mem{Base: x, Index: second, Scale: 1}, x1)
	xs, b, at := c.vecs(2), c.vec(), c.GP64()
	c.summed(k, acc, func(u int, add accumulate) {
		c.MOVLQSX(Mem{Base: offk, Disp: floatBytes * u}, at)
		c.VMOVUPS(Mem{Base: x, Index: at, Scale: 4}, xs[0])
		c.VMOVUPS(Mem{Base: x1, Index: at, Scale: 4}, xs[1])
		for i := range c.planesOut {
			c.VBROADCASTSS(Mem{Base: wk, Disp: floatBytes * (u*c.planesOut + i)}, b)
			add(xs[0], b, acc[2*i])
			add(xs[1], b, acc[2*i+1])
		}
	}, func(n int) {
		c.ADDQ(U32(uint32(n*floatBytes*c.planesOut)), wk)
		c.ADDQ(U32(uint32(n*floatBytes)), offk)
	})
	c.finished(func(f finishRegisters) {
		b := c.vecs(2)
		o := c.copyOf(out)
		for i := range c.planesOut {
			c.VBROADCASTSS(Mem{Base: f.scale, Disp: floatBytes * i}, b[0])
			c.VBROADCASTSS(Mem{Base: f.shift, Disp: floatBytes * i}, b[1])
			at := o
			for v := range 2 {
				if v == 1 {
					at = c.GP64()
					c.LEAQ(Mem{Base: o, Index: second, Scale: 1}, at)
				}
				a := acc[2*i+v]
				c.VFMADD213PS(b[1], b[0], a)
				c.unless(f.res, func() { c.VADDPS(Mem{Base: at, Index: f.delta, Scale: 1}, a, a) })
				c.rectified(f, a)
			}
			c.ADDQ(stride, o)
		}
	})
	o := c.copyOf(out)
	for i := range c.planesOut {
		c.VMOVUPS(acc[2*i], Mem{Base: o})
		c.VMOVUPS(acc[2*i+1], Mem{Base: o, Index: second, Scale: 1})
		c.ADDQ(stride, o)
	}
	c.ADDQ(U32(uint32(2*c.bytes)), x)
	c.ADDQ(U32(uint32(2*c.bytes)), out)
}

// finishRegisters is a kernel.Finish in registers.
type finishRegisters struct {
	scale, shift, res reg.GPVirtual
	delta             reg.GPVirtual // from Out to Res, bytes
	floor, most       reg.VecVirtual
}

// rectified applies the Relu and the Most of a finish. VMAXPS and VMINPS return their second source when one is a NaN,
// so a NaN passes.
func (c *convolutions) rectified(f finishRegisters, a reg.VecVirtual) {
	floor, most := reg.Register(f.floor), reg.Register(f.most)
	if a.Size() == 16 {
		floor, most = f.floor.AsX(), f.most.AsX()
	}
	c.VMAXPS(a, floor, a)
	c.VMINPS(a, most, a)
}

// finished does body if the argument struct has a Scale.
func (c *convolutions) finished(body func(finishRegisters)) {
	args := c.Dereference(c.Param("a"))
	load := func(f string) reg.GPVirtual {
		r := c.GP64()
		c.Load(args.Field("Finish").Field(f).Base(), r)
		return r
	}
	scale := load("Scale")
	c.unless(scale, func() {
		f := finishRegisters{scale, load("Shift"), load("Res"), c.GP64(), c.vec(), c.vec()}
		c.MOVQ(f.res, f.delta)
		out, bits, relu := c.GP64(), c.GP32(), c.GP64()
		c.Load(args.Field("Out").Base(), out)
		c.SUBQ(out, f.delta)
		c.Load(args.Field("Finish").Field("Relu"), relu.As8())
		c.MOVBQZX(relu.As8(), relu)
		c.XORL(bits, bits)
		rectified := c.label("rectified")
		c.TESTQ(relu, relu)
		c.JNZ(LabelRef(rectified))
		c.MOVL(U32(math.Float32bits(float32(math.Inf(-1)))), bits)
		c.Label(rectified)
		low := c.XMM()
		c.VMOVD(bits, low)
		c.VBROADCASTSS(low, f.floor)
		most, err := args.Field("Finish").Field("Most").Resolve()
		if err != nil {
			panic(err)
		}
		limited := c.label("limited")
		c.MOVL(most.Addr, bits)
		c.TESTL(bits, bits)
		c.JNZ(LabelRef(limited))
		c.MOVL(U32(math.Float32bits(float32(math.Inf(1)))), bits)
		c.Label(limited)
		c.VMOVD(bits, low)
		c.VBROADCASTSS(low, f.most)
		body(f)
	})
}

// wholeRows are the widths of maps, in floats, whose rows are unrolled: those of 32×32 images.
var wholeRows = []int{32, 16}

func (c *convolutions) planesGrad() {
	c.begin("planesGrad", "PlanesGrad", "is planesGradGeneric with vectors along positions.")
	// What is left of a row behind its vectors, and of an image behind its rows.
	rowStep, imageStep := c.AllocLocal(8), c.AllocLocal(8)
	row, width := c.scaled(c.field("RowStride")), c.field("Vecs")
	c.IMUL3Q(Imm(uint64(c.bytes)), width, width)
	image, rows := c.scaled(c.field("ImageStride")), c.field("Rows")
	c.IMULQ(row, rows)
	c.SUBQ(rows, image)
	c.MOVQ(image, imageStep)
	c.SUBQ(width, row)
	c.MOVQ(row, rowStep)

	groups := c.AllocLocal(8)
	values := c.length("Off")
	c.MOVQ(values, groups)
	dst, off := c.base("Dst"), c.base("Off")
	group, done := c.label("group"), c.label("done")
	c.Label(group)
	c.SUBQ(Imm(uint64(c.gradIn)), groups)
	c.JLT(LabelRef(done))
	c.planesGradTile(dst, off, rowStep, imageStep)
	c.ADDQ(U32(uint32(c.gradOut*c.gradIn*c.bytes)), dst)
	c.ADDQ(U32(uint32(c.gradIn*floatBytes)), off)
	c.JMP(LabelRef(group))
	c.Label(done)
	c.end()
}

func (c *convolutions) planesGradTile(dst, off reg.GPVirtual, rowStep, imageStep Mem) {
	acc := c.vecs(c.gradOut * c.gradIn)
	c.clear(acc...)
	c.unlessSet("Write", func() {
		for i, a := range acc {
			c.VMOVUPS(Mem{Base: dst, Disp: i * c.bytes}, a)
		}
	})
	y, yb := c.base("Y"), c.scaled(c.field("YBase"))
	c.ADDQ(yb, y)
	stride, stride3 := c.scaled(c.field("YStride")), c.GP64()
	c.LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	output := []Mem{{Base: y}, {Base: y, Index: stride, Scale: 1}, {Base: y, Index: stride, Scale: 2},
		{Base: y, Index: stride3, Scale: 1}, {Base: y, Index: stride, Scale: 4}}
	x, xb := c.base("X"), c.scaled(c.field("XBase"))
	c.ADDQ(xb, x)
	input := make([]Mem, c.gradIn)
	for n := range input {
		rel := c.GP64()
		c.MOVLQSX(Mem{Base: off, Disp: floatBytes * n}, rel)
		input[n] = Mem{Base: x, Index: rel, Scale: floatBytes}
	}
	walk := func(by Op) {
		c.ADDQ(by, x)
		c.ADDQ(by, y)
	}
	xs, ys := c.vecs(c.gradIn), c.vec()
	vector := func(u int) {
		for n := range xs {
			c.VMOVUPS(input[n].Offset(u*c.bytes), xs[n])
		}
		for m := range c.gradOut {
			c.VMOVUPS(output[m].Offset(u*c.bytes), ys)
			for n := range xs {
				c.VFMADD231PS(xs[n], ys, acc[m*c.gradIn+n])
			}
		}
	}
	c.counted(c.field("Images"), func() {
		next := c.label("image")
		for _, floats := range wholeRows { // no inner loop: its start and end would cost as much as the row
			other := c.label("width")
			vecs := c.field("Vecs")
			c.CMPQ(vecs, Imm(uint64(floats*floatBytes/c.bytes)))
			c.JNE(LabelRef(other))
			rows, row := c.field("Rows"), c.scaled(c.field("RowStride"))
			c.loop(rows, func() {
				for u := range floats * floatBytes / c.bytes {
					vector(u)
				}
				walk(row)
			})
			c.JMP(LabelRef(next))
			c.Label(other)
		}
		c.counted(c.field("Rows"), func() {
			c.unrolled(c.field("Vecs"), gradUnroll, vector, func(n int) { walk(U32(uint32(n * c.bytes))) })
			walk(rowStep)
		})
		c.Label(next)
		walk(imageStep)
	})
	for i, a := range acc {
		c.VMOVUPS(a, Mem{Base: dst, Disp: i * c.bytes})
	}
}

func (c *convolutions) channelLast(vecs int) {
	c.begin(fmt.Sprintf("channelLast%d", vecs), "ChannelLast", fmt.Sprintf("is channelLastGeneric for blocks of %d vectors.", vecs))
	outPos, xPos, tiles := c.base("OutPos"), c.base("XPos"), c.length("OutPos")
	width := vecs * c.bytes
	skip := c.label("none")
	c.TESTQ(tiles, tiles)
	c.JZ(LabelRef(skip))
	c.Label("tile")
	acc := c.vecs(channelLastTile * vecs)
	zeros, done := c.label("zeros"), c.label("done")
	n, depth := c.length("TapX"), c.field("C")
	c.TESTQ(n, n)
	c.JZ(LabelRef(zeros))
	c.TESTQ(depth, depth)
	c.JZ(LabelRef(zeros))
	tap := c.GP64()
	c.XORQ(tap, tap)
	taps := c.label("taps")
	c.Label(taps)
	xs, w := c.channelLastTap(tap, xPos)
	depth = c.field("C")
	i := c.GP64()
	c.XORQ(i, i)
	ws, b := c.vecs(vecs), c.vec()
	term := func(add accumulate) {
		for at := 0; at < width; at += cacheLine { // the first tile's weights come from the third-level cache
			c.PREFETCHT0(Mem{Base: w, Disp: weightsAhead + at})
		}
		for v := range vecs {
			c.VMOVUPS(Mem{Base: w, Disp: v * c.bytes}, ws[v])
		}
		for j := range channelLastTile {
			c.VBROADCASTSS(Mem{Base: xs[j], Index: i, Scale: 4}, b)
			for v := range vecs {
				add(ws[v], b, acc[j*vecs+v])
			}
		}
		c.ADDQ(U32(uint32(width)), w)
		c.INCQ(i)
	}
	terms, next := c.label("terms"), c.label("next")
	c.TESTQ(tap, tap)
	c.JNZ(LabelRef(terms))
	term(c.product) // see summed
	c.CMPQ(i, depth)
	c.JE(LabelRef(next))
	c.Label(terms)
	term(c.multiplyAdd)
	c.CMPQ(i, depth)
	c.JNE(LabelRef(terms))
	c.Label(next)
	c.INCQ(tap)
	n = c.length("TapX")
	c.CMPQ(tap, n)
	c.JLT(LabelRef(taps))
	c.JMP(LabelRef(done))
	c.Label(zeros)
	c.clear(acc...)
	c.Label(done)
	out, o := c.base("Out"), c.GP64()
	c.finished(func(f finishRegisters) {
		b, res := c.vec(), c.GP64()
		c.LEAQ(Mem{Base: out, Index: f.delta, Scale: 1}, res)
		for j := range channelLastTile {
			c.MOVLQSX(Mem{Base: outPos, Disp: 4 * j}, o)
			for v := range vecs {
				a := acc[j*vecs+v]
				c.VMOVUPS(Mem{Base: f.scale, Disp: v * c.bytes}, b)
				c.VFMADD213PS(Mem{Base: f.shift, Disp: v * c.bytes}, b, a)
				c.unless(f.res, func() { c.VADDPS(Mem{Base: res, Index: o, Scale: 4, Disp: v * c.bytes}, a, a) })
				c.rectified(f, a)
			}
		}
	})
	for j := range channelLastTile {
		c.MOVLQSX(Mem{Base: outPos, Disp: 4 * j}, o)
		for v := range vecs {
			c.VMOVUPS(acc[j*vecs+v], Mem{Base: out, Index: o, Scale: 4, Disp: v * c.bytes})
		}
	}
	c.ADDQ(Imm(4*channelLastTile), outPos)
	c.ADDQ(Imm(4*channelLastTile), xPos)
	c.SUBQ(Imm(channelLastTile), tiles)
	c.JNZ(LabelRef("tile"))
	c.Label(skip)
	c.end()
}

// channelLastTap loads where the pixels of a tile and the weights of a tap begin.
func (c *convolutions) channelLastTap(tap, xPos reg.GPVirtual) (xs []reg.GPVirtual, w reg.GPVirtual) {
	tx, tw := c.base("TapX"), c.base("TapW")
	x, rel := c.base("X"), c.GP64()
	c.MOVLQSX(Mem{Base: tx, Index: tap, Scale: 4}, rel)
	c.LEAQ(Mem{Base: x, Index: rel, Scale: 4}, x)
	xs = make([]reg.GPVirtual, channelLastTile)
	for j := range xs {
		xs[j] = c.GP64()
		c.MOVLQSX(Mem{Base: xPos, Disp: 4 * j}, xs[j])
		c.LEAQ(Mem{Base: x, Index: xs[j], Scale: 4}, xs[j])
	}
	w = c.base("W")
	c.MOVLQSX(Mem{Base: tw, Index: tap, Scale: 4}, rel)
	c.LEAQ(Mem{Base: w, Index: rel, Scale: 4}, w)
	return xs, w
}

// channelLastNarrow has vectors along the inputs, and adds up their lanes at the end of a tile.
func (c *convolutions) channelLastNarrow() {
	c.begin("channelLastNarrow", "ChannelLast", "is channelLastNarrowGeneric with vectors along the inputs.")
	outPos, xPos, tiles := c.base("OutPos"), c.base("XPos"), c.length("OutPos")
	outs, width := c.narrowOuts, c.narrowOuts*c.bytes
	skip := c.label("none")
	c.TESTQ(tiles, tiles)
	c.JZ(LabelRef(skip))
	v := &vectors{target: c.target}
	v.setTail(c.field("C"))
	rest := c.AllocLocal(8)
	c.MOVQ(v.tail.count, rest)
	c.Label("tile")
	acc := c.vecs(channelLastTile * outs)
	c.clear(acc...)
	done := c.label("done")
	n := c.length("TapX")
	c.TESTQ(n, n)
	c.JZ(LabelRef(done))
	tap := c.GP64()
	c.XORQ(tap, tap)
	taps := c.label("taps")
	c.Label(taps)
	xs, w := c.channelLastTap(tap, xPos)
	off, left := c.GP64(), c.field("C")
	c.XORQ(off, off)
	c.SHRQ(Imm(uint64(bits.Len(uint(c.lanes()))-1)), left)
	ws := c.vecs(outs)
	vector := func(masked bool) {
		for o := range ws {
			c.VMOVUPS(Mem{Base: w, Disp: o * c.bytes}, ws[o])
		}
		for j, at := range xs {
			values := v.load(at, place{off: off, masked: masked})
			for o := range ws {
				c.VFMADD231PS(ws[o], values, acc[j*outs+o])
			}
		}
	}
	c.unless(left, func() {
		c.loop(left, func() {
			vector(false)
			c.ADDQ(U32(uint32(width)), w)
			c.ADDQ(U32(uint32(c.bytes)), off)
		})
	})
	r := c.GP64()
	c.MOVQ(rest, r)
	c.unless(r, func() { vector(true) })
	c.INCQ(tap)
	n = c.length("TapX")
	c.CMPQ(tap, n)
	c.JLT(LabelRef(taps))
	c.Label(done)
	sums := make([]reg.VecVirtual, channelLastTile)
	for j := range sums {
		sums[j] = c.laneSums(acc[j*outs : (j+1)*outs])
	}
	move := c.VMOVSD
	if c.wide() {
		move = c.VMOVUPS
	}
	out, o := c.base("Out"), c.GP64()
	c.finished(func(f finishRegisters) {
		scale, shift, res, more := c.XMM(), c.XMM(), c.GP64(), c.XMM()
		move(Mem{Base: f.scale}, scale)
		move(Mem{Base: f.shift}, shift)
		c.LEAQ(Mem{Base: out, Index: f.delta, Scale: 1}, res)
		for j, s := range sums {
			c.VFMADD213PS(shift, scale, s)
			c.unless(f.res, func() {
				c.MOVLQSX(Mem{Base: outPos, Disp: 4 * j}, o)
				move(Mem{Base: res, Index: o, Scale: 4}, more)
				c.VADDPS(more, s, s)
			})
			c.rectified(f, s)
		}
	})
	for j, s := range sums {
		c.MOVLQSX(Mem{Base: outPos, Disp: 4 * j}, o)
		move(s, Mem{Base: out, Index: o, Scale: 4})
	}
	c.ADDQ(Imm(4*channelLastTile), outPos)
	c.ADDQ(Imm(4*channelLastTile), xPos)
	c.SUBQ(Imm(channelLastTile), tiles)
	c.JNZ(LabelRef("tile"))
	c.Label(skip)
	c.end()
}

// laneSums is the sums of the lanes of four wide vectors, or of two others, in the lowest lanes of one.
func (c *convolutions) laneSums(v []reg.VecVirtual) reg.VecVirtual {
	sum, upper := c.XMM(), c.YMM()
	if !c.wide() {
		c.VHADDPS(v[1], v[0], v[0])
		c.VHADDPS(v[0], v[0], v[0])
		c.VEXTRACTF128(Imm(1), v[0], sum)
		c.VADDPS(v[0].AsX(), sum, sum)
		return sum
	}
	low := c.vec()
	for i := 0; i < len(v); i += 2 {
		c.VUNPCKLPS(v[i+1], v[i], low)
		c.VUNPCKHPS(v[i+1], v[i], v[i])
		c.VADDPS(low, v[i], v[i])
	}
	c.VUNPCKLPD(v[2], v[0], low)
	c.VUNPCKHPD(v[2], v[0], v[0])
	c.VADDPS(low, v[0], v[0])
	c.VEXTRACTF64X4(Imm(1), v[0], upper)
	c.VADDPS(upper, v[0].AsY(), upper)
	c.VEXTRACTF32X4(Imm(1), upper, sum)
	c.VADDPS(upper.AsX(), sum, sum)
	return sum
}

func (c *convolutions) channelLastGrad(vecs int) {
	c.begin(fmt.Sprintf("channelLastGrad%d", vecs), "ChannelLastGrad", fmt.Sprintf("is channelLastGradGeneric for blocks of %d vectors.", vecs))
	x, y := c.base("X"), c.base("Y")
	dst, stride := c.base("Dst"), c.scaled(c.field("DstStride"))
	tiles := c.field("Tiles")
	c.unless(tiles, func() {
		c.loop(tiles, func() { c.channelLastGradTile(vecs, dst, stride, x, y, c.base("XPos"), c.base("YPos")) })
	})
	c.end()
}

func (c *convolutions) channelLastGradTile(vecs int, dst, stride, x, y, xPos, yPos reg.GPVirtual) {
	row := c.copyOf(dst)
	for i := range channelLastTile { // the sums are wanted only at the end
		for at := 0; at < vecs*c.bytes; at += cacheLine {
			c.PREFETCHT0(Mem{Base: row, Disp: at})
		}
		if i < channelLastTile-1 {
			c.ADDQ(stride, row)
		}
	}
	acc := c.vecs(channelLastTile * vecs)
	xq, yq := c.GP64(), c.GP64()
	ys, b := c.vecs(vecs), c.vec()
	c.summed(c.length("XPos"), acc, func(u int, add accumulate) {
		c.MOVLQSX(Mem{Base: xPos, Disp: floatBytes * u}, xq)
		c.MOVLQSX(Mem{Base: yPos, Disp: floatBytes * u}, yq)
		for v := range vecs {
			c.VMOVUPS(Mem{Base: y, Index: yq, Scale: 4, Disp: v * c.bytes}, ys[v])
		}
		for i := range channelLastTile {
			c.VBROADCASTSS(Mem{Base: x, Index: xq, Scale: 4, Disp: 4 * i}, b)
			for v := range vecs {
				add(ys[v], b, acc[i*vecs+v])
			}
		}
	}, func(n int) {
		c.ADDQ(U32(uint32(n*floatBytes)), xPos)
		c.ADDQ(U32(uint32(n*floatBytes)), yPos)
	})
	for i := range channelLastTile {
		c.unlessSet("Write", func() {
			for v := range vecs {
				c.VADDPS(Mem{Base: dst, Disp: v * c.bytes}, acc[i*vecs+v], acc[i*vecs+v])
			}
		})
		for v := range vecs {
			c.VMOVUPS(acc[i*vecs+v], Mem{Base: dst, Disp: v * c.bytes})
		}
		c.ADDQ(stride, dst)
	}
	c.ADDQ(Imm(channelLastTile*floatBytes), x)
}

// fmaChains is the number of independent sums of the peak loop, more than their latency times those that start in a
// cycle.
const fmaChains = 12

// fmaPeak does nothing but fused multiply-adds.
func (c *convolutions) fmaPeak() {
	c.function("fmaPeak"+c.name, "func(n int)", fmt.Sprintf("fmaPeak%s runs n rounds of %d independent vector multiply-adds.", c.name, fmaChains))
	n := c.GP64()
	c.Load(c.Param("n"), n)
	acc, x := c.vecs(fmaChains), c.vec()
	c.clear(append(acc, x)...)
	c.unless(n, func() {
		c.loop(n, func() {
			for _, a := range acc {
				c.VFMADD231PS(x, x, a)
			}
		})
	})
	c.end()
}
