package main

import (
	"fmt"

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

func (w *winograd) planesInput(column int) {
	w.start(fmt.Sprint("winogradPlanesInput", column), "func(a *WinogradPlanes)",
		fmt.Sprintf("is winogradPlanesInputGeneric for column %d, with vectors along tiles.", column), 4, 5)
	w.loadColumnSteps()
	x := w.base("X")
	w.pairs(winogradInRows, func() {}, func(t, pos reg.GPVirtual) {
		d := make([]reg.VecVirtual, winogradInRows)
		for i := range d {
			// The columns from -1 and those from 1 on, of both units: inputs 0 and 1, and 2 and 3, of all tiles.
			var left, right [2]reg.VecVirtual
			for u := range left {
				at := w.offset(pos, u*winogradInRows+i)
				left[u], right[u] = w.load(indexed(x, at, floatBytes, -floatBytes)), w.load(indexed(x, at, floatBytes, floatBytes))
			}
			switch column {
			case 0, 3: // 0 less 2, and 1 less 3
				for u := range left {
					w.VSUBPS(right[u], left[u], left[u])
				}
				lanes := map[int]uint64{0: evenLanes, 3: oddLanes}[column]
				d[i] = w.shuffled(lanes, left[0], left[1])
			default:
				d1, d2 := w.shuffled(oddLanes, left[0], left[1]), w.shuffled(evenLanes, right[0], right[1])
				if column == 1 {
					w.VADDPS(d2, d1, d1)
				} else {
					w.VSUBPS(d1, d2, d1)
				}
				d[i] = d1
			}
		}
		w.storeColumn(t, 0, w.inputY(d))
	}, func() {
		stride := w.scaled(w.field("XStride"))
		w.ADDQ(stride, x)
	})
}

func (w *winograd) planesGradient(column int) {
	w.start(fmt.Sprint("winogradPlanesGradient", column), "func(a *WinogradPlanes)",
		fmt.Sprintf("is winogradPlanesGradientGeneric for column %d, with vectors along tiles.", column), 4, 8)
	w.loadColumnSteps()
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
		y := make([]reg.VecVirtual, winogradOutRows)
		for i := range y {
			var units [2]reg.VecVirtual
			for u := range units {
				units[u] = w.vec()
				w.VANDPS(indexed(x, w.offset(pos, u*winogradOutRows+i), floatBytes, 0), masks[u], units[u])
			}
			switch column {
			case 0:
				y[i] = w.shuffled(evenLanes, units[0], units[1])
			case 1:
				y[i] = w.sum(w.shuffled(evenLanes, units[0], units[1]), w.shuffled(oddLanes, units[0], units[1]))
			case 2:
				y[i] = w.difference(w.shuffled(evenLanes, units[0], units[1]), w.shuffled(oddLanes, units[0], units[1]))
			case 3:
				y[i] = w.shuffled(oddLanes, units[0], units[1])
				w.VXORPS(static(winogradNegate, 0), y[i], y[i])
			}
		}
		w.storeColumn(t, 0, w.gradientY(y))
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
		for i := winogradOutRows - 1; i >= 0; i-- { // the first row last
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
