package main

import (
	"math"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	winogradInRows  = 6 // inputs of a tile, or points: kernel.WinogradTileRows + 2
	winogradInCols  = 4
	winogradOutRows = 4 // kernel.WinogradTileRows
	winogradOutCols = 2
)

// winograd generates the transforms of Winograd's algorithm for one instruction set. Products are stored column by
// column of a tile, so that AVX2's registers hold a column of points on its way along y and another that waits.
type winograd struct {
	*convolutions
	arrays
}

// arrays are the registers that a function holds throughout: the distances from product to product, and constants.
type arrays struct {
	step, step4, step12, step20 reg.GPVirtual
	constants                   map[float32]Op
}

func winogradKernels(g *generator, sets ...isa) {
	g.winogradTables()
	for _, i := range sets {
		w := &winograd{convolutions: &convolutions{target: target{generator: g, isa: i}}}
		w.channelLastInput()
		w.channelLastGradient()
		for _, p := range []pair{outer, inner} {
			w.planesInput(p)
			w.planesGradient(p)
		}
		for f := sums; f <= scaledRes; f++ {
			w.channelLastOutput(f)
			w.planesOutput(f)
		}
		w.weights()
		w.weightsGrad()
		w.weightsAhead()
	}
}

const (
	winogradConstants = "winograd"
	winogradNegate    = "winogradnegate"  // the sign bit
	winogradColumns   = "winogradcolumns" // 16 × zero, 16 × all ones: entering n floats before the middle hides n lanes
	avx2Lanes         = 8
	maxLanes          = 16
)

// pair is two columns of a tile's products whose transforms share what they load: kernel.WinogradPair.
type pair int

const (
	outer pair = iota // columns 0 and 3
	inner             // columns 1 and 2
)

func (p pair) suffix() string { return [...]string{"Outer", "Inner"}[p] }

func (p pair) doc() string { return [...]string{"columns 0 and 3", "columns 1 and 2"}[p] }

// winogradFactors lie in memory as whole AVX2 vectors, which are then operands: there are few registers.
var winogradFactors = []float32{2, 4, 5, 8, 1. / 2, 1. / 4, 1. / 6, -1. / 6, 1. / 12, 1. / 24}

func (g *generator) winogradTables() {
	g.table(winogradConstants, avx2Lanes*len(winogradFactors), func(i int) Constant {
		return U32(math.Float32bits(winogradFactors[i/avx2Lanes])) // a whole F32 would be printed, and read, as an integer
	})
	g.table(winogradNegate, maxLanes, func(int) Constant { return U32(1 << 31) })
	g.table(winogradColumns, 2*maxLanes, func(i int) Constant { return U32(-(i / maxLanes)) })
}

// start begins a function that needs some of winogradFactors.
func (w *winograd) start(name, signature, doc string, factors ...float32) {
	w.function(name+w.name, signature, name+w.name+" "+doc)
	w.constants = map[float32]Op{}
	for i, v := range winogradFactors {
		at := static(winogradConstants, i*avx2Lanes*floatBytes)
		for _, f := range factors {
			switch {
			case f != v:
			case w.wide():
				r := w.vec()
				w.VBROADCASTSS(at, r)
				w.constants[v] = r
			default:
				w.constants[v] = at
			}
		}
	}
}

// factor is a constant as the first operand.
func (w *winograd) factor(v float32) Op {
	op, ok := w.constants[v]
	if !ok {
		panic("asm: winograd: a factor is missing in start")
	}
	return op
}

// pointer keeps a pointer in memory, where registers are short.
func (w *winograd) pointer(r reg.GPVirtual) Mem {
	m := w.AllocLocal(8)
	w.MOVQ(r, m)
	return m
}

func (w *winograd) loadSteps() {
	w.step = w.scaled(w.field("Step"))
	w.step4, w.step12, w.step20 = w.copyOf(w.step), w.GP64(), w.GP64()
	w.SHLQ(Imm(2), w.step4)
	w.LEAQ(Mem{Base: w.step4, Index: w.step4, Scale: 2}, w.step12)
	w.LEAQ(Mem{Base: w.step4, Index: w.step4, Scale: 4}, w.step20)
}

