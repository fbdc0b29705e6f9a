package main

import (
	"math"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sigmoidValues are the constants of sigmoidOf and expNegative in package kernel, each in all lanes of the widest
// vector: AVX2 has too few registers to hold them.
const sigmoidValues = "sigmoidvalues"

const (
	signBit = iota
	leastExponent
	log2e
	half
	ln2High
	ln2Low
	one
	exponentBias
	expTerms // from the seventh power of r down to the first, whose factor is one, as is the last term
)

var expFactors = []float32{1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5}

func (g *generator) sigmoidTable() {
	floats := []float32{float32(math.Copysign(0, -1)), -87, math.Log2E, 0.5, 0.693359375, -2.12194440e-4, 1}
	var bits []uint32
	for _, f := range floats {
		bits = append(bits, math.Float32bits(f))
	}
	bits = append(bits, 127)
	for _, f := range expFactors {
		bits = append(bits, math.Float32bits(f))
	}
	g.table(sigmoidValues, len(bits)*maxLanes, func(i int) Constant { return U32(bits[i/maxLanes]) })
}

// sigmoidValue is a constant in all lanes.
func (v *vectors) sigmoidValue(i int) Mem {
	return static(sigmoidValues, i*avx512.bytes)
}

// expNegative is e^x for x ≤ 0, from −87 on; it destroys x.
func (v *vectors) expNegative(x reg.VecVirtual) reg.VecVirtual {
	least, k, f, p := v.vec(), v.vec(), v.vec(), v.vec()
	v.VMOVUPS(v.sigmoidValue(leastExponent), least)
	v.VMAXPS(x, least, x) // a NaN passes
	v.VMULPS(v.sigmoidValue(log2e), x, k)
	v.VSUBPS(v.sigmoidValue(half), k, k)
	v.VCVTTPS2DQ(k, k)
	v.VCVTDQ2PS(k, f)
	v.VFNMADD231PS(v.sigmoidValue(ln2High), f, x)
	v.VFNMADD231PS(v.sigmoidValue(ln2Low), f, x)
	v.VMOVUPS(v.sigmoidValue(expTerms), p)
	for i := range len(expFactors) - 1 {
		v.VFMADD213PS(v.sigmoidValue(expTerms+1+i), x, p)
	}
	v.VFMADD213PS(v.sigmoidValue(one), x, p)
	v.VFMADD213PS(v.sigmoidValue(one), x, p)
	v.VPADDD(v.sigmoidValue(exponentBias), k, k)
	v.VPSLLD(Imm(23), k, k)
	v.VMULPS(k, p, p)
	return p
}

// sigmoid is 1/(1+e^−x).
func (v *vectors) sigmoid(x reg.VecVirtual) reg.VecVirtual {
	negative, sum := v.vec(), v.vec()
	if v.wide() {
		v.VPORD(v.sigmoidValue(signBit), x, negative)
	} else {
		v.VORPS(v.sigmoidValue(signBit), x, negative)
	}
	e := v.expNegative(negative)
	v.VADDPS(v.sigmoidValue(one), e, sum)
	y := v.vec()
	v.VMOVUPS(v.sigmoidValue(one), y)
	if v.wide() {
		k := v.K()
		v.VPMOVD2M(x, k)
		v.VMOVAPS(e, k, y)
	} else {
		v.VBLENDVPS(x, e, y, y)
	}
	v.VDIVPS(sum, y, y)
	return y
}

func (v *vectors) sigmoidError() {
	v.begin("sigmoidError", "func(y, t, in *float32, n int) (sum float64)", "writes y = 1/(1+e^-y) and returns Σ (in·(t-y))²; the sum runs in float64.")
	y, t, in, acc := v.gp("y"), v.gp("t"), v.gp("in"), v.zeroed(2*columnUnroll)
	v.flat(func(p place, slot int) {
		s := v.sigmoid(v.load(y, p))
		v.store(s, y, p)
		d := v.load(t, p)
		v.VSUBPS(s, d, d)
		v.VMULPS(v.operand(in, p), d, d)
		for half, w := range v.widened(d) {
			v.VFMADD231PD(w, w, acc[2*slot+half])
		}
	})
	v.addUpDoubles(acc, "sum")
	v.end()
}

func (v *vectors) sigmoidErrorGrad() {
	v.begin("sigmoidErrorGrad", "func(d, y, t, in *float32, n int, f float32)", "writes d = f·in·(y-t)·y·(1-y).")
	d, y, t, in, f := v.gp("d"), v.gp("y"), v.gp("t"), v.gp("in"), v.spread("f")
	v.flat(func(p place, _ int) {
		s, e, slope := v.load(y, p), v.vec(), v.vec()
		v.VSUBPS(v.operand(t, p), s, e)
		v.VMULPS(v.operand(in, p), e, e)
		v.VMULPS(f, e, e)
		v.VMOVUPS(v.sigmoidValue(one), slope)
		v.VSUBPS(s, slope, slope)
		v.VMULPS(s, slope, slope)
		v.VMULPS(slope, e, e)
		v.store(e, d, p)
	})
	v.end()
}
