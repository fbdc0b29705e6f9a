package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// unordered is the predicate of VCMPPS that is true where one of two values is a NaN.
const unordered = 3

// channelVecs are the numbers of vectors of channels that a tile of a kernel without sums over channels takes at once.
func (c *convolutions) channelVecs() []int {
	if c.wide() {
		return []int{4, 1}
	}
	return []int{2, 1}
}

// tilesByChannels runs body for every tile of positions and every group of vectors of channels. xs are the places of
// the tile's inputs, at the group's bytes behind channel 0.
func (c *convolutions) tilesByChannels(body func(vecs int, outPos, at reg.GPVirtual, xs []reg.GPVirtual)) {
	outPos, xPos, tiles := c.base("OutPos"), c.base("XPos"), c.length("OutPos")
	c.Label("tile")
	at := c.GP64()
	c.XORQ(at, at)
	c.Label("channels")
	for _, vecs := range c.channelVecs() {
		next := c.label("fewer")
		left := c.scaled(c.field("C"))
		c.SUBQ(at, left)
		c.CMPQ(left, U32(uint32(vecs*c.bytes)))
		c.JLT(LabelRef(next))
		x := c.base("X")
		c.ADDQ(at, x)
		xs := make([]reg.GPVirtual, channelLastTile)
		for j := range xs {
			xs[j] = c.GP64()
			c.MOVLQSX(Mem{Base: xPos, Disp: floatBytes * j}, xs[j])
			c.LEAQ(indexed(x, xs[j], floatBytes, 0), xs[j])
		}
		body(vecs, outPos, at, xs)
		c.ADDQ(U32(uint32(vecs*c.bytes)), at)
		c.JMP(LabelRef("channels"))
		c.Label(next)
	}
	c.ADDQ(Imm(floatBytes*channelLastTile), outPos)
	c.ADDQ(Imm(floatBytes*channelLastTile), xPos)
	c.SUBQ(Imm(channelLastTile), tiles)
	c.JNZ(LabelRef("tile"))
	c.end()
}

// overTaps runs first for the first tap and more for each other one; rel is where its inputs lie, in floats.
func (c *convolutions) overTaps(first, more func(rel reg.GPVirtual)) {
	tap, left, rel := c.base("TapX"), c.length("TapX"), c.GP64()
	one := func(term func(rel reg.GPVirtual)) {
		c.MOVLQSX(Mem{Base: tap}, rel)
		term(rel)
		c.ADDQ(Imm(floatBytes), tap)
	}
	one(first)
	c.DECQ(left)
	c.unless(left, func() { c.loop(left, func() { one(more) }) })
}

// storeTile writes the vectors of a tile, at bytes behind channel 0.
func (c *convolutions) storeTile(vecs int, outPos, at reg.GPVirtual, values []reg.VecVirtual) {
	out, o := c.base("Out"), c.GP64()
	c.ADDQ(at, out)
	for j := range channelLastTile {
		c.MOVLQSX(Mem{Base: outPos, Disp: floatBytes * j}, o)
		for v := range vecs {
			c.VMOVUPS(values[j*vecs+v], indexed(out, o, floatBytes, v*c.bytes))
		}
	}
}

// depthwise has vectors along channels, and for each of them the taps as the innermost loop.
func (c *convolutions) depthwise() {
	c.begin("depthwise", "Depthwise", "is depthwiseGeneric with vectors along channels.")
	c.tilesByChannels(func(vecs int, outPos, at reg.GPVirtual, xs []reg.GPVirtual) {
		w, step := c.base("W"), c.scaled(c.field("C"))
		c.ADDQ(at, w)
		acc, ws := c.vecs(channelLastTile*vecs), c.vecs(vecs)
		term := func(add accumulate) func(rel reg.GPVirtual) {
			return func(rel reg.GPVirtual) {
				for v := range vecs {
					c.VMOVUPS(Mem{Base: w, Disp: v * c.bytes}, ws[v])
				}
				for j, x := range xs {
					for v := range vecs {
						add(indexed(x, rel, floatBytes, v*c.bytes), ws[v], acc[j*vecs+v])
					}
				}
				c.ADDQ(step, w)
			}
		}
		c.overTaps(term(c.product), term(c.multiplyAdd))
		c.finished(func(f finishRegisters) {
			b, o := c.vec(), c.GP64()
			c.ADDQ(at, f.scale)
			c.ADDQ(at, f.shift)
			for j := range channelLastTile {
				c.MOVLQSX(Mem{Base: outPos, Disp: floatBytes * j}, o)
				c.LEAQ(indexed(at, o, floatBytes, 0), o)
				c.ADDQ(f.delta, o)
				out := c.base("Out")
				for v := range vecs {
					a := acc[j*vecs+v]
					c.VMOVUPS(Mem{Base: f.scale, Disp: v * c.bytes}, b)
					c.VFMADD213PS(Mem{Base: f.shift, Disp: v * c.bytes}, b, a)
					c.unless(f.res, func() { c.VADDPS(indexed(out, o, 1, v*c.bytes), a, a) })
					c.rectified(f, a)
				}
			}
		})
		c.storeTile(vecs, outPos, at, acc)
	})
}

// channelLastMax keeps a NaN: VMAXPS returns its second source, the maximum so far, when one is a NaN, and a NaN of the
// new values then takes its place.
func (c *convolutions) channelLastMax() {
	c.begin("channelLastMax", "ChannelLastMax", "is channelLastMaxGeneric with vectors along channels.")
	c.tilesByChannels(func(vecs int, outPos, at reg.GPVirtual, xs []reg.GPVirtual) {
		most, x := c.vecs(channelLastTile*vecs), c.vec()
		each := func(do func(value Op, most reg.VecVirtual)) func(rel reg.GPVirtual) {
			return func(rel reg.GPVirtual) {
				for j := range xs {
					for v := range vecs {
						do(indexed(xs[j], rel, floatBytes, v*c.bytes), most[j*vecs+v])
					}
				}
			}
		}
		c.overTaps(each(func(value Op, most reg.VecVirtual) { c.VMOVUPS(value, most) }),
			each(func(value Op, most reg.VecVirtual) {
				c.VMOVUPS(value, x)
				c.VMAXPS(most, x, most)
				if c.wide() {
					k := c.K()
					c.VCMPPS(Imm(unordered), x, x, k)
					c.VMOVAPS(x, k, most)
					return
				}
				c.VCMPPS(Imm(unordered), x, x, x)
				c.VORPS(x, most, most)
			}))
		c.storeTile(vecs, outPos, at, most)
	})
}
