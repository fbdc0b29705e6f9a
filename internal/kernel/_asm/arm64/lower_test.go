package arm64

import (
	"strings"
	"testing"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// TestRefuses: what would have another meaning on arm64 is an error.
func TestRefuses(t *testing.T) {
	r := reg.NewCollection().GP64()
	one := func(opcode string, ops ...operand.Op) ir.Node { return &ir.Instruction{Opcode: opcode, Operands: ops} }
	to := func(opcode string) ir.Node {
		return &ir.Instruction{Opcode: opcode, Operands: []operand.Op{operand.LabelRef("end")}, IsBranch: true}
	}
	for want, nodes := range map[string][]ir.Node{
		"flags of ADDQ":    {one("ADDQ", operand.U8(1), r), to("JZ"), ir.Label("end")},
		"flags of TESTQ":   {one("TESTQ", r, r), to("JZ"), to("JLT"), ir.Label("end")},
		"flags of a label": {one("CMPQ", r, operand.U8(1)), ir.Label("end"), to("JLT")},
		"eight bytes":      {one("MOVL", r, operand.Mem{Base: r})},
		"unknown":          {one("POPCNTQ", r, r)},
		"":                 {one("CMPQ", r, operand.U8(1)), one("MOVQ", r, r), to("JLT"), ir.Label("end")},
	} {
		f := ir.NewFunction("x")
		f.Nodes = append(f.Nodes, one("XORQ", r, r))
		f.Nodes = append(f.Nodes, nodes...)
		_, err := compile(f, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
