package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tiles runs body for every vector of channels of every tile of pixels pixels: at is the channel in bytes, t where its
// first product lies, and pos the tile's offsets.
func (w *winograd) tiles(pixels int, body func(at, t, pos reg.GPVirtual)) {
	end := w.posEnd()
	tile := w.pointer(w.base("T"))
	pos := w.base("Pos")
	w.whileBefore(pos, end, func() {
		t, at := w.GP64(), w.GP64()
		w.MOVQ(tile, t)
		w.XORQ(at, at)
		width := w.pointer(w.scaled(w.field("C")))
		w.whileBefore(at, width, func() {
			body(at, t, pos)
			w.ADDQ(U32(uint32(w.bytes)), at)
			w.ADDQ(U32(uint32(w.bytes)), t)
		})
		stride := w.scaled(w.field("Stride"))
		w.ADDQ(stride, tile)
		w.ADDQ(U32(uint32(4*pixels)), pos)
	})
	w.end()
}

// pixel is pixel i of a tile, in the map that begins at x.
func (w *winograd) pixel(x, pos reg.GPVirtual, i int) Mem {
	return indexed(x, w.offset(pos, i), floatBytes, 0)
}

func (w *winograd) channelLastInput() {
	w.start("winogradChannelLastInput", "func(a *WinogradChannelLast)", "is winogradChannelLastInputGeneric with vectors along channels.", 4, 5)
	w.loadSteps()
	base := w.base("X")
	w.tiles(winogradInRows*winogradInCols, func(at, t, pos reg.GPVirtual) {
		x := w.GP64()
		w.LEAQ(Mem{Base: base, Index: at, Scale: 1}, x)
		pixel := func(i, k int) Mem { return w.pixel(x, pos, i*winogradInCols+k) }
		var d [winogradInCols][]reg.VecVirtual
		for i := range winogradInRows {
			x1, x2 := w.load(pixel(i, 1)), w.load(pixel(i, 2))
			d[1], d[2] = append(d[1], w.sum(x1, x2)), append(d[2], w.difference(x2, x1))
			if w.wide() { // all 24 values have a register
				d[0] = append(d[0], w.difference(w.load(pixel(i, 0)), x2))
				d[3] = append(d[3], w.difference(x1, pixel(i, 3)))
			}
		}
		for _, k := range []int{1, 2, 0, 3} {
			if d[k] == nil {
				for i := range winogradInRows { // k is 0, less 2, or 1, less 3
					d[k] = append(d[k], w.difference(w.load(pixel(i, k/2)), pixel(i, k/2+2)))
				}
			}
			w.storeColumn(t, k, w.inputY(d[k]))
		}
	})
}

func (w *winograd) channelLastGradient() {
	w.start("winogradChannelLastGradient", "func(a *WinogradChannelLast)", "is winogradChannelLastGradientGeneric with vectors along channels.", 4, 8)
	w.loadSteps()
	base := w.base("X")
	w.tiles(winogradOutRows*winogradOutCols, func(at, t, pos reg.GPVirtual) {
		x := w.GP64()
		w.LEAQ(Mem{Base: base, Index: at, Scale: 1}, x)
		var y [winogradOutCols][]reg.VecVirtual
		for k := range y {
			for i := range winogradOutRows {
				y[k] = append(y[k], w.load(w.pixel(x, pos, i*winogradOutCols+k)))
			}
			y[k] = w.gradientY(y[k])
		}
		w.storeGradient(t, y[0], y[1])
	})
}

func (w *winograd) channelLastOutput(f finish) {
	w.start("winogradChannelLastOutput"+f.suffix(), f.signature("WinogradChannelLast"),
		"is winogradChannelLastOutputGeneric with vectors along channels; it "+f.doc(), 2, 4, 8)
	w.loadSteps()
	base := w.base("X")
	to := w.newFinishing(f)
	w.tiles(winogradOutRows*winogradOutCols, func(at, t, pos reg.GPVirtual) {
		y := w.loadOutput(t)
		if f != sums {
			to.scale = w.load(indexed(w.finishArray("Scale"), at, 1, 0))
			to.shift = w.load(indexed(w.finishArray("Shift"), at, 1, 0))
		}
		for p := winogradOutRows*winogradOutCols - 1; p >= 0; p-- { // the first pixel last
			index := w.offset(pos, p)
			w.LEAQ(Mem{Base: at, Index: index, Scale: floatBytes}, index)
			w.put(to, y[p%winogradOutCols][p/winogradOutCols], base, index, 1)
		}
	})
}
