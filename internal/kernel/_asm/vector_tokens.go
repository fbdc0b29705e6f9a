package main

import (
	"math"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tokenValues are the constants of the kernels for tokens, each in all lanes of the widest vector.
const tokenValues = "tokenvalues"

const (
	tokenOne       = iota
	tokenMagnitude // all bits but the sign
	tokenMinusHalf
	tokenLeast
	tokenQuick
	tokenTail  // kernel.tailScale
	tokenTerms // kernel.tailTerms
)

// tailTerms are those of package kernel.
var tailTerms = []float32{0.035674773, -0.15720308, 0.20635350, -0.053683642, 0.12856163, 0.099913493, 0.12075396,
	0.1196293}

func (g *generator) tokenTable() {
	bits := []uint32{math.Float32bits(1), math.MaxInt32, math.Float32bits(-0.5), math.Float32bits(float32(math.Inf(-1))),
		math.Float32bits(1.702), math.Float32bits(0.3)}
	for _, f := range tailTerms {
		bits = append(bits, math.Float32bits(f))
	}
	g.table(tokenValues, len(bits)*maxLanes, func(i int) Constant { return U32(bits[i/maxLanes]) })
}

// tokenValue is a constant in all lanes.
func (v *vectors) tokenValue(i int) Mem { return static(tokenValues, i*avx512.bytes) }

func (v *vectors) tokenKernels() {
	v.normalise()
	v.softmax()
	v.gelu()
	v.quickGELU()
}

func (v *vectors) normalise() {
	v.begin("normalise", "func(y, x, gamma, beta *float32, n int, mean, scale float32)",
		"writes y = (x-mean)·scale·gamma + beta.")
	y, x, gamma, beta := v.gp("y"), v.gp("x"), v.gp("gamma"), v.gp("beta")
	mean, scale := v.spread("mean"), v.spread("scale")
	v.flat(func(p place, _ int) {
		r := v.load(x, p)
		v.VSUBPS(mean, r, r)
		v.VMULPS(scale, r, r)
		g := v.load(gamma, p)
		v.VFMADD213PS(v.operand(beta, p), g, r)
		v.store(r, y, p)
	})
	v.end()
}

// softmax subtracts the largest value first. The masked lanes of the last vector count as -∞.
func (v *vectors) softmax() {
	v.begin("softmax", "func(x *float32, n int)", "writes x = e^x / Σ e^x.")
	x := v.gp("x")
	most := v.vecs(columnUnroll)
	for _, m := range most {
		v.VMOVUPS(v.tokenValue(tokenLeast), m)
	}
	v.flat(func(p place, slot int) {
		r := v.load(x, p)
		if p.masked && v.wide() {
			v.VMAXPS(r, most[slot], v.tail.opmask, most[slot])
			return
		}
		if p.masked {
			low := v.vec()
			v.VMOVUPS(v.tokenValue(tokenLeast), low)
			v.VBLENDVPS(v.tail.mask, r, low, r)
		}
		v.VMAXPS(r, most[slot], most[slot])
	})
	largest := v.inAllLanes(v.folded(most, v.VMAXPS))
	sums := v.zeroed(columnUnroll)
	v.flat(func(p place, slot int) {
		r := v.load(x, p)
		v.VSUBPS(largest, r, r)
		e := v.expNegative(r)
		v.keep(e, p)
		v.VADDPS(e, sums[slot], sums[slot])
		v.store(e, x, p)
	})
	sum, inverse := v.inAllLanes(v.folded(sums, v.VADDPS)), v.vec()
	v.VMOVUPS(v.tokenValue(tokenOne), inverse)
	v.VDIVPS(sum, inverse, inverse)
	v.flat(func(p place, _ int) {
		r := v.vec()
		v.VMULPS(v.operand(x, p), inverse, r)
		v.store(r, x, p)
	})
	v.end()
}

// inAllLanes spreads the lowest lane.
func (v *vectors) inAllLanes(low reg.VecVirtual) reg.VecVirtual {
	r := v.vec()
	v.VBROADCASTSS(low, r)
	return r
}

// gelu is geluOf of package kernel.
func (v *vectors) gelu() {
	v.begin("gelu", "func(x *float32, n int)", "writes x·Φ(x), with Φ the normal distribution.")
	array := v.gp("x")
	v.flat(func(p place, _ int) {
		x, a, t, q := v.load(array, p), v.vec(), v.vec(), v.vec()
		if v.wide() {
			v.VPANDD(v.tokenValue(tokenMagnitude), x, a)
		} else {
			v.VANDPS(v.tokenValue(tokenMagnitude), x, a)
		}
		v.VMOVUPS(v.tokenValue(tokenOne), t)
		v.VMOVAPS(t, q)
		v.VFMADD231PS(v.tokenValue(tokenTail), a, q)
		v.VDIVPS(q, t, t)
		v.VMOVUPS(v.tokenValue(tokenTerms), q)
		for i := range len(tailTerms) - 1 {
			v.VFMADD213PS(v.tokenValue(tokenTerms+1+i), t, q)
		}
		v.VMULPS(t, q, q)
		v.VMULPS(a, a, a)
		v.VMULPS(v.tokenValue(tokenMinusHalf), a, a)
		e := v.expNegative(a)
		v.VMULPS(e, q, q)
		v.VMULPS(x, q, q) // x·Φ(-|x|)
		y := v.vec()
		v.VSUBPS(q, x, y)
		if v.wide() {
			k := v.K()
			v.VPMOVD2M(x, k)
			v.VMOVAPS(q, k, y)
		} else {
			v.VBLENDVPS(x, q, y, y)
		}
		v.store(y, array, p)
	})
	v.end()
}

func (v *vectors) quickGELU() {
	v.begin("quickGELU", "func(x *float32, n int)", "writes x/(1+e^(-1.702·x)).")
	array := v.gp("x")
	v.flat(func(p place, _ int) {
		x, scaled := v.load(array, p), v.vec()
		v.VMULPS(v.tokenValue(tokenQuick), x, scaled)
		s := v.sigmoid(scaled)
		v.VMULPS(x, s, s)
		v.store(s, array, p)
	})
	v.end()
}
