package arm64

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	floatBytes  = 4
	vectorBytes = 16
	lanes       = vectorBytes / floatBytes
)

// lower translates all instructions.
func (f *function) lower() (err error) {
	f.classify()
	var nodes []*ir.Instruction // with labels as nil
	var names []string
	for _, n := range f.kernel.Nodes {
		switch n := n.(type) {
		case *ir.Instruction:
			nodes, names = append(nodes, n), append(names, "")
		case ir.Label:
			nodes, names = append(nodes, nil), append(names, string(n))
		}
	}
	flags := "a label" // what AVX2's flags are of, where those of arm64 are not the same
	for k := 0; k < len(nodes); k++ {
		if nodes[k] == nil {
			f.list, flags = append(f.list, &instruction{label: names[k]}), "a label"
			continue
		}
		if flags != "" && readsFlags(nodes[k]) {
			return fmt.Errorf("%s: it reads the flags of %s, which arm64 does not have. Compare with CMPQ before it", text(nodes[k]),
				flags)
		}
		var next *ir.Instruction
		if k+1 < len(nodes) {
			next = nodes[k+1]
		}
		both, err := f.instruction(nodes[k], next)
		if err != nil {
			return fmt.Errorf("%s: %w", text(nodes[k]), err)
		}
		switch opcode := nodes[k].Opcode; {
		case both, slices.Contains(flagless, opcode):
			flags = opcode
		case setsFlags(opcode):
			flags = ""
		}
		if both {
			k++
		}
	}
	return nil
}

// flagless are the instructions that set flags for AVX2, and become instructions of arm64 that set none. Where one TEST
// and the branch behind it become one instruction, it sets none either.
var flagless = []string{"ADDQ", "INCQ", "ANDQ", "NEGQ", "IMULQ", "IMUL3Q", "SHLQ", "SHRQ", "XORQ", "XORL"}

func setsFlags(opcode string) bool {
	return opcode == "CMPQ" || opcode == "SUBQ" || opcode == "DECQ" || strings.HasPrefix(opcode, "TEST")
}

func readsFlags(i *ir.Instruction) bool {
	return i.Opcode == "CMOVQEQ" || branches[i.Opcode] != "" && i.Opcode != "JMP"
}

func text(i *ir.Instruction) string {
	var ops []string
	for _, o := range i.Operands {
		ops = append(ops, o.Asm())
	}
	return i.Opcode + " " + strings.Join(ops, ", ")
}

// factors are the places of the operands that an instruction multiplies, of those that may be one lane of a register.
var factors = map[string][]int{
	"VMULPS": {0, 1}, "VFMADD231PS": {0, 1}, "VFNMADD231PS": {0, 1}, "VFMADD213PS": {1}, "VFMADD132PS": {0},
}

// classify finds the registers whose lanes are always equal, and those of them that are factors alone. Of two factors of
// one instruction, one may be a lane.
func (f *function) classify() {
	filled, other := map[uint16]bool{}, map[uint16]bool{}
	for _, i := range f.kernel.Instructions() {
		if len(i.Operands) == 0 {
			continue
		}
		if out, ok := vectorID(i.Operands[len(i.Operands)-1]); ok {
			if isBroadcast(i) || isZero(i) || i.Opcode == "VMOVUPS" && f.isUniformTable(i.Operands[0]) {
				filled[out] = true
			} else {
				other[out] = true
			}
		}
	}
	for id := range filled {
		f.uniform[id], f.lane[id] = !other[id], !other[id]
	}
	for _, i := range f.kernel.Instructions() {
		one := false
		for k, o := range i.Operands {
			id, ok := vectorID(o)
			switch {
			case !ok || isBroadcast(i) && k == 1 || !f.lane[id]:
			case factor(i.Opcode, k) && !one:
				one = true
			default:
				f.lane[id] = false
			}
		}
	}
}

func factor(opcode string, k int) bool {
	for _, at := range factors[opcode] {
		if at == k {
			return true
		}
	}
	return false
}

func isBroadcast(i *ir.Instruction) bool { return strings.HasPrefix(i.Opcode, "VBROADCAST") }

func isZero(i *ir.Instruction) bool {
	return i.Opcode == "VXORPS" && i.Operands[0] == i.Operands[1]
}

func (f *function) isUniformTable(o operand.Op) bool {
	m, ok := o.(operand.Mem)
	if !ok || m.Base != reg.StaticBase {
		return false
	}
	_, ok = f.uniformTable(m)
	return ok
}

