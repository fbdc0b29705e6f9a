package main

import (
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"ocl/internal/kernel/_asm/arm64"
)

// vectorKernels writes the elementwise and reducing kernels. Every loop is a body of whole vectors and one masked
// vector, so that an element meets the same operations wherever it stands: a caller may split elementwise work anywhere
// and gets the same bits.
func vectorKernels(g *generator, sets ...isa) {
	g.tables()
	g.sigmoidTable()
	g.tokenTable()
	for _, i := range sets {
		v := &vectors{target: target{generator: g, isa: i}}
		v.planeKernels()
		v.channelLastKernels()
		v.flatKernels()
		v.dot()
		v.sigmoidError()
		v.sigmoidErrorGrad()
		v.laneSums()
		v.tokenKernels()
	}
	v := &vectors{target: target{generator: g, isa: sets[0]}} // AVX-512 uses that of AVX2
	v.transpose()
	v.split()
	v.merge()
}

// vectors writes kernels for one instruction set.
type vectors struct {
	target
	tail tail
}

// tail is what a function knows of its masked last vector of count floats: all ones in the lanes of mask, or the bits
// of opmask, the others zero.
type tail struct {
	count  reg.GPVirtual
	mask   reg.VecVirtual
	opmask reg.OpmaskVirtual
}

// place is the position of one vector in all arrays of a loop: off + disp bytes after their pointers.
type place struct {
	off    reg.GPVirtual
	disp   int
	masked bool
}

const (
	laneMasks  = "lanemask" // 8 × all ones, 8 × zero: entering 8-n floats after the start leaves n lanes
	bitMasks   = "bitmask"  // uint16, entry n has the n low bits set
	lessThan   = 0x11       // predicate of VCMPPS: ordered and quiet, so a NaN compares false
	quarter    = 4          // floats in the lowest part of a vector
	halfFloats = 2
)

func (g *generator) tables() {
	g.table(laneMasks, 16, func(i int) Constant { return U32(i/8) - 1 })
	g.table(bitMasks, 16, func(n int) Constant { return U16(1<<n - 1) })
}

// begin starts a function called name plus the instruction set.
func (v *vectors) begin(name, signature, doc string) {
	v.labels = 0
	v.function(name+v.name, signature, name+v.name+" "+doc)
}

// zeroed is n new registers of zeros.
func (v *vectors) zeroed(n int) []reg.VecVirtual {
	regs := v.vecs(n)
	v.clear(regs...)
	return regs
}

// gp loads an argument into a general register.
func (v *vectors) gp(name string) reg.GPVirtual {
	r := v.GP64()
	v.Load(v.Param(name), r)
	return r
}

// spread loads a float argument into all lanes.
func (v *vectors) spread(name string) reg.VecVirtual {
	b, err := v.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	r := v.vec()
	v.VBROADCASTSS(b.Addr, r)
	return r
}

// setTail makes the mask for the n mod Lanes floats after the last whole vector.
func (v *vectors) setTail(n reg.GPVirtual) {
	t := tail{count: v.GP64()}
	v.MOVQ(n, t.count)
	v.ANDQ(U32(v.lanes()-1), t.count)
	table := v.GP64()
	if v.wide() {
		v.LEAQ(static(bitMasks, 0), table)
		bits := v.GP32()
		v.MOVWLZX(indexed(table, t.count, 2, 0), bits)
		t.opmask = v.K()
		v.KMOVW(bits, t.opmask)
	} else {
		v.LEAQ(static(laneMasks, floatBytes*8), table)
		skip := v.GP64()
		v.MOVQ(t.count, skip)
		v.NEGQ(skip)
		t.mask = v.vec()
		v.VMOVUPS(indexed(table, skip, floatBytes, 0), t.mask)
	}
	v.tail = t
}

// mem is the vector at p in an array.
func mem(array reg.GPVirtual, p place) Mem { return indexed(array, p.off, 1, p.disp) }

// load reads the vector at p into a new register; masked lanes are zero.
func (v *vectors) load(array reg.GPVirtual, p place) reg.VecVirtual {
	r := v.vec()
	switch {
	case !p.masked:
		v.VMOVUPS(mem(array, p), r)
	case v.wide():
		v.VMOVUPS_Z(mem(array, p), v.tail.opmask, r)
	case v.isa == neon:
		v.Instruction(&ir.Instruction{Opcode: arm64.LoadPart, Operands: []Op{mem(array, p), v.tail.count, r}})
	default:
		v.VMASKMOVPS(mem(array, p), v.tail.mask, r)
	}
	return r
}

