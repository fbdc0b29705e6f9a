package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set as the generators see it: a vector width and a file of registers.
type isa struct {
	name  string // suffix of the function names
	bytes int    // in a vector
	regs  []reg.VecPhysical
}

var avx2 = isa{"AVX2", 32, []reg.VecPhysical{
	reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
	reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
}}

var avx512 = isa{"AVX512", 64, []reg.VecPhysical{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
	reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
	reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
	reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}}

const floatBytes = 4

// zero clears registers.
func (g *generator) zero(regs ...reg.VecPhysical) {
	for _, r := range regs {
		if int(r.Size()) == avx512.bytes {
			g.VPXORD(r, r, r)
		} else {
			g.VXORPS(r, r, r)
		}
	}
}

// at is the memory at base + disp, in bytes.
func at(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

// indexed is the memory at base + index·scale + disp, in bytes.
func indexed(base, index reg.Register, scale uint8, disp int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale, Disp: disp}
}