// column is the products of column k, one for each point along y, of the tiles whose first product is at t.
func (w *winograd) column(t reg.GPVirtual, k int) [winogradInRows]Mem {
	b := t
	if k > 0 {
		b = w.GP64()
		w.LEAQ(Mem{Base: t, Index: w.step, Scale: uint8(min(k, 2))}, b)
	}
	if k == 3 {
		w.ADDQ(w.step, b)
	}
	return [...]Mem{{Base: b}, {Base: b, Index: w.step4, Scale: 1}, {Base: b, Index: w.step4, Scale: 2},
		{Base: b, Index: w.step12, Scale: 1}, {Base: b, Index: w.step4, Scale: 4}, {Base: b, Index: w.step20, Scale: 1}}
}

func (w *winograd) storeColumn(t reg.GPVirtual, k int, values []reg.VecVirtual) {
	for i, m := range w.column(t, k) {
		w.VMOVUPS(values[i], m)
	}
}

func (w *winograd) load(m Mem) reg.VecVirtual {
	r := w.vec()
	w.VMOVUPS(m, r)
	return r
}

// sum is x + y, difference x - y, both in new registers; y may be memory.
func (w *winograd) sum(x reg.VecVirtual, y Op) reg.VecVirtual {
	r := w.vec()
	w.VADDPS(y, x, r)
	return r
}

func (w *winograd) difference(x reg.VecVirtual, y Op) reg.VecVirtual {
	r := w.vec()
	w.VSUBPS(y, x, r)
	return r
}

// The transforms along y use up their arguments. See the plain-Go twins for the names.

// inputY is Bᵀ d.
func (w *winograd) inputY(d []reg.VecVirtual) []reg.VecVirtual {
	w.VFMADD132PS(w.factor(4), d[4], d[0])
	w.VFNMADD231PS(w.factor(5), d[2], d[0])
	w.VFMADD231PS(w.factor(4), d[1], d[5])
	w.VFNMADD231PS(w.factor(5), d[3], d[5])
	even, odd := w.vec(), w.vec()
	w.VMOVAPS(d[4], even)
	w.VFNMADD231PS(w.factor(4), d[2], even)
	w.VMOVAPS(d[3], odd)
	w.VFNMADD231PS(w.factor(4), d[1], odd)
	w.VSUBPS(d[2], d[4], d[4])
	w.VSUBPS(d[1], d[3], d[3])
	w.VADDPS(odd, even, d[1])
	w.VSUBPS(odd, even, d[2])
	w.VADDPS(d[3], d[3], d[3])
	w.VADDPS(d[3], d[4], even)
	w.VSUBPS(d[3], d[4], d[4])
	return []reg.VecVirtual{d[0], d[1], d[2], even, d[4], d[5]}
}

// gradientY is A y.
func (w *winograd) gradientY(y []reg.VecVirtual) []reg.VecVirtual {
	even, odd := w.sum(y[0], y[2]), w.sum(y[1], y[3])
	w.VFMADD132PS(w.factor(4), y[0], y[2])
	w.VADDPS(y[1], y[1], y[1])
	w.VFMADD231PS(w.factor(8), y[3], y[1])
	m1 := w.sum(even, odd)
	w.VSUBPS(odd, even, even)
	w.VADDPS(y[1], y[2], odd)
	w.VSUBPS(y[1], y[2], y[2])
	return []reg.VecVirtual{y[0], m1, even, odd, y[2], y[3]}
}

// outputY is Aᵀ m.
func (w *winograd) outputY(m []reg.VecVirtual) []reg.VecVirtual {
	sum := w.sum(m[1], m[2])
	w.VSUBPS(m[2], m[1], m[1])
	w.VADDPS(m[4], m[3], m[2])
	w.VSUBPS(m[4], m[3], m[3])
	w.VADDPS(sum, m[0], m[0])
	w.VADDPS(m[2], m[0], m[0])
	w.VFMADD231PS(w.factor(4), m[2], sum)
	w.VADDPS(m[1], m[5], m[5])
	w.VFMADD231PS(w.factor(8), m[3], m[5])
	w.VFMADD231PS(w.factor(2), m[3], m[1])
	return []reg.VecVirtual{m[0], m[1], sum, m[5]}
}

