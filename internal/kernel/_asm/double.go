package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	doubleBytes = 8
	doubleRows  = 4  // DoubleRows of package kernel
	doubleWidth = 16 // DoubleWidth of package kernel
	stripBytes  = doubleWidth * doubleBytes
)

// doubleKernels writes the kernels of float64. They have no fused multiply-add, so that all sets give the bits of plain
// Go.
func doubleKernels(g *generator, sets ...isa) {
	for _, i := range sets {
		v := &vectors{target: target{generator: g, isa: i}}
		v.addProducts()
		v.sumProducts()
	}
}

// addProducts takes two vectors of each row at once: a strip with AVX-512, half of one with AVX2. They stay in registers
// while it runs over the vectors of the strip.
func (v *vectors) addProducts() {
	v.begin("addProducts", "func(a, b, c, d, x, f *float64, strips, n int)",
		"adds n vectors of each strip to four rows, times four factors each.")
	const across = 2
	var rows [doubleRows]reg.GPVirtual
	for i, name := range []string{"a", "b", "c", "d"} {
		rows[i] = v.gp(name)
	}
	x, strips, n, at := v.gp("x"), v.gp("strips"), v.gp("n"), v.GP64()
	v.XORQ(at, at)
	v.Label("strip")
	for from := 0; from < stripBytes; from += across * v.bytes {
		sums := v.vecs(doubleRows * across)
		for i, row := range rows {
			for k := range across {
				v.VMOVUPD(indexed(row, at, 1, from+k*v.bytes), sums[i*across+k])
			}
		}
		source, f, left := v.GP64(), v.gp("f"), v.GP64()
		v.MOVQ(x, source)
		v.MOVQ(n, left)
		loop := v.label("vector")
		v.Label(loop)
		xs := v.vecs(across)
		for k := range across {
			v.VMOVUPD(Mem{Base: source, Disp: from + k*v.bytes}, xs[k])
		}
		for i := range rows {
			factor, product := v.vec(), v.vec()
			v.VBROADCASTSD(Mem{Base: f, Disp: i * doubleBytes}, factor)
			for k := range across {
				if k == across-1 {
					product = factor
				}
				v.VMULPD(xs[k], factor, product)
				v.VADDPD(product, sums[i*across+k], sums[i*across+k])
			}
		}
		v.ADDQ(U32(stripBytes), source)
		v.ADDQ(U32(doubleRows*doubleBytes), f)
		v.DECQ(left)
		v.JNZ(LabelRef(loop))
		for i, row := range rows {
			for k := range across {
				v.VMOVUPD(sums[i*across+k], indexed(row, at, 1, from+k*v.bytes))
			}
		}
		if from+across*v.bytes == stripBytes {
			v.MOVQ(source, x)
		}
	}
	v.ADDQ(U32(stripBytes), at)
	v.DECQ(strips)
	v.JNZ(LabelRef("strip"))
	v.end()
}

func (v *vectors) sumProducts() {
	v.begin("sumProducts", "func(dst, x, f *float64, n int)", "writes the sum of n vectors of a strip, times a factor each.")
	dst, x, f, n := v.gp("dst"), v.gp("x"), v.gp("f"), v.gp("n")
	sums := v.zeroed(stripBytes / v.bytes)
	v.Label("vector")
	factor := v.vec()
	v.VBROADCASTSD(Mem{Base: f}, factor)
	for k, sum := range sums {
		product := v.vec()
		v.VMULPD(Mem{Base: x, Disp: k * v.bytes}, factor, product)
		v.VADDPD(product, sum, sum)
	}
	v.ADDQ(U32(stripBytes), x)
	v.ADDQ(Imm(doubleBytes), f)
	v.DECQ(n)
	v.JNZ(LabelRef("vector"))
	for k, sum := range sums {
		v.VMOVUPD(sum, Mem{Base: dst, Disp: k * v.bytes})
	}
	v.end()
}