// vectorID is the index of the vector register that an operand is.
func vectorID(o operand.Op) (uint16, bool) {
	r, ok := o.(reg.Virtual)
	if !ok || r.Kind() != reg.KindVector {
		return 0, false
	}
	return uint16(r.VirtualIndex()), true
}

// width is the number of registers that hold the value of a vector register.
func width(o operand.Op) int { return int(o.(reg.Register).Size()) / vectorBytes }

// vectors are the values of a vector register: one where it has 16 bytes, else two, which are the same value where all
// lanes are equal.
func (f *function) vectors(o operand.Op) ([]value, error) {
	id, ok := vectorID(o)
	if !ok {
		return nil, errors.New("this operand is no vector register")
	}
	h, ok := f.halves[id]
	if !ok {
		h[0] = f.newValue(vector)
		h[1] = h[0]
		if !f.uniform[id] {
			h[1] = f.newValue(vector)
		}
		f.halves[id] = h
	}
	return h[:width(o)], nil
}

// gp is the value of a general register, whatever part of it is named.
func (f *function) gp(r reg.Register) value {
	id := uint16(r.(reg.Virtual).VirtualIndex())
	v, ok := f.general[id]
	if !ok {
		v = f.newValue(general)
		f.general[id] = v
	}
	return v
}

func (f *function) add(i *instruction) { f.list = append(f.list, i) }

// set adds an instruction that defines d alone, from uses, which stand before d in the text.
func (f *function) set(text string, d value, uses ...value) *instruction {
	i := &instruction{text: text, regs: append(uses[:len(uses):len(uses)], d), defs: []value{d}, uses: uses}
	f.add(i)
	return i
}

// word adds an instruction that Go's assembler lacks; see instruction.
func (f *function) word(code uint32, text string, d value, uses ...value) *instruction {
	i := &instruction{word: code, text: text, regs: append([]value{d}, uses...), defs: []value{d}, uses: uses}
	f.add(i)
	return i
}

// does adds an instruction that defines nothing.
func (f *function) does(text string, uses ...value) {
	f.add(&instruction{text: text, regs: uses, uses: uses, effect: true})
}

func (f *function) newLabel() string {
	f.labels++
	return fmt.Sprintf("arm%d", f.labels)
}

func (f *function) branch(text, target string, uses ...value) {
	f.add(&instruction{text: text + " " + target, regs: uses, uses: uses, target: target, ends: text == "JMP", effect: true})
}

func (f *function) copyTo(d, s value) {
	text := "MOVD R%d, R%d"
	if f.values[d] == vector {
		text = "VMOV V%d.B16, V%d.B16"
	}
	f.set(text, d, s).move = true
}

// immediate is a constant operand.
func immediate(o operand.Op) (int64, bool) {
	c, ok := o.(operand.Constant)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(c.Asm(), "$"), 0, 64)
	return n, err == nil
}

// place is memory as arm64 names it: disp bytes behind a register, or behind a name of the assembler.
type place struct {
	base  value
	fixed string
	disp  int
}

func (p place) text() string {
	if p.base == none {
		return p.fixed
	}
	return fmt.Sprintf("%d(R%%d)", p.disp)
}

func (p place) uses() []value {
	if p.base == none {
		return nil
	}
	return []value{p.base}
}

func (p place) plus(bytes int) place {
	p.disp += bytes
	return p
}

// place adds the index of an address to its base.
func (f *function) place(m operand.Mem) place {
	switch m.Base {
	case reg.FramePointer:
		return place{base: none, fixed: m.Asm()}
	case reg.StackPointer: // the return address lies at 0
		return place{base: none, fixed: fmt.Sprintf("%d(RSP)", m.Disp+8)}
	case reg.StaticBase:
		return place{base: f.address(m.Symbol.String()), disp: m.Disp}
	}
	base := f.gp(m.Base)
	if m.Index == nil {
		return place{base: base, disp: m.Disp}
	}
	sum := f.newValue(general)
	shift := bits.TrailingZeros8(m.Scale)
	i := f.set(fmt.Sprintf("ADD R%%d<<%d, R%%d, R%%d", shift), sum, f.gp(m.Index), base)
	i.key = i.text
	return place{base: sum, disp: m.Disp}
}

