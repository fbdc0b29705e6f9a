// Package arm64 writes kernels that were described with avo for AVX2 as Go assembly for arm64. Each register of eight
// floats becomes two of four, and each instruction the same operation on both, so that the sums and their order are
// those of AVX2. A register whose lanes are all equal becomes one.
//
// A function runs through lower (instructions of AVX2 to instructions of arm64 on values without number), renamed and
// improved (values get one definition where they can, and what is loaded or added twice is done once), and allocated
// (values to registers).
package arm64

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
)

// LoadPart is an instruction that generators write in place of VMASKMOVPS. Its operands are the memory, a general
// register with the number of floats (0 to 7), and the vector. It reads no float behind them, and the other lanes are
// zero.
const LoadPart = "LOADPART"

// value is something that needs a register: its index in function.values.
type value int

// none is the value of an operand that has no register.
const none value = -1

// class is the kind of registers that a value may have.
type class int

const (
	general class = iota
	vector
)

// instruction is an instruction of arm64, or a label where it has one.
type instruction struct {
	label string

	// text is the instruction in Go's syntax, a printf format of the numbers of regs. Where Go's assembler lacks it, word
	// is its code with zeros for the registers, which are destination, first and second source, and text is the syntax of
	// Arm, for the comment.
	text string
	word uint32
	regs []value

	defs, uses []value
	tied       bool   // the defined value is what it was before, changed: it is used too
	move       bool   // copies uses[0] to defs[0]
	key        string // instructions with one key and the same uses define the same, as long as the uses do not change
	target     string // label of a branch
	ends       bool   // what follows is reached by its label alone
	effect     bool   // it writes memory or flags
	scalar     bool   // it loads one float, disp bytes behind uses[0]
	disp       int
	whole      operation // what it is without a lane, where its last source is one lane
}

// function is one kernel on its way.
type function struct {
	kernel  *ir.Function
	globals map[string]*ir.Global
	values  []class
	list    []*instruction
	head    []*instruction // runs before list
	general map[uint16]value
	halves  map[uint16][2]value
	uniform map[uint16]bool   // registers whose lanes are all equal
	lane    map[uint16]bool   // uniform registers that are only factors: the lowest lane is enough
	bases   map[string]value  // addresses of tables
	pool    map[uint32]laneOf // constants that are factors
	pooled  bool
	labels  int

	poolVector value // the last one of pool
}

// laneOf is a lane of a vector.
type laneOf struct {
	value
	lane int
}

// Print writes the functions and tables of a file as Go assembly.
func Print(f *ir.File, head string) (string, error) {
	globals := map[string]*ir.Global{}
	for _, s := range f.Sections {
		if g, ok := s.(*ir.Global); ok {
			globals[g.Symbol.Name] = g
		}
	}
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("\n#include \"textflag.h\"\n")
	for _, s := range f.Sections {
		switch s := s.(type) {
		case *ir.Global:
			table(&b, s)
		case *ir.Function:
			text, err := compile(s, globals)
			if err != nil {
				return "", fmt.Errorf("arm64: %s: %w", s.Name, err)
			}
			b.WriteString(text)
		}
	}
	return b.String(), nil
}

func table(b *strings.Builder, g *ir.Global) {
	b.WriteString("\n")
	for _, d := range g.Data {
		fmt.Fprintf(b, "DATA %s+%d(SB)/%d, %s\n", g.Symbol, d.Offset, d.Value.Bytes(), d.Value.Asm())
	}
	fmt.Fprintf(b, "GLOBL %s(SB), %s, $%d\n", g.Symbol, g.Attributes.Asm(), g.Size)
}

// compile first keeps the constants that are factors in registers for the whole function. Where there are too few
// registers, they are read where they are used.
func compile(source *ir.Function, globals map[string]*ir.Global) (string, error) {
	var err error
	for _, pooled := range []bool{true, false} {
		f := &function{
			kernel: source, globals: globals, pooled: pooled,
			general: map[uint16]value{}, halves: map[uint16][2]value{}, uniform: map[uint16]bool{}, lane: map[uint16]bool{},
			bases: map[string]value{}, pool: map[uint32]laneOf{},
		}
		if err = f.lower(); err != nil {
			return "", err
		}
		f.list = append(f.head, f.list...)
		f.rename()
		f.unrepeated()
		f.grouped()
		f.prune()
		var numbers []int
		if numbers, err = f.allocate(); err == nil {
			return f.print(numbers)
		}
	}
	return "", err
}

func (f *function) newValue(c class) value {
	f.values = append(f.values, c)
	return value(len(f.values) - 1)
}

// uniformTable says whether the 32 bytes of a table from disp on are eight times the same, and returns them.
func (f *function) uniformTable(m operand.Mem) (bits uint32, ok bool) {
	g := f.globals[m.Symbol.Name]
	found := 0
	for _, d := range g.Data {
		if d.Offset < m.Disp || d.Offset >= m.Disp+2*vectorBytes {
			continue
		}
		v, is := d.Value.(operand.U32)
		if !is || found > 0 && uint32(v) != bits {
			return 0, false
		}
		bits = uint32(v)
		found++
	}
	return bits, found == 2*vectorBytes/floatBytes
}

// print writes the function with the numbers of its values' registers.
func (f *function) print(numbers []int) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n// %s\nTEXT ·%s(SB), %s, $%d-%d\n", f.kernel.Stub(), f.kernel.Name, f.kernel.Attributes.Asm(),
		f.kernel.FrameBytes(), f.kernel.ArgumentBytes())
	for _, i := range f.list {
		if i.label != "" {
			fmt.Fprintf(&b, "%s:\n", i.label)
			continue
		}
		regs := make([]any, len(i.regs))
		code := i.word
		for k, v := range i.regs {
			regs[k] = numbers[v]
			if i.word != 0 {
				code |= uint32(numbers[v]) << [...]int{0, 5, 16}[k]
			}
		}
		if i.move && numbers[i.defs[0]] == numbers[i.uses[0]] {
			continue
		}
		text := fmt.Sprintf(i.text, regs...)
		if strings.Contains(text, "%!") {
			return "", fmt.Errorf("%q is no instruction with %d registers", i.text, len(regs))
		}
		if i.word != 0 {
			fmt.Fprintf(&b, "\tWORD $0x%08x // %s\n", code, text)
		} else {
			fmt.Fprintf(&b, "\t%s\n", text)
		}
	}
	return b.String(), nil
}
