package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func (v *vectors) channelLastKernels() {
	v.channelLastSums()
	v.channelLastSquares()
	for _, res := range []bool{false, true} {
		v.channelLastScale(res)
	}
	for _, gated := range []bool{false, true} {
		v.channelLastNormSums(gated)
	}
	v.channelLastNormApply()
}

// group is a register for each vector of a group of channels.
type group [channelUnroll]reg.VecVirtual

// constant is an array of channels: in registers while a loop over positions runs, or, where AVX2 has too few, read
// again from the first-level cache at every position.
type constant struct {
	array reg.GPVirtual
	held  *group
	at    [channelUnroll]place
}

func (v *vectors) constant(name string, hold bool) *constant {
	c := &constant{array: v.gp(name)}
	if hold {
		c.held = new(group)
	}
	return c
}

func (v *vectors) hold(p place, i int, constants ...*constant) {
	for _, c := range constants {
		c.at[i] = p
		if c.held != nil {
			c.held[i] = v.load(c.array, p)
		}
	}
}

// value is constant c for vector i of the group, as a source.
func (v *vectors) value(c *constant, i int) Op {
	if c.held != nil {
		return c.held[i]
	}
	return v.operand(c.array, c.at[i])
}

func none(place, int) {}

func (v *vectors) channelLastSums() {
	v.begin("channelLastSums", "func(sum, x *float32, n, c, stride int)", "adds to sum[i] Σ_n x[n·stride+i], i < c.")
	sum, x := v.gp("sum"), v.gp("x")
	var acc group
	v.positions(channels{
		before: func(p place, i int) { acc[i] = v.load(sum, p) },
		each:   func(p place, i int) { v.VADDPS(v.operand(x, p), acc[i], acc[i]) },
		after:  func(p place, i int) { v.store(acc[i], sum, p) },
	})
	v.end()
}

func (v *vectors) channelLastSquares() {
	v.begin("channelLastSquares", "func(sum, x, mean *float32, n, c, stride int)", "adds to sum[i] Σ_n (x[n·stride+i]-mean[i])².")
	sum, x, mean := v.gp("sum"), v.gp("x"), v.constant("mean", true)
	var acc group
	v.positions(channels{
		before: func(p place, i int) {
			acc[i] = v.load(sum, p)
			v.hold(p, i, mean)
		},
		each: func(p place, i int) {
			d := v.load(x, p)
			v.VSUBPS(v.value(mean, i), d, d)
			v.VFMADD231PS(d, d, acc[i])
		},
		after: func(p place, i int) { v.store(acc[i], sum, p) },
	})
	v.end()
}

func (v *vectors) channelLastScale(hasRes bool) {
	name, args, doc := "channelLastScale", "y, x, scale, shift *float32", "writes y = max(floor, x·scale + shift) for every channel."
	if hasRes {
		name, args, doc = "channelLastScaleRes", "y, x, res, scale, shift *float32",
			"writes y = max(floor, x·scale + shift + res) for every channel."
	}
	v.begin(name, "func("+args+", n, c, stride int, floor float32)", doc)
	y, x, floor := v.gp("y"), v.gp("x"), v.spread("floor")
	scale, shift := v.constant("scale", true), v.constant("shift", true)
	var res reg.GPVirtual
	if hasRes {
		res = v.gp("res")
	}
	v.positions(channels{
		before: func(p place, i int) { v.hold(p, i, scale, shift) },
		each: func(p place, i int) {
			v.store(v.scaled(p, x, res, scale.held[i], shift.held[i], floor), y, p)
		},
		after: none,
	})
	v.end()
}

func (v *vectors) channelLastNormSums(gated bool) {
	name, args, doc := "channelLastNormSums", "sg, sgz, dy, z, mean *float32", "adds Σ dy to sg[i] and Σ dy·(z-mean[i]) to sgz[i], i < c."
	if gated {
		name, args, doc = "channelLastNormSumsGated", "sg, sgz, dy, z, y, mean *float32",
			"masks dy by y > 0 and adds Σ dy to sg[i] and Σ dy·(z-mean[i]) to sgz[i], i < c."
	}
	v.begin(name, "func("+args+", n, c, stride int)", doc)
	a := v.normArrays(gated)
	sg, sgz, mean := v.gp("sg"), v.gp("sgz"), v.constant("mean", v.wide())
	var accG, accGZ group
	v.positions(channels{
		before: func(p place, i int) {
			accG[i], accGZ[i] = v.load(sg, p), v.load(sgz, p)
			v.hold(p, i, mean)
		},
		each: func(p place, i int) {
			g := v.gated(a, p)
			v.VADDPS(g, accG[i], accG[i])
			d := v.load(a.z, p)
			v.VSUBPS(v.value(mean, i), d, d)
			v.VFMADD231PS(d, g, accGZ[i])
		},
		after: func(p place, i int) {
			v.store(accG[i], sg, p)
			v.store(accGZ[i], sgz, p)
		},
	})
	v.end()
}

func (v *vectors) channelLastNormApply() {
	v.begin("channelLastNormApply", "func(dz, dy, z, mean, p, q, r *float32, n, c, stride int)",
		"writes dz = p·dy + q·(z-mean) + r for every channel.")
	dz, g, z := v.gp("dz"), v.gp("dy"), v.gp("z")
	pc, q := v.constant("p", true), v.constant("q", true)
	mean, r := v.constant("mean", v.wide()), v.constant("r", v.wide())
	v.positions(channels{
		before: func(p place, i int) { v.hold(p, i, pc, q, mean, r) },
		each: func(p place, i int) {
			d := v.load(z, p)
			v.VSUBPS(v.value(mean, i), d, d)
			v.VFMADD213PS(v.value(r, i), q.held[i], d)
			v.VFMADD231PS(v.operand(g, p), pc.held[i], d)
			v.store(d, dz, p)
		},
		after: none,
	})
	v.end()
}
