package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set as the generators see it.
type isa struct {
	name  string // suffix of the function names
	bytes int    // in a vector
}

var (
	avx2   = isa{"AVX2", 32}
	avx512 = isa{"AVX512", 64}
	neon   = isa{"NEON", 32} // a vector is a pair of registers
)

const floatBytes = 4

// target writes code for one instruction set.
type target struct {
	*generator
	isa
	labels int
}

// label makes a name that is unique in its function.
func (t *target) label(what string) string {
	t.labels++
	return fmt.Sprintf("%s%d", what, t.labels)
}

// end returns from a function whose results are stored.
func (t target) end() {
	t.VZEROUPPER()
	t.RET()
}

func (t target) wide() bool { return t.bytes == avx512.bytes }

func (t target) lanes() int { return t.bytes / floatBytes }

// vec is a new register.
func (t target) vec() reg.VecVirtual {
	if t.wide() {
		return t.ZMM()
	}
	return t.YMM()
}

// vecs is n new registers.
func (t target) vecs(n int) []reg.VecVirtual {
	regs := make([]reg.VecVirtual, n)
	for i := range regs {
		regs[i] = t.vec()
	}
	return regs
}

// clear sets registers to zero.
func (t target) clear(regs ...reg.VecVirtual) {
	for _, r := range regs {
		if t.wide() {
			t.VPXORD(r, r, r)
		} else {
			t.VXORPS(r, r, r)
		}
	}
}

// indexed is the memory at base + index·scale + disp, in bytes.
func indexed(base, index reg.Register, scale uint8, disp int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale, Disp: disp}
}

// table writes n constants into memory, under a name.
func (g *generator) table(name string, n int, entry func(i int) operand.Constant) {
	g.StaticGlobal(name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	at := 0
	for i := range n {
		g.AddDatum(at, entry(i))
		at += entry(i).Bytes()
	}
}

// static is the memory of a table, from disp bytes after its start on.
func static(name string, disp int) operand.Mem {
	return operand.Mem{Symbol: operand.Symbol{Name: name, Static: true}, Base: reg.StaticBase, Disp: disp}
}