// address is a register with the address of a table, which is set at the beginning.
func (f *function) address(table string) value {
	v, ok := f.bases[table]
	if !ok {
		v = f.newValue(general)
		f.bases[table] = v
		f.head = append(f.head, &instruction{text: "MOVD $" + table + "(SB), R%d", regs: []value{v}, defs: []value{v}})
	}
	return v
}

// pairReach says whether one instruction loads or stores 32 bytes at disp.
func pairReach(disp int) bool { return disp%vectorBytes == 0 && disp >= -1024 && disp <= 1008 }

// load reads vectors from memory.
func (f *function) load(p place, to []value) {
	if len(to) == 2 && p.base != none && pairReach(p.disp) {
		f.add(&instruction{text: "FLDPQ " + p.text() + ", (F%d, F%d)", regs: []value{p.base, to[0], to[1]}, defs: to, uses: p.uses()})
		return
	}
	for h, v := range to {
		q := p.plus(h * vectorBytes)
		f.set("FMOVQ "+q.text()+", F%d", v, q.uses()...)
	}
}

func (f *function) store(p place, from []value) {
	if len(from) == 2 && pairReach(p.disp) {
		f.does("FSTPQ (F%d, F%d), "+p.text(), from[0], from[1], p.base)
		return
	}
	for h, v := range from {
		q := p.plus(h * vectorBytes)
		f.does("FMOVQ F%d, "+q.text(), append([]value{v}, q.uses()...)...)
	}
}

// source is n vectors of an operand, which may be memory.
func (f *function) source(o operand.Op, n int) ([]value, error) {
	m, ok := o.(operand.Mem)
	if !ok {
		return f.vectors(o)
	}
	if f.isUniformTable(o) {
		v := f.newValue(vector)
		f.constant(m, v)
		return []value{v, v}[:n], nil
	}
	to := make([]value, n)
	for h := range to {
		to[h] = f.newValue(vector)
	}
	f.load(f.place(m), to)
	return to, nil
}

// constant reads a vector of a table whose lanes are all equal.
func (f *function) constant(m operand.Mem, to value) {
	p := f.place(m)
	i := f.set("FMOVQ "+p.text()+", F%d", to, p.uses()...)
	i.key = i.text
}

// multiplier is n vectors of a factor, or the lane of one vector that is factor of all lanes; else lane is −1.
func (f *function) multiplier(o operand.Op, n int) (v []value, lane int, err error) {
	if m, ok := o.(operand.Mem); ok && f.pooled && f.isUniformTable(o) {
		c, _ := f.uniformTable(m)
		l := f.constantLane(c)
		return []value{l.value, l.value}[:n], l.lane, nil
	}
	v, err = f.source(o, n)
	if id, ok := vectorID(o); ok && f.lane[id] {
		return v, 0, err
	}
	return v, -1, err
}

// constantLane is a lane that holds a constant throughout the function.
func (f *function) constantLane(c uint32) laneOf {
	if l, ok := f.pool[c]; ok {
		return l
	}
	l := laneOf{f.poolVector, len(f.pool) % lanes}
	g := f.newValue(general)
	f.head = append(f.head, &instruction{text: fmt.Sprintf("MOVD $%#x, R%%d", c), regs: []value{g}, defs: []value{g}})
	i := &instruction{text: fmt.Sprintf("VMOV R%%d, V%%d.S[%d]", l.lane), uses: []value{g, l.value}, tied: true}
	if l.lane == 0 {
		l.value = f.newValue(vector)
		f.poolVector = l.value
		i = &instruction{text: "FMOVS R%d, F%d", uses: []value{g}}
	}
	i.regs, i.defs = []value{g, l.value}, []value{l.value}
	f.head = append(f.head, i)
	f.pool[c] = l
	return l
}

// argument brings an operand of a general instruction into a register.
func (f *function) argument(o operand.Op, load string) (value, error) {
	switch o := o.(type) {
	case operand.Mem:
		v := f.newValue(general)
		p := f.place(o)
		f.set(load+" "+p.text()+", R%d", v, p.uses()...)
		return v, nil
	case reg.Register:
		return f.gp(o), nil
	}
	c, ok := immediate(o)
	if !ok {
		return none, errors.New("this operand is no register, memory or constant")
	}
	v := f.newValue(general)
	f.set(fmt.Sprintf("MOVD $%d, R%%d", c), v)
	return v, nil
}