// storeGradient writes A y Aᵀ from the two columns of A y.
func (w *winograd) storeGradient(t reg.GPVirtual, left, right []reg.VecVirtual) {
	w.storeColumn(t, 0, left)
	diff := make([]reg.VecVirtual, winogradInRows)
	sums := w.column(t, 1)
	for i := range left {
		sum := w.sum(left[i], right[i])
		w.VMOVUPS(sum, sums[i])
		w.VSUBPS(right[i], left[i], left[i])
		diff[i] = left[i]
	}
	w.storeColumn(t, 2, diff)
	for _, r := range right {
		w.VXORPS(static(winogradNegate, 0), r, r)
	}
	w.storeColumn(t, 3, right)
}

// loadOutput reads the products at t and returns the two columns of Aᵀ t A.
func (w *winograd) loadOutput(t reg.GPVirtual) (columns [winogradOutCols][]reg.VecVirtual) {
	row, step3 := w.copyOf(t), w.GP64()
	w.LEAQ(Mem{Base: w.step, Index: w.step, Scale: 2}, step3)
	for range winogradInRows {
		m1, m2 := w.load(Mem{Base: row, Index: w.step, Scale: 1}), Mem{Base: row, Index: w.step, Scale: 2}
		sum := w.sum(m1, m2)
		w.VSUBPS(m2, m1, m1)
		w.VADDPS(Mem{Base: row}, sum, sum)
		w.VSUBPS(Mem{Base: row, Index: step3, Scale: 1}, m1, m1)
		w.ADDQ(w.step4, row)
		columns[0], columns[1] = append(columns[0], sum), append(columns[1], m1)
	}
	for k := range columns {
		columns[k] = w.outputY(columns[k])
	}
	return columns
}

// finish is a way to store a sum, as kernel.Finish has it: a function each.
type finish int

const (
	sums finish = iota
	scaled
	scaledRes
)

func (f finish) suffix() string { return [...]string{"", "Scale", "ScaleRes"}[f] }

func (f finish) doc() string {
	return [...]string{"stores the sums themselves.", "scales the sums.", "scales the sums and adds Res."}[f]
}

func (f finish) signature(args string) string {
	if f == sums {
		return "func(a *" + args + ")"
	}
	return "func(a *" + args + ", f *Finish, floor float32)"
}

// finishing holds what a finish reads; shift is an operand, res a pointer beside that of X.
type finishing struct {
	finish
	scale, floor reg.VecVirtual
	shift        Op
	res          reg.GPVirtual
}

// finishArray is the pointer to an array of the argument f.
func (w *winograd) finishArray(name string) reg.GPVirtual {
	r := w.GP64()
	w.Load(w.Dereference(w.Param("f")).Field(name).Base(), r)
	return r
}

// newFinishing reads what lasts for the whole function.
func (w *winograd) newFinishing(f finish) *finishing {
	to := &finishing{finish: f}
	if f != sums {
		b, err := w.Param("floor").Resolve()
		if err != nil {
			panic(err)
		}
		to.floor = w.vec()
		w.VBROADCASTSS(b.Addr, to.floor)
	}
	if f == scaledRes {
		to.res = w.finishArray("Res")
	}
	return to
}

// put stores a sum at index (in bytes or, with a scale, in parts of 4) after x. VMAXPS returns its second source when
// one is a NaN, so a NaN passes.
func (w *winograd) put(to *finishing, sum reg.VecVirtual, x, index reg.GPVirtual, scale uint8) {
	if to.finish != sums {
		w.VFMADD213PS(to.shift, to.scale, sum)
		if to.finish == scaledRes {
			w.VADDPS(indexed(to.res, index, scale, 0), sum, sum)
		}
		w.VMAXPS(sum, to.floor, sum)
	}
	w.VMOVUPS(sum, indexed(x, index, scale, 0))
}

// offset reads entry i of a table of offsets, in floats.
func (w *winograd) offset(pos reg.GPVirtual, i int) reg.GPVirtual {
	r := w.GP64()
	w.MOVLQSX(Mem{Base: pos, Disp: 4 * i}, r)
	return r
}

// whileBefore repeats body while pos has not come to end, at least once.
func (w *winograd) whileBefore(pos reg.GPVirtual, end Mem, body func()) {
	l := w.label("next")
	w.Label(l)
	body()
	w.CMPQ(pos, end)
	w.JNE(LabelRef(l))
}

// posEnd is the end of Pos.
func (w *winograd) posEnd() Mem {
	end, n := w.base("Pos"), w.length("Pos")
	w.LEAQ(Mem{Base: end, Index: n, Scale: 4}, end)
	return w.pointer(end)
}
