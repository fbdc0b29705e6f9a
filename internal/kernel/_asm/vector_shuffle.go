package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// blockSide is the side of the squares that transpose turns in registers.
const blockSide = 8

// counted runs work n times, n ≥ 0.
func (v *vectors) counted(what string, n reg.GPVirtual, work func()) {
	loop, done := v.label(what), v.label("done")
	v.Label(loop)
	v.TESTQ(n, n)
	v.JZ(LabelRef(done))
	work()
	v.DECQ(n)
	v.JMP(LabelRef(loop))
	v.Label(done)
}

// transpose turns 8×8 squares: pairs, then quads, then halves of rows change places.
func (v *vectors) transpose() {
	v.begin("transpose", "func(dst *float32, dstStride int, src *float32, srcStride, down, across int)",
		"writes dst[j·dstStride+i] = src[i·srcStride+j] for i < 8·down, j < 8·across.")
	dst, src := v.gp("dst"), v.gp("src")
	dstStep, srcStep := v.gp("dstStride"), v.gp("srcStride")
	down, across := v.gp("down"), v.gp("across")
	v.SHLQ(Imm(2), dstStep)
	v.SHLQ(Imm(2), srcStep)
	v.counted("down", down, func() {
		from, to, left := v.GP64(), v.GP64(), v.GP64()
		v.MOVQ(src, from)
		v.MOVQ(dst, to)
		v.MOVQ(across, left)
		v.counted("across", left, func() {
			v.square(from, to, srcStep, dstStep)
			v.ADDQ(U32(blockSide*floatBytes), from)
		})
		for range blockSide {
			v.ADDQ(srcStep, src)
		}
		v.ADDQ(U32(blockSide*floatBytes), dst)
	})
	v.end()
}

// square turns one square and moves to past the blockSide rows it wrote.
func (v *vectors) square(from, to, srcStep, dstStep reg.GPVirtual) {
	var rows, pairs, quads [blockSide]reg.VecVirtual
	at := v.GP64()
	v.MOVQ(from, at)
	for i := range rows {
		rows[i] = v.vec()
		v.VMOVUPS(Mem{Base: at}, rows[i])
		if i < blockSide-1 {
			v.ADDQ(srcStep, at)
		}
	}
	for i := 0; i < blockSide; i += 2 {
		pairs[i], pairs[i+1] = v.vec(), v.vec()
		v.VUNPCKLPS(rows[i+1], rows[i], pairs[i])
		v.VUNPCKHPS(rows[i+1], rows[i], pairs[i+1])
	}
	for i := 0; i < blockSide; i += 4 {
		for j := range 2 {
			quads[i+2*j], quads[i+2*j+1] = v.vec(), v.vec()
			v.VSHUFPS(Imm(0x44), pairs[i+2+j], pairs[i+j], quads[i+2*j])
			v.VSHUFPS(Imm(0xee), pairs[i+2+j], pairs[i+j], quads[i+2*j+1])
		}
	}
	for half := range 2 {
		for i := range 4 {
			r := v.vec()
			v.VPERM2F128(Imm(uint64(0x20+0x11*half)), quads[4+i], quads[i], r)
			v.VMOVUPS(r, Mem{Base: to})
			v.ADDQ(dstStep, to)
		}
	}
}

func (v *vectors) split() {
	v.begin("split", "func(even, odd, x *float32, vecs int)", "writes even[i] = x[2i] and odd[i] = x[2i+1], i < 8·vecs.")
	even, odd, x, n := v.gp("even"), v.gp("odd"), v.gp("x"), v.gp("vecs")
	v.counted("vectors", n, func() {
		lo, hi := v.vec(), v.vec()
		v.VMOVUPS(Mem{Base: x}, lo)
		v.VMOVUPS(Mem{Base: x, Disp: v.bytes}, hi)
		for i, to := range []reg.GPVirtual{even, odd} {
			r := v.vec()
			v.VSHUFPS(Imm(uint64(0x88+0x55*i)), hi, lo, r)
			v.VPERMPD(Imm(0xd8), r, r)
			v.VMOVUPS(r, Mem{Base: to})
			v.ADDQ(U32(v.bytes), to)
		}
		v.ADDQ(U32(2*v.bytes), x)
	})
	v.end()
}

func (v *vectors) merge() {
	v.begin("merge", "func(x, even, odd *float32, vecs int)", "writes x[2i] = even[i] and x[2i+1] = odd[i], i < 8·vecs.")
	x, even, odd, n := v.gp("x"), v.gp("even"), v.gp("odd"), v.gp("vecs")
	v.counted("vectors", n, func() {
		ev, od, lo, hi := v.vec(), v.vec(), v.vec(), v.vec()
		v.VMOVUPS(Mem{Base: even}, ev)
		v.VMOVUPS(Mem{Base: odd}, od)
		v.VUNPCKLPS(od, ev, lo)
		v.VUNPCKHPS(od, ev, hi)
		for i := range 2 {
			r := v.vec()
			v.VPERM2F128(Imm(uint64(0x20+0x11*i)), hi, lo, r)
			v.VMOVUPS(r, Mem{Base: x, Disp: i * v.bytes})
		}
		v.ADDQ(U32(v.bytes), even)
		v.ADDQ(U32(v.bytes), odd)
		v.ADDQ(U32(2*v.bytes), x)
	})
	v.end()
}
