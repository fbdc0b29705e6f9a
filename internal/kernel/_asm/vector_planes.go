package main

import "github.com/mmcloughlin/avo/reg"

const slots = rowUnroll * columnUnroll

func (v *vectors) planeKernels() {
	v.planeSum()
	v.planeSquares()
	for _, res := range []bool{false, true} {
		v.planeScale(res)
	}
	for _, gated := range []bool{false, true} {
		v.planeNormSums(gated)
	}
	v.planeNormApply()
}

func (v *vectors) planeSum() {
	v.begin("planeSum", "func(x *float32, rows, cols, stride int) (sum float32)", "returns Σ x over the area.")
	x, acc := v.gp("x"), v.zeroed(slots)
	v.area(rowUnroll, func(p place, slot int) {
		v.VADDPS(v.operand(x, p), acc[slot], acc[slot])
	})
	v.addUp(acc, "sum")
	v.end()
}

func (v *vectors) planeSquares() {
	v.begin("planeSquares", "func(x *float32, rows, cols, stride int, mean float32) (sum float32)",
		"returns Σ (x-mean)² over the area.")
	x, mean, acc := v.gp("x"), v.spread("mean"), v.zeroed(slots)
	v.area(rowUnroll, func(p place, slot int) {
		d := v.load(x, p)
		v.VSUBPS(mean, d, d)
		v.keep(d, p)
		v.VFMADD231PS(d, d, acc[slot])
	})
	v.addUp(acc, "sum")
	v.end()
}

// scaled is max(floor, x·scale + shift + res) at p. VMAXPS returns its second source when one is a NaN, so a NaN
// passes.
func (v *vectors) scaled(p place, x, res reg.GPVirtual, scale, shift, floor reg.VecVirtual) reg.VecVirtual {
	u := v.load(x, p)
	v.VFMADD213PS(shift, scale, u)
	if res != nil {
		v.VADDPS(v.operand(res, p), u, u)
	}
	v.VMAXPS(u, floor, u)
	return u
}

func (v *vectors) planeScale(hasRes bool) {
	name, args, doc := "planeScale", "y, x *float32", "writes y = max(floor, x·scale + shift) over the area."
	if hasRes {
		name, args, doc = "planeScaleRes", "y, x, res *float32", "writes y = max(floor, x·scale + shift + res) over the area."
	}
	v.begin(name, "func("+args+", rows, cols, stride int, scale, shift, floor float32)", doc)
	y, x, scale, shift, floor := v.gp("y"), v.gp("x"), v.spread("scale"), v.spread("shift"), v.spread("floor")
	var res reg.GPVirtual
	if hasRes {
		res = v.gp("res")
	}
	v.area(1, func(p place, _ int) {
		v.store(v.scaled(p, x, res, scale, shift, floor), y, p)
	})
	v.end()
}

func (v *vectors) planeNormSums(gated bool) {
	name, args, doc := "planeNormSums", "dy, z *float32", "returns Σ dy and Σ dy·(z-mean) over the area."
	if gated {
		name, args, doc = "planeNormSumsGated", "dy, z, y *float32",
			"masks dy by y > 0 and returns Σ dy and Σ dy·(z-mean) over the area."
	}
	v.begin(name, "func("+args+", rows, cols, stride int, mean float32) (sg, sgz float32)", doc)
	a := v.normArrays(gated)
	mean, sg, sgz := v.spread("mean"), v.zeroed(slots), v.zeroed(slots)
	v.area(rowUnroll, func(p place, slot int) {
		g := v.gated(a, p)
		v.VADDPS(g, sg[slot], sg[slot])
		d := v.load(a.z, p)
		v.VSUBPS(mean, d, d)
		v.keep(d, p)
		v.VFMADD231PS(d, g, sgz[slot])
	})
	v.addUp(sg, "sg")
	v.addUp(sgz, "sgz")
	v.end()
}

// normArrays are the arrays of batch norm's backward pass; y is nil where no ReLU follows.
type normArrays struct {
	g, z, y reg.GPVirtual
	zero    reg.VecVirtual
}

func (v *vectors) normArrays(gated bool) normArrays {
	a := normArrays{g: v.gp("dy"), z: v.gp("z")}
	if gated {
		a.y, a.zero = v.gp("y"), v.zeroed(1)[0]
	}
	return a
}

// gated reads g at p, which it masks in place where there is a y.
func (v *vectors) gated(a normArrays, p place) reg.VecVirtual {
	if a.y == nil {
		return v.load(a.g, p)
	}
	g := v.loadPositive(a.g, a.y, a.zero, p)
	v.store(g, a.g, p)
	return g
}

func (v *vectors) planeNormApply() {
	v.begin("planeNormApply", "func(dz, dy, z *float32, rows, cols, stride int, mean, p, q, r float32)",
		"writes dz = p·dy + q·(z-mean) + r over the area.")
	dz, g, z := v.gp("dz"), v.gp("dy"), v.gp("z")
	mean, pc, q, r := v.spread("mean"), v.spread("p"), v.spread("q"), v.spread("r")
	v.area(1, func(p place, _ int) {
		d := v.load(z, p)
		v.VSUBPS(mean, d, d)
		v.VFMADD213PS(r, q, d)
		v.VFMADD231PS(v.operand(g, p), pc, d)
		v.store(d, dz, p)
	})
	v.end()
}
