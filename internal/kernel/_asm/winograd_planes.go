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
func (w *winograd) shuffled(lanes uint64, first reg.VecVirtual, second Op) reg.VecVirtual {
	r := w.vec()
	w.VSHUFPS(Imm(lanes), second, first, r)
	return r
}

// loadPairSteps is loadSteps for the two columns of a pair: Step is the distance of the points of a column, and the
// second column begins where secondColumn says.
func (w *winograd) loadPairSteps() {
	w.step4, w.step12, w.step20 = w.scaled(w.field("Step")), w.GP64(), w.GP64()
	w.LEAQ(Mem{Base: w.step4, Index: w.step4, Scale: 2}, w.step12)
	w.LEAQ(Mem{Base: w.step4, Index: w.step4, Scale: 4}, w.step20)
	w.step = w.scaled(w.field("PairStep"))
}

// unitRow is row i of both units of a pair, at columns disp and on.
func (w *winograd) unitRow(x, pos reg.GPVirtual, rows, i, disp int) (units [2]Mem) {
	for u := range units {
		units[u] = indexed(x, w.offset(pos, u*rows+i), floatBytes, disp*floatBytes)
	}
	return units
}

func (w *winograd) planesInput(p pair) {
	w.start("winogradPlanesInput"+p.suffix(), "func(a *WinogradPlanes)",
		"is winogradPlanesInputGeneric for "+p.doc()+", with vectors along tiles.", 4, 5)
	w.loadPairSteps()
	x := w.base("X")
	ahead := w.GP64() // from Pos to Next, bytes
	out := w.GP64()
	if p == outer {
		w.MOVQ(w.base("Out"), out)
		// what is written nowhere has X as a valid place: asking for address 0 costs a walk of the page table
		w.TESTQ(out, out)
		w.CMOVQEQ(x, out)
		at := w.base("Pos")
		w.MOVQ(w.base("Next"), ahead)
		w.unless(ahead, func() { w.SUBQ(at, ahead) })
	}
	// The columns from -1 and those from 1 on, of both units: inputs 0 and 1, and 2 and 3, of all tiles.
	body := map[pair]func(t, pos reg.GPVirtual){outer: func(t, pos reg.GPVirtual) {
		next := w.GP64()
		w.LEAQ(Mem{Base: pos, Index: ahead, Scale: 1}, next)
		for i := 2; i < winogradInRows; i++ { // the first two are the last of the units above
			for _, row := range w.unitRow(x, next, winogradInRows, i, 0) {
				w.PREFETCHT0(row)
			}
		}
		for i := range winogradOutRows {
			for _, row := range w.unitRow(out, pos, winogradInRows, i+1, 0) {
				w.PREFETCHT0(row)
			}
		}
		var units [2][]reg.VecVirtual // left less right: 0 less 2 in even lanes and 1 less 3 in odd ones
		for u := range units {
			for i := range winogradInRows {
				at := w.offset(pos, u*winogradInRows+i)
				d := w.load(indexed(x, at, floatBytes, -floatBytes))
				w.VSUBPS(indexed(x, at, floatBytes, floatBytes), d, d)
				units[u] = append(units[u], d)
			}
			units[u] = w.inputY(units[u])
		}
		w.storeShuffled(t, 0, evenLanes, units)
		w.storeShuffled(t, 1, oddLanes, units)
	}, inner: func(t, pos reg.GPVirtual) {
		var sums, differences []reg.VecVirtual // of 1 and 2
		for i := range winogradInRows {
			left, right := w.unitRow(x, pos, winogradInRows, i, -1), w.unitRow(x, pos, winogradInRows, i, 1)
			d1, d2 := w.shuffled(oddLanes, w.load(left[0]), left[1]), w.shuffled(evenLanes, w.load(right[0]), right[1])
			sums = append(sums, w.sum(d1, d2))
			w.VSUBPS(d1, d2, d2)
			differences = append(differences, d2)
		}
		w.storeColumn(t, 0, w.inputY(sums))
		w.storeColumn(t, 1, w.inputY(differences))
	}}[p]
	w.pairs(winogradInRows, func() {}, body, func() {
		stride := w.scaled(w.field("XStride"))
		w.ADDQ(stride, x)
		if p == outer {
			w.ADDQ(stride, out)
		}
	})
}

// storeShuffled writes column k of a pair, some lanes of both units' columns of points.
func (w *winograd) storeShuffled(t reg.GPVirtual, k int, lanes uint64, units [2][]reg.VecVirtual) {
	for i, m := range w.column(t, k) {
		w.VMOVUPS(w.shuffled(lanes, units[0][i], units[1][i]), m)
	}
}

func (w *winograd) planesGradient(p pair) {
	w.start("winogradPlanesGradient"+p.suffix(), "func(a *WinogradPlanes)",
		"is winogradPlanesGradientGeneric for "+p.doc()+", with vectors along tiles.", 4, 8)
	w.loadPairSteps()
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
		var first, second []reg.VecVirtual
		for i := range winogradOutRows {
			units := [2]reg.VecVirtual{w.vec(), w.vec()}
			for u, row := range w.unitRow(x, pos, winogradOutRows, i, 0) {
				w.VANDPS(row, masks[u], units[u])
			}
			even, odd := w.shuffled(evenLanes, units[0], units[1]), w.shuffled(oddLanes, units[0], units[1])
			switch p {
			case outer:
				w.VXORPS(static(winogradNegate, 0), odd, odd)
				first, second = append(first, even), append(second, odd)
			case inner:
				first = append(first, w.sum(even, odd))
				w.VSUBPS(odd, even, even)
				second = append(second, even)
			}
		}
		w.storeColumn(t, 0, w.gradientY(first))
		w.storeColumn(t, 1, w.gradientY(second))
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
