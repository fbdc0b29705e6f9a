package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairs runs body for every pair of units of rows rows in every channel: t is where its first product lies and pos the
// offsets of the first unit's rows, which those of the second follow. begin runs before every channel, next after it.
func (w *winograd) pairs(rows int, begin func(), body func(t, pos reg.GPVirtual), next func()) {
	end := w.posEnd()
	channel := w.pointer(w.base("T"))
	w.counted(w.field("C"), func() {
		begin()
		t, pos := w.GP64(), w.base("Pos")
		w.MOVQ(channel, t)
		w.whileBefore(pos, end, func() {
			body(t, pos)
			w.ADDQ(U32(uint32(w.bytes)), t)
			w.ADDQ(U32(uint32(2*4*rows)), pos)
		})
		next()
		stride := w.scaled(w.field("Stride"))
		w.ADDQ(stride, channel)
	})
	w.end()
}

const (
	evenLanes = 0x88 // selections of VSHUFPS: even lanes of either source, odd lanes
	oddLanes  = 0xdd
)

// shuffled is the even or odd lanes of two units' columns, in the lane order of kernel.WinogradPlanes.
func (w *winograd) shuffled(lanes uint64, first, second reg.VecVirtual) reg.VecVirtual {
	r := w.vec()
	w.VSHUFPS(Imm(lanes), second, first, r)
	return r
}

func (w *winograd) planesInput() {
	w.start("winogradPlanesInput", "func(a *WinogradPlanes)", "is winogradPlanesInputGeneric with vectors along tiles.", 4, 5)
	w.loadSteps()
	x := w.base("X")
	var waiting Mem // columns 0 and 3, while AVX2's registers hold 1 and 2: faster than to read the map twice
	if !w.wide() {
		waiting = w.AllocLocal(2 * winogradInRows * w.bytes)
	}
	place := func(i, k int) Mem { return waiting.Offset((k/3*winogradInRows + i) * w.bytes) }
	w.pairs(winogradInRows, func() {}, func(t, pos reg.GPVirtual) {
		var d [winogradInCols][]reg.VecVirtual
		for i := range winogradInRows {
			// The columns from -1 and those from 1 on, of both units: inputs 0 and 1, and 2 and 3, of all tiles.
			var left, right [2]reg.VecVirtual
			for u := range left {
				at := w.offset(pos, u*winogradInRows+i)
				left[u], right[u] = w.load(indexed(x, at, floatBytes, -floatBytes)), w.load(indexed(x, at, floatBytes, floatBytes))
			}
			d1, d2 := w.shuffled(oddLanes, left[0], left[1]), w.shuffled(evenLanes, right[0], right[1])
			for u := range left {
				w.VSUBPS(right[u], left[u], left[u])
			}
			outer := [...]reg.VecVirtual{w.shuffled(evenLanes, left[0], left[1]), left[0]}
			w.VSHUFPS(Imm(oddLanes), left[1], left[0], left[0])
			for n, k := range []int{0, 3} {
				if w.wide() {
					d[k] = append(d[k], outer[n])
				} else {
					w.VMOVUPS(outer[n], place(i, k))
				}
			}
			d[1] = append(d[1], w.sum(d1, d2))
			w.VSUBPS(d1, d2, d2)
			d[2] = append(d[2], d2)
		}
		for _, k := range []int{1, 2, 0, 3} {
			if d[k] == nil {
				for i := range winogradInRows {
					d[k] = append(d[k], w.load(place(i, k)))
				}
			}
			w.storeColumn(t, k, w.inputY(d[k]))
		}
	}, func() {
		stride := w.scaled(w.field("XStride"))
		w.ADDQ(stride, x)
	})
}

func (w *winograd) planesGradient() {
	w.start("winogradPlanesGradient", "func(a *WinogradPlanes)", "is winogradPlanesGradientGeneric with vectors along tiles.", 4, 8)
	w.loadSteps()
	x, skip := w.base("X"), w.GP64()
	w.pairs(winogradOutRows, func() {
		w.Load(w.Dereference(w.Param("a")).Field("Skip").Base(), skip)
	}, func(t, pos reg.GPVirtual) {
		hidden := [2]reg.GPVirtual{w.GP64(), w.GP64()}
		for _, h := range hidden {
			w.XORQ(h, h)
		}
		w.unless(skip, func() {
			for u, h := range hidden {
				w.MOVLQSX(Mem{Base: skip, Disp: 4 * u}, h)
				w.NEGQ(h)
			}
			w.ADDQ(Imm(2*4), skip)
		})
		middle := w.GP64()
		w.LEAQ(static(winogradColumns, maxLanes*floatBytes), middle)
		masks := [2]reg.VecVirtual{}
		for u, h := range hidden {
			masks[u] = w.load(indexed(middle, h, floatBytes, 0))
		}
		var y [winogradOutCols][]reg.VecVirtual
		for i := range winogradOutRows {
			var units [2]reg.VecVirtual
			for u := range units {
				units[u] = w.vec()
				w.VANDPS(indexed(x, w.offset(pos, u*winogradOutRows+i), floatBytes, 0), masks[u], units[u])
			}
			y[0] = append(y[0], w.shuffled(evenLanes, units[0], units[1]))
			y[1] = append(y[1], w.shuffled(oddLanes, units[0], units[1]))
		}
		w.storeGradient(t, w.gradientY(y[0]), w.gradientY(y[1]))
	}, func() {
		stride := w.scaled(w.field("XStride"))
		w.ADDQ(stride, x)
	})
}

func (w *winograd) planesOutput(f finish) {
	w.start("winogradPlanesOutput"+f.suffix(), f.signature("WinogradPlanes"),
		"is winogradPlanesOutputGeneric with vectors along tiles; it "+f.doc(), 2, 4, 8)
	w.loadSteps()
	x := w.base("X")
	to := w.newFinishing(f)
	var channel Mem // in bytes
	if f != sums {
		zero, shift := w.GP64(), w.vec()
		w.XORQ(zero, zero)
		channel = w.pointer(zero)
		to.scale, to.shift = w.vec(), shift
	}
	w.pairs(winogradOutRows, func() {
		if f != sums {
			at := w.GP64()
			w.MOVQ(channel, at)
			w.VBROADCASTSS(indexed(w.finishArray("Scale"), at, 1, 0), to.scale)
			w.VBROADCASTSS(indexed(w.finishArray("Shift"), at, 1, 0), to.shift)
			w.ADDQ(Imm(floatBytes), channel)
		}
	}, func(t, pos reg.GPVirtual) {
		y := w.loadOutput(t)
		for i := range winogradOutRows {
			first, second := w.vec(), w.vec() // columns in order: the undoing of shuffled
			w.VUNPCKLPS(y[1][i], y[0][i], first)
			w.VUNPCKHPS(y[1][i], y[0][i], second)
			w.put(to, first, x, w.offset(pos, i), floatBytes)
			w.put(to, second, x, w.offset(pos, winogradOutRows+i), floatBytes)
		}
	}, func() {
		stride := w.scaled(w.field("XStride"))
		w.ADDQ(stride, x)
		if f == scaledRes {
			w.ADDQ(stride, to.res)
		}
	})
}