// operand is the vector at p as a source: memory itself where the vector is whole.
func (v *vectors) operand(array reg.GPVirtual, p place) Op {
	if p.masked {
		return v.load(array, p)
	}
	return mem(array, p)
}

// store writes r to p; masked lanes are left alone. AVX2 writes its last vector in parts, as AMD's masked stores take
// some forty micro-operations.
func (v *vectors) store(r reg.VecVirtual, array reg.GPVirtual, p place) {
	switch {
	case !p.masked:
		v.VMOVUPS(r, mem(array, p))
	case v.wide():
		v.VMOVUPS(r, v.tail.opmask, mem(array, p))
	default:
		v.storeParts(r, array, p)
	}
}

func (v *vectors) storeParts(r reg.VecVirtual, array reg.GPVirtual, p place) {
	two, one, done := v.label("two"), v.label("one"), v.label("stored")
	part, at := v.XMM(), v.GP64()
	v.VMOVAPS(r.AsX(), part)
	v.LEAQ(mem(array, p), at)
	v.TESTQ(U32(quarter), v.tail.count)
	v.JZ(LabelRef(two))
	v.VMOVUPS(part, Mem{Base: at})
	v.VEXTRACTF128(Imm(1), r, part)
	v.ADDQ(U32(quarter*floatBytes), at)
	v.Label(two)
	v.TESTQ(U32(halfFloats), v.tail.count)
	v.JZ(LabelRef(one))
	v.VMOVLPS(part, Mem{Base: at})
	v.VMOVHLPS(part, part, part)
	v.ADDQ(U32(halfFloats*floatBytes), at)
	v.Label(one)
	v.TESTQ(U32(1), v.tail.count)
	v.JZ(LabelRef(done))
	v.VMOVSS(part, Mem{Base: at})
	v.Label(done)
}

// keep clears the lanes of r that p masks.
func (v *vectors) keep(r reg.VecVirtual, p place) {
	switch {
	case !p.masked:
	case v.wide():
		v.VMOVUPS_Z(r, v.tail.opmask, r)
	default:
		v.VANDPS(v.tail.mask, r, r)
	}
}

// loadPositive reads the vector of array at p where gate > 0 and zeros elsewhere.
func (v *vectors) loadPositive(array, gate reg.GPVirtual, zero reg.VecVirtual, p place) reg.VecVirtual {
	if v.wide() {
		k, r := v.K(), v.vec()
		v.VCMPPS(Imm(lessThan), v.operand(gate, p), zero, k) // false in masked lanes, which read as zero
		v.VMOVUPS_Z(mem(array, p), k, r)
		return r
	}
	m := v.vec()
	v.VCMPPS(Imm(lessThan), v.operand(gate, p), zero, m)
	v.VANDPS(v.operand(array, p), m, m)
	return m
}

// addUp adds the registers in pairs and returns the lowest lane of what is left in the function's result.
func (v *vectors) addUp(regs []reg.VecVirtual, result string) {
	v.Store(v.folded(regs, v.VADDPS), v.Return(result))
}

// folded joins the registers in pairs, and the lanes of the last one, by an operation; the lowest lane has the result.
func (v *vectors) folded(regs []reg.VecVirtual, join func(ops ...Op)) reg.VecVirtual {
	for ; len(regs) > 1; regs = regs[:len(regs)/2] {
		for i := range len(regs) / 2 {
			join(regs[len(regs)/2+i], regs[i], regs[i])
		}
	}
	all := regs[0]
	if v.wide() {
		upper := v.YMM()
		v.VEXTRACTF64X4(Imm(1), all, upper)
		join(upper, all.AsY(), all.AsY())
	}
	low, upper := all.AsX(), v.XMM()
	v.VEXTRACTF128(Imm(1), all.AsY(), upper)
	join(upper, low, low)
	v.VMOVHLPS(low, low, upper)
	join(upper, low, low)
	v.VMOVSHDUP(low, upper)
	join(upper, low, low)
	return low.(reg.VecVirtual)
}
