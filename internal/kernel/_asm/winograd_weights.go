package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const winogradTaps = 3 // along y and along x

// rowsOfWeights runs body for every vector of every row of weights: u is where its first product lies, and taps its
// taps by column and row.
func (w *winograd) rowsOfWeights(body func(u reg.GPVirtual, tap func(i, k int) Mem)) {
	w.loadSteps()
	uRow, wRow := w.pointer(w.base("U")), w.pointer(w.base("W"))
	width := w.pointer(w.scaled(w.field("Width")))
	w.counted(w.field("Rows"), func() {
		u, at, tap, tap3, end := w.GP64(), w.GP64(), w.scaled(w.field("WTap")), w.GP64(), w.GP64()
		w.MOVQ(uRow, u)
		w.MOVQ(wRow, at)
		w.LEAQ(Mem{Base: tap, Index: tap, Scale: 2}, tap3)
		w.MOVQ(u, end)
		w.ADDQ(width, end)
		uEnd := w.pointer(end)
		w.whileBefore(u, uEnd, func() {
			body(u, func(i, k int) Mem {
				b := at
				if k > 0 {
					b = w.GP64()
					w.LEAQ(Mem{Base: at, Index: tap, Scale: uint8(k)}, b)
				}
				return [...]Mem{{Base: b}, {Base: b, Index: tap3, Scale: 1}, {Base: b, Index: tap3, Scale: 2}}[i]
			})
			w.ADDQ(U32(uint32(w.bytes)), u)
			w.ADDQ(U32(uint32(w.bytes)), at)
		})
		step := w.scaled(w.field("URow"))
		w.ADDQ(step, uRow)
		step = w.scaled(w.field("WRow"))
		w.ADDQ(step, wRow)
	})
	w.end()
}

func (w *winograd) weights() {
	w.start("winogradWeights", "func(a *WinogradWeights)", "is winogradWeightsGeneric with vectors along outputs.",
		1./2, 1./4, 1./6, -1./6, 1./12, 1./24)
	w.rowsOfWeights(func(u reg.GPVirtual, tap func(i, k int) Mem) {
		var g [winogradInCols][]reg.VecVirtual
		for i := range winogradTaps {
			sum, second := w.load(tap(i, 0)), w.load(tap(i, 1))
			w.VADDPS(tap(i, 2), sum, sum)
			g[1], g[2] = append(g[1], w.sum(sum, second)), append(g[2], w.difference(sum, second))
			w.VMULPS(w.factor(1./2), g[1][i], g[1][i])
			w.VMULPS(w.factor(1./2), g[2][i], g[2][i])
		}
		for _, k := range []int{1, 2, 0, 3} {
			if g[k] == nil {
				for i := range winogradTaps {
					g[k] = append(g[k], w.load(tap(i, k/3*2)))
				}
			}
			w.storeColumn(u, k, w.weightsY(g[k]))
		}
	})
}

// weightsY is G g.
func (w *winograd) weightsY(g []reg.VecVirtual) []reg.VecVirtual {
	even, odd, even2 := w.sum(g[0], g[2]), w.vec(), w.vec()
	w.VMULPS(w.factor(-1./6), even, even)
	w.VMULPS(w.factor(1./6), g[1], odd)
	w.VMULPS(w.factor(1./6), g[2], even2)
	w.VFMADD231PS(w.factor(1./24), g[0], even2)
	w.VMULPS(w.factor(1./12), g[1], g[1])
	w.VMULPS(w.factor(1./4), g[0], g[0])
	u1, u3 := w.difference(even, odd), w.sum(even2, g[1])
	w.VADDPS(odd, even, even)
	w.VSUBPS(g[1], even2, even2)
	return []reg.VecVirtual{g[0], u1, even, u3, even2, g[2]}
}

func (w *winograd) weightsGrad() {
	w.start("winogradWeightsGrad", "func(a *WinogradWeights)", "is winogradWeightsGradGeneric with vectors along outputs.",
		1./2, 1./4, 1./6, 1./12, 1./24)
	w.rowsOfWeights(func(u reg.GPVirtual, tap func(i, k int) Mem) {
		var g [winogradInCols][]reg.VecVirtual
		for k := range g {
			g[k] = w.weightsGradY(w.column(u, k))
		}
		for i := range winogradTaps {
			half := w.sum(g[1][i], g[2][i])
			w.VMULPS(w.factor(1./2), half, half)
			w.VADDPS(half, g[0][i], g[0][i])
			w.VADDPS(half, g[3][i], g[3][i])
			w.VSUBPS(g[2][i], g[1][i], g[1][i])
			w.VMULPS(w.factor(1./2), g[1][i], g[1][i])
			for k, d := range []reg.VecVirtual{g[0][i], g[1][i], g[3][i]} {
				m := tap(i, k)
				w.VADDPS(m, d, d)
				w.VMOVUPS(d, m)
			}
		}
	})
}

func (w *winograd) weightsAhead() {
	w.start("winogradWeightsAhead", "func(a *WinogradWeights)", "asks the caches for the taps.")
	w.rowsOfWeights(func(_ reg.GPVirtual, tap func(i, k int) Mem) {
		for i := range winogradTaps {
			for k := range winogradTaps {
				w.PREFETCHT0(tap(i, k))
			}
		}
	})
}

// weightsGradY is Gᵀ u. It reads each point as late as it can: there are few registers.
func (w *winograd) weightsGradY(points [winogradInRows]Mem) []reg.VecVirtual {
	var u [winogradInRows]reg.VecVirtual
	load := func(which ...int) {
		for _, i := range which {
			u[i] = w.load(points[i])
		}
	}
	load(1, 2)
	sum := w.sum(u[1], u[2])
	w.VSUBPS(u[1], u[2], u[1])
	load(3, 4)
	w.VADDPS(u[4], u[3], u[2])
	w.VSUBPS(u[4], u[3], u[3])
	load(0)
	w.VMULPS(w.factor(1./4), u[0], u[0])
	w.VFNMADD231PS(w.factor(1./6), sum, u[0])
	w.VFMADD231PS(w.factor(1./24), u[2], u[0])
	w.VMULPS(w.factor(1./6), u[1], u[1])
	w.VFMADD231PS(w.factor(1./12), u[3], u[1])
	w.VSUBPS(sum, u[2], u[2])
	load(5)
	w.VFMADD231PS(w.factor(1./6), u[2], u[5])
	return []reg.VecVirtual{u[0], u[1], u[5]}
}
