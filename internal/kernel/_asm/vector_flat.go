package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func (v *vectors) flatKernels() {
	v.axpy()
	v.reluGrad()
	v.sgd()
	v.momentum()
	v.adam()
}

func (v *vectors) axpy() {
	v.begin("axpy", "func(y, x *float32, n int, a float32)", "adds a·x to y.")
	y, x, a := v.gp("y"), v.gp("x"), v.spread("a")
	v.flat(func(p place, _ int) {
		s := v.load(y, p)
		v.VFMADD231PS(v.operand(x, p), a, s)
		v.store(s, y, p)
	})
	v.end()
}

func (v *vectors) reluGrad() {
	v.begin("reluGrad", "func(dy, y *float32, n int)", "masks dy by y > 0.")
	a := normArrays{g: v.gp("dy"), y: v.gp("y"), zero: v.zeroed(1)[0]}
	v.flat(func(p place, _ int) { v.gated(a, p) })
	v.end()
}

func (v *vectors) sgd() {
	v.begin("sgd", "func(w, dy *float32, n int, lr, decay float32)", "steps w -= lr·(dy + decay·w).")
	w, g, lr, decay := v.gp("w"), v.gp("dy"), v.spread("lr"), v.spread("decay")
	v.flat(func(p place, _ int) {
		wv, t := v.load(w, p), v.load(g, p)
		v.VFMADD231PS(wv, decay, t)
		v.VFNMADD231PS(t, lr, wv)
		v.store(wv, w, p)
	})
	v.end()
}

func (v *vectors) momentum() {
	v.begin("momentum", "func(w, dy, m *float32, n int, lr, decay, mu float32)",
		"steps m = mu·m + dy + decay·w; w -= lr·m.")
	w, g, m := v.gp("w"), v.gp("dy"), v.gp("m")
	lr, decay, mu := v.spread("lr"), v.spread("decay"), v.spread("mu")
	v.flat(func(p place, _ int) {
		wv, t := v.load(w, p), v.load(g, p)
		v.VFMADD231PS(wv, decay, t)
		v.VFMADD231PS(v.operand(m, p), mu, t)
		v.store(t, m, p)
		v.VFNMADD231PS(t, lr, wv)
		v.store(wv, w, p)
	})
	v.end()
}

func (v *vectors) adam() {
	v.begin("adam", "func(w, dy, m, v *float32, n int, step, decay, rest1, beta2, rest2, root, eps float32)",
		"steps d = dy + decay·w; m += rest1·(d-m); v = beta2·v + rest2·d²; w -= step·m/(root·√v + eps).")
	w, g, m, vv := v.gp("w"), v.gp("dy"), v.gp("m"), v.gp("v")
	step, decay, rest1 := v.spread("step"), v.spread("decay"), v.spread("rest1")
	beta2, rest2, root, eps := v.spread("beta2"), v.spread("rest2"), v.spread("root"), v.spread("eps")
	v.flat(func(p place, _ int) {
		wv, t := v.load(w, p), v.load(g, p)
		v.VFMADD231PS(wv, decay, t)
		first, d := v.load(m, p), v.vec()
		v.VSUBPS(first, t, d)
		v.VFMADD231PS(d, rest1, first)
		v.store(first, m, p)
		second := v.vec()
		v.VMULPS(v.operand(vv, p), beta2, second)
		v.VMULPS(t, t, t)
		v.VFMADD231PS(t, rest2, second)
		v.store(second, vv, p)
		v.VSQRTPS(second, second)
		v.VFMADD213PS(eps, root, second)
		v.VDIVPS(second, first, first)
		v.VFNMADD231PS(first, step, wv)
		v.store(wv, w, p)
	})
	v.end()
}

// dot sums in float64: half a vector of floats is a vector of doubles.
func (v *vectors) dot() {
	v.begin("dot", "func(x, y *float32, n int) (sum float64)", "returns Σ x·y; the sum runs in float64.")
	x, y, acc := v.gp("x"), v.gp("y"), v.zeroed(2*columnUnroll)
	v.flat(func(p place, slot int) {
		xs, ys := v.doubles(x, p), v.doubles(y, p)
		for half := range 2 {
			v.VFMADD231PD(xs[half], ys[half], acc[2*slot+half])
		}
	})
	v.addUpDoubles(acc, "sum")
	v.end()
}

// addUpDoubles is addUp for vectors of doubles.
func (v *vectors) addUpDoubles(acc []reg.VecVirtual, result string) {
	for ; len(acc) > 1; acc = acc[:len(acc)/2] {
		for i := range len(acc) / 2 {
			v.VADDPD(acc[len(acc)/2+i], acc[i], acc[i])
		}
	}
	sum := acc[0]
	if v.wide() {
		upper := v.YMM()
		v.VEXTRACTF64X4(Imm(1), sum, upper)
		v.VADDPD(upper, sum.AsY(), sum.AsY())
	}
	low, upper := sum.AsX(), v.XMM()
	v.VEXTRACTF128(Imm(1), sum.AsY(), upper)
	v.VADDPD(upper, low, low)
	v.VUNPCKHPD(low, low, upper)
	v.VADDSD(upper, low, low)
	v.Store(low, v.Return(result))
}

// doubles reads the vector at p as two vectors of doubles.
func (v *vectors) doubles(array reg.GPVirtual, p place) [2]reg.VecVirtual {
	if p.masked {
		return v.widened(v.load(array, p))
	}
	d := [2]reg.VecVirtual{v.vec(), v.vec()}
	v.VCVTPS2PD(mem(array, p), d[0])
	p.disp += v.bytes / 2
	v.VCVTPS2PD(mem(array, p), d[1])
	return d
}

// widened is a vector as two vectors of doubles.
func (v *vectors) widened(r reg.VecVirtual) [2]reg.VecVirtual {
	d := [2]reg.VecVirtual{v.vec(), v.vec()}
	if v.wide() {
		upper := v.YMM()
		v.VEXTRACTF64X4(Imm(1), r, upper)
		v.VCVTPS2PD(r.AsY(), d[0])
		v.VCVTPS2PD(upper, d[1])
		return d
	}
	upper := v.XMM()
	v.VEXTRACTF128(Imm(1), r, upper)
	v.VCVTPS2PD(r.AsX(), d[0])
	v.VCVTPS2PD(upper, d[1])
	return d
}
