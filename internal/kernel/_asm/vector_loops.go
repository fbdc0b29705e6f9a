package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// columnUnroll is the number of vectors of one row that a round of the column loop takes. A row of 32 floats is two
// AVX-512 vectors.
const columnUnroll = 2

// rowUnroll is the number of rows that a sum takes side by side, each with its own accumulators: a row may be a single
// vector, and an addition takes three to four cycles.
const rowUnroll = 2

// body is the work of a loop on the vector at p. Slots number the vectors of one round, for accumulators.
type body func(p place, slot int)

// columns runs work over n floats that begin offs bytes after the arrays, one offset for each row taken side by side.
// It moves offs and n.
func (v *vectors) columns(offs []reg.GPVirtual, n reg.GPVirtual, work body) {
	for _, unroll := range []int{columnUnroll, 1} {
		loop, next := v.label("vectors"), v.label("rest")
		v.Label(loop)
		v.CMPQ(n, U32(unroll*v.lanes()))
		v.JLT(LabelRef(next))
		for r, off := range offs {
			for u := range unroll {
				work(place{off, u * v.bytes, false}, r*columnUnroll+u)
			}
		}
		for _, off := range offs {
			v.ADDQ(U32(unroll*v.bytes), off)
		}
		v.SUBQ(U32(unroll*v.lanes()), n)
		v.JMP(LabelRef(loop))
		v.Label(next)
	}
	done := v.label("done")
	v.TESTQ(n, n)
	v.JZ(LabelRef(done))
	for r, off := range offs {
		work(place{off, 0, true}, r*columnUnroll)
	}
	v.Label(done)
}

// area runs work over the arguments rows × cols, with stride floats from row to row; unroll rows side by side.
func (v *vectors) area(unroll int, work body) {
	rows, cols, stride := v.gp("rows"), v.gp("cols"), v.gp("stride")
	v.SHLQ(Imm(2), stride)
	v.setTail(cols)
	start := v.GP64()
	v.XORQ(start, start)
	for ; unroll > 0; unroll /= 2 {
		loop, next := v.label("rows"), v.label("lastrow")
		v.Label(loop)
		v.CMPQ(rows, U32(unroll))
		v.JLT(LabelRef(next))
		offs := make([]reg.GPVirtual, unroll)
		for r := range offs {
			offs[r] = v.GP64()
			v.MOVQ(start, offs[r])
			v.ADDQ(stride, start)
		}
		n := v.GP64()
		v.MOVQ(cols, n)
		v.columns(offs, n, work)
		v.SUBQ(U32(unroll), rows)
		v.JMP(LabelRef(loop))
		v.Label(next)
	}
}

// flat runs work over n floats.
func (v *vectors) flat(work body) {
	n, off := v.gp("n"), v.GP64()
	v.setTail(n)
	v.XORQ(off, off)
	v.columns([]reg.GPVirtual{off}, n, work)
}

// channelUnroll is the number of vectors of channels whose constants or sums stay in registers while a loop runs over
// the positions: 80 channels are five AVX-512 vectors or ten AVX2 vectors.
const channelUnroll = 5

// channels is a group of vectors of channels: before and after run once a vector, at its place in the arrays of
// channels; each runs at every position, at its place in the arrays of positions.
type channels struct{ before, each, after body }

// positions runs work over the arguments n positions (at least one) of c channels, stride floats from one to the next.
func (v *vectors) positions(work channels) {
	n, c, stride := v.gp("n"), v.gp("c"), v.gp("stride")
	v.SHLQ(Imm(2), stride)
	v.setTail(c)
	start := v.GP64()
	v.XORQ(start, start)
	for _, unroll := range []int{channelUnroll, 1} {
		loop, next := v.label("group"), v.label("rest")
		v.Label(loop)
		v.CMPQ(c, U32(unroll*v.lanes()))
		v.JLT(LabelRef(next))
		v.group(start, n, stride, unroll, false, work)
		v.ADDQ(U32(unroll*v.bytes), start)
		v.SUBQ(U32(unroll*v.lanes()), c)
		v.JMP(LabelRef(loop))
		v.Label(next)
	}
	done := v.label("done")
	v.TESTQ(c, c)
	v.JZ(LabelRef(done))
	v.group(start, n, stride, 1, true, work)
	v.Label(done)
}

func (v *vectors) group(start, n, stride reg.GPVirtual, vecs int, masked bool, work channels) {
	all := func(f body, off reg.GPVirtual) {
		for i := range vecs {
			f(place{off, i * v.bytes, masked}, i)
		}
	}
	all(work.before, start)
	off, left := v.GP64(), v.GP64()
	v.MOVQ(start, off)
	v.MOVQ(n, left)
	loop := v.label("positions")
	v.Label(loop)
	all(work.each, off)
	v.ADDQ(stride, off)
	v.DECQ(left)
	v.JNZ(LabelRef(loop))
	all(work.after, start)
}
