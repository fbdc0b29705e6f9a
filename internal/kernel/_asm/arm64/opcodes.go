package arm64

import (
	"errors"
	"fmt"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// operation is an instruction of two or three vector operands: in Go's syntax with its operands as Go has them, second
// source first, or as a word; see instruction.
type operation struct {
	text string
	word uint32
}

var (
	faddS  = operation{"fadd v%d.4s, v%d.4s, v%d.4s", 0x4E20D400}
	fsubS  = operation{"fsub v%d.4s, v%d.4s, v%d.4s", 0x4EA0D400}
	fmulS  = operation{"fmul v%d.4s, v%d.4s, v%d.4s", 0x6E20DC00}
	fdivS  = operation{"fdiv v%d.4s, v%d.4s, v%d.4s", 0x6E20FC00}
	faddpS = operation{"faddp v%d.4s, v%d.4s, v%d.4s", 0x6E20D400}
	faddD  = operation{"fadd v%d.2d, v%d.2d, v%d.2d", 0x4E60D400}
	fmulD  = operation{"fmul v%d.2d, v%d.2d, v%d.2d", 0x6E60DC00}
	fcmgtS = operation{"fcmgt v%d.4s, v%d.4s, v%d.4s", 0x6EA0E400}
	fcmeqS = operation{"fcmeq v%d.4s, v%d.4s, v%d.4s", 0x4E20E400}

	fsqrtS  = operation{"fsqrt v%d.4s, v%d.4s", 0x6EA1F800}
	scvtfS  = operation{"scvtf v%d.4s, v%d.4s", 0x4E21D800}
	fcvtzsS = operation{"fcvtzs v%d.4s, v%d.4s", 0x4EA1B800}
	fcvtl   = operation{"fcvtl v%d.2d, v%d.2s", 0x0E617800}
	fcvtl2  = operation{"fcvtl2 v%d.2d, v%d.4s", 0x4E617800}
	signS   = operation{"sshr v%d.4s, v%d.4s, #31", 0x4F210400}
	not     = operation{"mvn v%d.16b, v%d.16b", 0x6E205800}

	vand  = operation{text: "VAND V%d.B16, V%d.B16, V%d.B16"}
	vorr  = operation{text: "VORR V%d.B16, V%d.B16, V%d.B16"}
	veor  = operation{text: "VEOR V%d.B16, V%d.B16, V%d.B16"}
	vaddI = operation{text: "VADD V%d.S4, V%d.S4, V%d.S4"}
	zip1S = operation{text: "VZIP1 V%d.S4, V%d.S4, V%d.S4"}
	zip2S = operation{text: "VZIP2 V%d.S4, V%d.S4, V%d.S4"}
	uzp1S = operation{text: "VUZP1 V%d.S4, V%d.S4, V%d.S4"}
	uzp2S = operation{text: "VUZP2 V%d.S4, V%d.S4, V%d.S4"}
	trn2S = operation{text: "VTRN2 V%d.S4, V%d.S4, V%d.S4"}
	zip1D = operation{text: "VZIP1 V%d.D2, V%d.D2, V%d.D2"}
	zip2D = operation{text: "VZIP2 V%d.D2, V%d.D2, V%d.D2"}
)

// apply adds d = n op m, or d = op n.
func (f *function) apply(o operation, d value, sources ...value) *instruction {
	if o.word != 0 {
		return f.word(o.word, o.text, d, sources...)
	}
	if len(sources) == 2 {
		sources = []value{sources[1], sources[0]} // Go has the second source first
	}
	return f.set(o.text, d, sources...)
}

// elementwise are the operations on each half, of the operands as Intel has them: first source, second source.
var elementwise = map[string]operation{
	"VADDPS": faddS, "VSUBPS": fsubS, "VDIVPS": fdivS, "VADDPD": faddD, "VMULPD": fmulD,
	"VANDPS": vand, "VORPS": vorr, "VXORPS": veor, "VPADDD": vaddI,
	"VHADDPS": faddpS, "VUNPCKLPS": zip1S, "VUNPCKHPS": zip2S, "VUNPCKHPD": zip2D,
}

// unary are those of one source.
var unary = map[string]operation{"VSQRTPS": fsqrtS, "VCVTDQ2PS": scvtfS, "VCVTTPS2DQ": fcvtzsS}

// shuffles are those of VSHUFPS, by its selection.
var shuffles = map[int64]operation{0x88: uzp1S, 0xdd: uzp2S, 0x44: zip1D, 0xee: zip2D}

// products are the multiply-adds, into the third operand, and products by one lane.
var (
	multiplyAdd      = operation{text: "VFMLA V%d.S4, V%d.S4, V%d.S4"}
	multiplySubtract = operation{text: "VFMLS V%d.S4, V%d.S4, V%d.S4"}
	multiplyAddD     = operation{text: "VFMLA V%d.D2, V%d.D2, V%d.D2"}
)

var byLane = map[operation]operation{
	multiplyAdd:      {"fmla v%%d.4s, v%%d.4s, v%%d.s[%d]", 0x4F801000},
	multiplySubtract: {"fmls v%%d.4s, v%%d.4s, v%%d.s[%d]", 0x4F805000},
	fmulS:            {"fmul v%%d.4s, v%%d.4s, v%%d.s[%d]", 0x4F809000},
}

// atLane is the operation with a lane of its second source.
func atLane(o operation, lane int) operation {
	l := byLane[o]
	return operation{fmt.Sprintf(l.text, lane), l.word | uint32(lane&1)<<21 | uint32(lane>>1)<<11}
}

var branches = map[string]string{"JZ": "BEQ", "JE": "BEQ", "JNZ": "BNE", "JNE": "BNE", "JLT": "BLT", "JMP": "JMP"}

// instruction translates one instruction, and the one after it where it says both.
func (f *function) instruction(i, next *ir.Instruction) (both bool, err error) {
	ops := i.Operands
	if to, ok := branches[i.Opcode]; ok {
		f.branch(to, string(ops[0].(operand.LabelRef)))
		return false, nil
	}
	switch i.Opcode {
	case "VZEROUPPER":
		return false, nil
	case "RET":
		f.add(&instruction{text: "RET", ends: true, effect: true})
		return false, nil
	case "PREFETCHT0":
		p := f.place(ops[0].(operand.Mem))
		if p.disp < 0 {
			return false, errors.New("PRFM has no negative displacement")
		}
		f.does("PRFM "+p.text()+", PLDL1KEEP", p.uses()...)
		return false, nil
	case "TESTQ", "TESTB", "TESTL":
		return f.test(i, next)
	}
	for _, o := range ops {
		if _, ok := vectorID(o); ok {
			return false, f.vectorInstruction(i)
		}
	}
	return false, f.generalInstruction(i)
}

// test joins a comparison of a register with zero and the branch on it.
func (f *function) test(i, next *ir.Instruction) (both bool, err error) {
	r := f.gp(i.Operands[1].(reg.Register))
	if c, ok := immediate(i.Operands[0]); ok {
		f.does(fmt.Sprintf("TST $%d, R%%d", c), r)
		return false, nil
	}
	if i.Operands[0] != i.Operands[1] {
		return false, errors.New("only a register with itself, or with a constant, is tested")
	}
	if next != nil && next.IsBranch {
		target := string(next.Operands[0].(operand.LabelRef))
		switch next.Opcode {
		case "JZ":
			f.branch("CBZ R%d,", target, r)
			return true, nil
		case "JNZ":
			f.branch("CBNZ R%d,", target, r)
			return true, nil
		}
	}
	f.does("CMP $0, R%d", r)
	return false, nil
}

// loads are the instructions that read memory into a general register, or copy one.
var loads = map[string]string{"MOVQ": "MOVD", "MOVL": "MOVWU", "MOVLQSX": "MOVW", "MOVB": "MOVBU", "MOVBQZX": "MOVBU"}

// sums and the like change their last operand.
var changes = map[string]string{
	"ADDQ": "ADD", "SUBQ": "SUBS", "ANDQ": "AND", "IMULQ": "MUL", "SHLQ": "LSL", "SHRQ": "LSR",
}

func (f *function) generalInstruction(i *ir.Instruction) error {
	ops := i.Operands
	switch i.Opcode {
	case "MOVQ", "MOVL", "MOVLQSX", "MOVB", "MOVBQZX":
		return f.move(loads[i.Opcode], ops[0], ops[1])
	case "XORQ", "XORL":
		if ops[0] != ops[1] {
			return errors.New("only a register with itself is supported")
		}
		f.set("MOVD $0, R%d", f.gp(ops[1].(reg.Register)))
		return nil
	case "LEAQ":
		return f.addressOf(ops[0].(operand.Mem), f.gp(ops[1].(reg.Register)))
	case "INCQ", "DECQ":
		opcode := map[string]string{"INCQ": "ADD", "DECQ": "SUBS"}[i.Opcode]
		return f.change(opcode, operand.U8(1), ops[0])
	case "NEGQ":
		r := f.gp(ops[0].(reg.Register))
		f.set("NEG R%d, R%d", r, r)
		return nil
	case "IMUL3Q":
		c, err := f.argument(ops[0], "MOVD")
		if err != nil {
			return err
		}
		f.set("MUL R%d, R%d, R%d", f.gp(ops[2].(reg.Register)), c, f.gp(ops[1].(reg.Register)))
		return nil
	case "CMPQ": // Go has its operands in the other order for arm64
		a, err := f.argument(ops[0], "MOVD")
		if err != nil {
			return err
		}
		if c, ok := immediate(ops[1]); ok {
			f.does(fmt.Sprintf("CMP $%d, R%%d", c), a)
			return nil
		}
		b, err := f.argument(ops[1], "MOVD")
		f.does("CMP R%d, R%d", b, a)
		return err
	case "CMOVQEQ":
		from, to := f.gp(ops[0].(reg.Register)), f.gp(ops[1].(reg.Register))
		f.set("CSEL EQ, R%d, R%d, R%d", to, from, to)
		return nil
	}
	opcode, ok := changes[i.Opcode]
	if !ok {
		return errors.New("this instruction is unknown here")
	}
	return f.change(opcode, ops[0], ops[1])
}

func (f *function) move(load string, from, to operand.Op) error {
	if m, ok := to.(operand.Mem); ok {
		if load != "MOVD" {
			return errors.New("only eight bytes are stored")
		}
		v, err := f.argument(from, load)
		p := f.place(m)
		f.does("MOVD R%d, "+p.text(), append([]value{v}, p.uses()...)...)
		return err
	}
	d := f.gp(to.(reg.Register))
	switch from := from.(type) {
	case operand.Mem:
		p := f.place(from)
		f.set(load+" "+p.text()+", R%d", d, p.uses()...)
	case reg.Register:
		if load == "MOVD" {
			f.copyTo(d, f.gp(from))
		} else {
			f.set(load+" R%d, R%d", d, f.gp(from))
		}
	default:
		c, ok := immediate(from)
		if !ok {
			return errors.New("this is no constant")
		}
		f.set(fmt.Sprintf("MOVD $%d, R%%d", c), d)
	}
	return nil
}

// addressOf sets d to the address of memory.
func (f *function) addressOf(m operand.Mem, d value) error {
	p := f.place(m)
	if p.base == none {
		return errors.New("the address of an argument is not supported")
	}
	if p.disp == 0 {
		f.copyTo(d, p.base)
	} else {
		f.set(fmt.Sprintf("ADD $%d, R%%d, R%%d", p.disp), d, p.base)
	}
	return nil
}

// change does to = to op by; to may be memory.
func (f *function) change(opcode string, by, to operand.Op) error {
	var d value
	m, inMemory := to.(operand.Mem)
	var p place
	if inMemory {
		p = f.place(m)
		d = f.newValue(general)
		f.set("MOVD "+p.text()+", R%d", d, p.uses()...)
	} else {
		d = f.gp(to.(reg.Register))
	}
	if c, ok := immediate(by); ok && opcode != "MUL" {
		f.set(fmt.Sprintf("%s $%d, R%%d, R%%d", opcode, c), d, d)
	} else {
		v, err := f.argument(by, "MOVD")
		if err != nil {
			return err
		}
		f.set(opcode+" R%d, R%d, R%d", d, v, d)
	}
	f.list[len(f.list)-1].effect = opcode == "SUBS"
	if inMemory {
		f.does("MOVD R%d, "+p.text(), append([]value{d}, p.uses()...)...)
	}
	return nil
}

func (f *function) vectorInstruction(i *ir.Instruction) error {
	ops := i.Operands
	last := len(ops) - 1
	if m, ok := ops[last].(operand.Mem); ok {
		return f.storeInstruction(i.Opcode, ops[0], m)
	}
	out, err := f.vectors(ops[last])
	if err != nil {
		return err
	}
	if isZero(i) {
		for _, v := range distinct(out) {
			f.set("VMOVI $0, V%d.B16", v)
		}
		return nil
	}
	switch i.Opcode {
	case "VMOVUPS", "VMOVAPS", "VMOVUPD":
		return f.moveVector(ops[0], out)
	case "VBROADCASTSS", "VBROADCASTSD":
		return f.broadcast(i.Opcode, ops[0], distinct(out), f.lane[mustID(ops[last])])
	case "VMOVSD", "VMOVSS", "VMOVD":
		return f.moveScalar(i.Opcode, ops[0], out[0])
	case LoadPart:
		f.loadPart(f.place(ops[0].(operand.Mem)), f.gp(ops[1].(reg.Register)), out)
		return nil
	case "VFMADD231PS", "VFNMADD231PS", "VFMADD231PD", "VFMADD213PS", "VFMADD132PS", "VMULPS":
		return f.product(i.Opcode, ops, out)
	case "VMAXPS", "VMINPS":
		return f.extreme(i.Opcode, ops, out)
	case "VADDSD":
		return f.binary(ops, out, func(d, n, m value) { f.set("FADDD F%d, F%d, F%d", d, m, n) })
	case "VMOVHLPS": // the upper half of the second source, then that of the first
		return f.binary(ops, out, func(d, n, m value) { f.apply(zip2D, d, m, n) })
	case "VMOVSHDUP":
		f.apply(trn2S, out[0], mustVectors(f, ops[0])[0], mustVectors(f, ops[0])[0])
		return nil
	case "VCVTPS2PD":
		return f.widen(ops[0], out)
	case "VEXTRACTF128":
		f.copyTo(out[0], mustVectors(f, ops[1])[1])
		return nil
	case "VPERM2F128":
		return f.join(ops, out)
	case "VPERMPD":
		return f.permute(ops, out)
	case "VCMPPS":
		return f.compare(ops, out)
	case "VBLENDVPS":
		return f.blend(ops, out)
	case "VPSLLD":
		c, _ := immediate(ops[0])
		from, err := f.vectors(ops[1])
		for h, d := range out {
			f.set(fmt.Sprintf("VSHL $%d, V%%d.S4, V%%d.S4", c), d, from[h])
		}
		return err
	case "VSHUFPS":
		c, _ := immediate(ops[0])
		o, ok := shuffles[c]
		if !ok {
			return errors.New("this selection is unknown here")
		}
		return f.binary(ops[1:], out, func(d, n, m value) { f.apply(o, d, n, m) })
	}
	if o, ok := unary[i.Opcode]; ok {
		from, err := f.source(ops[0], len(out))
		for h, d := range out {
			f.apply(o, d, from[h])
		}
		return err
	}
	o, ok := elementwise[i.Opcode]
	if !ok {
		return errors.New("this instruction is unknown here")
	}
	return f.binary(ops, out, func(d, n, m value) { f.apply(o, d, n, m) })
}

// distinct are the vectors without the second of two that are one.
func distinct(v []value) []value {
	if len(v) == 2 && v[0] == v[1] {
		return v[:1]
	}
	return v
}

func mustID(o operand.Op) uint16 {
	id, _ := vectorID(o)
	return id
}

func mustVectors(f *function, o operand.Op) []value {
	v, err := f.vectors(o)
	if err != nil {
		panic(err)
	}
	return v
}

// binary does an operation on each part: n is the first source as Intel has it, m the second.
func (f *function) binary(ops []operand.Op, out []value, do func(d, n, m value)) error {
	second, err := f.source(ops[0], len(out))
	if err != nil {
		return err
	}
	first, err := f.vectors(ops[1])
	if err != nil {
		return err
	}
	for h, d := range out {
		do(d, first[h], second[h])
	}
	return nil
}

func (f *function) storeInstruction(opcode string, from operand.Op, m operand.Mem) error {
	v, err := f.vectors(from)
	if err != nil {
		return err
	}
	p := f.place(m)
	switch opcode {
	case "VMOVUPS", "VMOVUPD":
		f.store(p, v)
	case "VMOVLPS", "VMOVSD", "MOVSD":
		f.does("FMOVD F%d, "+p.text(), append([]value{v[0]}, p.uses()...)...)
	case "VMOVSS", "MOVSS":
		f.does("FMOVS F%d, "+p.text(), append([]value{v[0]}, p.uses()...)...)
	default:
		return errors.New("this store is unknown here")
	}
	return nil
}

func (f *function) moveVector(from operand.Op, out []value) error {
	m, ok := from.(operand.Mem)
	switch {
	case ok && f.isUniformTable(from):
		for _, v := range distinct(out) {
			f.constant(m, v)
		}
		return nil
	case ok:
		f.load(f.place(m), out)
		return nil
	}
	v, err := f.vectors(from)
	for h, d := range out {
		f.copyTo(d, v[h])
	}
	return err
}

// broadcast fills vectors, or where the lowest lane is enough, that lane.
func (f *function) broadcast(opcode string, from operand.Op, out []value, lane bool) error {
	load, spread := "FMOVS", "VDUP V%d.S[0], V%d.S4"
	if opcode == "VBROADCASTSD" {
		load, spread = "FMOVD", "VDUP V%d.D[0], V%d.D2"
	}
	m, ok := from.(operand.Mem)
	if !ok {
		v, err := f.vectors(from)
		for _, d := range out {
			f.set(spread, d, v[0])
		}
		return err
	}
	low := out[0]
	if !lane {
		low = f.newValue(vector)
	}
	p := f.place(m)
	i := f.set(load+" "+p.text()+", F%d", low, p.uses()...)
	if lane && p.base != none {
		i.scalar, i.disp = true, p.disp
	}
	if !lane {
		for _, d := range out {
			f.set(spread, d, low)
		}
	}
	return nil
}

// moveScalar reads one or two floats; the other lanes are zero.
func (f *function) moveScalar(opcode string, from operand.Op, d value) error {
	load := map[string]string{"VMOVSD": "FMOVD", "VMOVSS": "FMOVS", "VMOVD": "FMOVS"}[opcode]
	switch from := from.(type) {
	case operand.Mem:
		p := f.place(from)
		f.set(load+" "+p.text()+", F%d", d, p.uses()...)
	case reg.Register:
		if from.Kind() != reg.KindGP {
			return errors.New("only a general register can be moved so")
		}
		f.set("FMOVS R%d, F%d", d, f.gp(from))
	}
	return nil
}

// product does the fused multiply-adds, by their order of operands, and the product.
func (f *function) product(opcode string, ops []operand.Op, out []value) error {
	if opcode == "VFMADD231PD" {
		return f.binary(ops, out, func(d, n, m value) { f.apply(multiplyAddD, d, n, m).accumulates() })
	}
	first, second, addend := ops[0], ops[1], operand.Op(nil)
	o := multiplyAdd
	switch opcode {
	case "VMULPS":
		o = fmulS
	case "VFNMADD231PS":
		o = multiplySubtract
	case "VFMADD213PS": // second·third + first
		first, second, addend = ops[1], ops[2], ops[0]
	case "VFMADD132PS": // first·third + second
		first, second, addend = ops[0], ops[2], ops[1]
	}
	x, xl, err := f.multiplier(first, len(out))
	if err != nil {
		return err
	}
	y, yl, err := f.multiplier(second, len(out))
	if err != nil {
		return err
	}
	if yl >= 0 && xl < 0 {
		x, y, xl, yl = y, x, yl, xl
	}
	if yl >= 0 {
		return errors.New("both factors are single lanes")
	}
	sum := out
	if addend != nil { // the result would lie in a factor
		sum = make([]value, len(out))
		for h := range sum {
			sum[h] = f.newValue(vector)
		}
		if err := f.moveVector(addend, sum); err != nil {
			return err
		}
	}
	for h, d := range sum {
		i := f.applyLane(o, xl, d, y[h], x[h])
		if opcode != "VMULPS" {
			i.accumulates()
		}
	}
	if addend != nil {
		for h, d := range out {
			f.copyTo(d, sum[h])
		}
	}
	return nil
}

// accumulates says that what an instruction defines is what it was before, changed.
func (i *instruction) accumulates() {
	i.uses = append(i.uses[:len(i.uses):len(i.uses)], i.defs[0])
	i.tied = true
}

// applyLane is apply with one lane of m, or with all where lane is −1.
func (f *function) applyLane(o operation, lane int, d, n, m value) *instruction {
	if lane < 0 {
		return f.apply(o, d, n, m)
	}
	i := f.apply(atLane(o, lane), d, n, m)
	i.whole = o
	return i
}

// extreme is x > y ? x : y, with x the first source, or <: where one is a NaN, or both are zeros, it is y, the second.
func (f *function) extreme(opcode string, ops []operand.Op, out []value) error {
	return f.binary(ops, out, func(d, x, y value) {
		mask := f.newValue(vector)
		if opcode == "VMAXPS" {
			f.apply(fcmgtS, mask, x, y)
		} else {
			f.apply(fcmgtS, mask, y, x)
		}
		f.choose(mask, x, y)
		f.copyTo(d, mask)
	})
}

// choose sets mask to x where its bits are set, and to y elsewhere.
func (f *function) choose(mask, x, y value) {
	f.set("VBSL V%d.B16, V%d.B16, V%d.B16", mask, y, x).accumulates()
}

// widen makes doubles of floats.
func (f *function) widen(from operand.Op, out []value) error {
	v, err := f.source(from, 1)
	if err != nil {
		return err
	}
	low := v[0]
	if out[0] == low {
		return errors.New("a register cannot be widened in place")
	}
	f.apply(fcvtl, out[0], low)
	f.apply(fcvtl2, out[1], low)
	return nil
}

// join is one half of each source: of the second source, as Intel has it, behind that of the first.
func (f *function) join(ops []operand.Op, out []value) error {
	c, _ := immediate(ops[0])
	var half int
	switch c {
	case 0x20:
	case 0x31:
		half = 1
	default:
		return errors.New("this selection is unknown here")
	}
	second, err := f.source(ops[1], 2)
	if err != nil {
		return err
	}
	first, err := f.vectors(ops[2])
	if err != nil {
		return err
	}
	low, high := f.newValue(vector), f.newValue(vector)
	f.copyTo(low, first[half])
	f.copyTo(high, second[half])
	f.copyTo(out[0], low)
	f.copyTo(out[1], high)
	return nil
}

// permute takes the quarters of a vector in the order 0, 2, 1, 3.
func (f *function) permute(ops []operand.Op, out []value) error {
	if c, _ := immediate(ops[0]); c != 0xd8 {
		return errors.New("this selection is unknown here")
	}
	from, err := f.vectors(ops[1])
	if err != nil {
		return err
	}
	low, high := f.newValue(vector), f.newValue(vector)
	f.apply(zip1D, low, from[0], from[1])
	f.apply(zip2D, high, from[0], from[1])
	f.copyTo(out[0], low)
	f.copyTo(out[1], high)
	return nil
}

func (f *function) compare(ops []operand.Op, out []value) error {
	c, _ := immediate(ops[0])
	switch c {
	case 0x11: // first < second
		return f.binary(ops[1:], out, func(d, n, m value) { f.apply(fcmgtS, d, m, n) })
	case 3: // one is a NaN
		if ops[1] != ops[2] {
			return errors.New("only a register with itself is compared so")
		}
		return f.binary(ops[1:], out, func(d, n, m value) {
			f.apply(fcmeqS, d, n, m)
			f.apply(not, d, d)
		})
	}
	return errors.New("this comparison is unknown here")
}

// blend takes the second source where the sign of the mask is set, and the first elsewhere.
func (f *function) blend(ops []operand.Op, out []value) error {
	signs, err := f.vectors(ops[0])
	if err != nil {
		return err
	}
	return f.binary(ops[1:], out, func(d, first, second value) {
		h := 0
		if len(out) == 2 && d == out[1] {
			h = 1
		}
		mask := f.newValue(vector)
		f.apply(signS, mask, signs[h])
		f.choose(mask, second, first)
		f.copyTo(d, mask)
	})
}

// loadPart reads count floats, 0 to 7, and no more: four, two and one by the bits of count.
func (f *function) loadPart(p place, count value, out []value) {
	for _, v := range out {
		f.set("VMOVI $0, V%d.B16", v)
	}
	at := f.newValue(general)
	f.set(fmt.Sprintf("ADD $%d, R%%d, R%%d", p.disp), at, p.base)
	few, done := f.newLabel(), f.newLabel()
	f.branch("TBZ $2, R%d,", few, count)
	f.set("FMOVQ (R%d), F%d", out[0], at)
	f.set("ADD $16, R%d, R%d", at, at)
	f.loadThree(at, count, out[1], done)
	f.add(&instruction{label: few})
	f.loadThree(at, count, out[0], "")
	f.add(&instruction{label: done})
}

// loadThree reads count mod 4 floats and goes to done.
func (f *function) loadThree(at, count, to value, done string) {
	one, end := f.newLabel(), done
	if done == "" {
		end = f.newLabel()
	}
	f.branch("TBZ $1, R%d,", one, count)
	f.set("FMOVD (R%d), F%d", to, at)
	f.branch("TBZ $0, R%d,", end, count)
	f.set("ADD $8, R%d, R%d", at, at)
	f.set("VLD1 (R%d), V%d.S[2]", to, at).accumulates()
	f.branch("JMP", end)
	f.add(&instruction{label: one})
	f.branch("TBZ $0, R%d,", end, count)
	f.set("FMOVS (R%d), F%d", to, at)
	if done == "" {
		f.add(&instruction{label: end})
	} else {
		f.branch("JMP", end)
	}
}
