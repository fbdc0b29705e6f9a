package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// laneGroup is the number of sums that laneSums makes at once: kernel.LaneGroup.
const laneGroup = 8

// laneSums adds up the lanes of vectors in pairs, a group at a time. The upper half of a wide vector is added to its
// lower half first.
func (v *vectors) laneSums() {
	v.begin("laneSums", "func(dst, src *float32, groups int)", "writes to dst the sum of each vector of src, 8 in a group.")
	dst, src, n := v.gp("dst"), v.gp("src"), v.gp("groups")
	next := v.label("group")
	v.Label(next)
	var x [laneGroup]reg.VecVirtual
	for i := range x {
		x[i] = v.YMM()
		v.VMOVUPS(Mem{Base: src, Disp: i * v.bytes}, x[i])
		if v.wide() {
			v.VADDPS(Mem{Base: src, Disp: i*v.bytes + v.bytes/2}, x[i], x[i])
		}
	}
	for width := 1; width < laneGroup/2; width *= 2 {
		for i := 0; i < laneGroup; i += 2 * width {
			v.VHADDPS(x[i+width], x[i], x[i])
		}
	}
	low := v.YMM()
	v.VPERM2F128(Imm(0x20), x[4], x[0], low)
	v.VPERM2F128(Imm(0x31), x[4], x[0], x[0])
	v.VADDPS(x[0], low, low)
	v.VMOVUPS(low, Mem{Base: dst})
	v.ADDQ(U32(uint32(laneGroup*v.bytes)), src)
	v.ADDQ(Imm(laneGroup*floatBytes), dst)
	v.DECQ(n)
	v.JNZ(LabelRef(next))
	v.end()
}
