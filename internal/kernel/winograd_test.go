package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// matrix is a transform in one dimension: matrix[i][k] is what input k gives to output i.
type matrix [][]float64

// The transforms of F(4, 3) at the points 0, 1, -1, 2, -2, ∞, for y, and of F(2, 3) at 0, 1, -1, ∞, for x.
var (
	inputY = matrix{{4, 0, -5, 0, 1, 0}, {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0}, {0, -2, -1, 2, 1, 0},
		{0, 2, -1, -2, 1, 0},
		{0, 4, 0, -5, 0, 1}}
	inputX  = matrix{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}}
	outputY = matrix{{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}
	outputX = matrix{{1, 1, 1, 0}, {0, 1, -1, -1}}
	weightY = matrix{{1. / 4, 0, 0}, {-1. / 6, -1. / 6, -1. / 6}, {-1. / 6, 1. / 6, -1. / 6}, {1. / 24, 1. / 12, 1. / 6},
		{1. / 24, -1. / 12, 1. / 6}, {0, 0, 1}}
	weightX = matrix{{1, 0, 0}, {1. / 2, 1. / 2, 1. / 2}, {1. / 2, -1. / 2, 1. / 2}, {0, 0, 1}}
)

// transposed turns the matrix of a transform into that of its gradient.
func (m matrix) transposed() matrix {
	t := make(matrix, len(m[0]))
	for k := range t {
		for i := range m {
			t[k] = append(t[k], m[i][k])
		}
	}
	return t
}

// transform is a transform in both dimensions.
type transform struct{ y, x matrix }

var (
	winogradInput       = transform{inputY, inputX}
	winogradGradient    = transform{outputY.transposed(), outputX.transposed()}
	winogradOutput      = transform{outputY, outputX}
	winogradForward     = transform{weightY, weightX}
	winogradForwardGrad = transform{weightY.transposed(), weightX.transposed()}
)

func (t transform) inputs() int  { return len(t.y[0]) * len(t.x[0]) }
func (t transform) outputs() int { return len(t.y) * len(t.x) }

// coefficient is what input n gives to output m, both counted row by row.
func (t transform) coefficient(m, n int) float64 {
	return t.y[m/len(t.x)][n/len(t.x[0])] * t.x[m%len(t.x)][n%len(t.x[0])]
}

// winogradTerms bounds the roundings on the way of an input through a transform and a finish, constants included.
const winogradTerms = 16

// addTransformed adds output m of t to the element at, the inputs being x(n).
func (e *expected) addTransformed(at int, t transform, m int, x func(n int) float32) {
	for n := range t.inputs() {
		if k := t.coefficient(m, n); k != 0 {
			p := k * float64(x(n))
			e.sum[at] += p
			e.size[at] += math.Abs(p)
		}
	}
}

// finish applies f to the element at.
func (e *expected) finish(f *Finish, c, at int) {
	if f.Scale == nil {
		return
	}
	scale, shift, res := float64(f.Scale[c]), float64(f.Shift[c]), 0.
	if f.Res != nil {
		res = float64(f.Res[at])
	}
	e.sum[at] = e.sum[at]*scale + shift + res
	e.size[at] = e.size[at]*math.Abs(scale) + math.Abs(shift) + math.Abs(res)
	if f.Relu {
		e.sum[at] = max(e.sum[at], 0)
	}
	if f.Most != 0 {
		e.sum[at] = min(e.sum[at], float64(f.Most))
	}
}

// restore sets elements back to their value before the call and expects nothing of them, because nothing reads them.
func (e *expected) restore(got, before guarded, from, n int) {
	copy(got.part[from:][:n], before.part[from:][:n])
	for i := range n {
		delete(e.sum, from+i)
	}
}

// poison spoils an element of an array in three of four calls, to see where it arrives.
func poison(r *rand.Rand, x []float32) { x[r.IntN(len(x))] += poisons[r.IntN(len(poisons))] }

// finishes are the ways to store a sum; n is the length of the residual.
func finishes(r *rand.Rand, channels, n, shift int) []*Finish {
	scaled := func(res, relu bool) *Finish {
		f := &Finish{Scale: normal(r, channels, shift), Shift: normal(r, channels, shift), Relu: relu}
		if res {
			f.Res = normal(r, n, shift)
		}
		return f
	}
	return []*Finish{{}, scaled(false, false), scaled(false, true), scaled(true, false), scaled(true, true)}
}

// forWinograd runs a test for numbers of channel vectors (or channels), and of tiles (or pairs of units).
func forWinograd(t *testing.T, channels []int, test func(t *testing.T, s *Set, r *rand.Rand, c, tiles, shift int)) {
	forSets(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(6, 0))
		for _, c := range channels {
			for _, tiles := range sample(0, 1, 2, 3, 5) {
				for shift := range 3 {
					test(t, s, r, c, tiles, shift)
				}
			}
		}
	})
}

// testChannelLastTransform checks Input and Gradient, which read X.
func testChannelLastTransform(t *testing.T, s *Set, r *rand.Rand, tr transform, run func(*WinogradChannelLast), vecs,
	tiles, shift int) {
	const pixels = 9
	a := WinogradChannelLast{C: vecs * s.Lanes}
	a.Stride, a.X = a.C+shift, normal(r, pixels*(a.C+1), shift)
	a.Step = tiles*a.Stride + 5
	poison(r, a.X)
	for range tiles * tr.inputs() {
		a.Pos = append(a.Pos, int32(r.IntN(pixels)*(a.C+1)))
	}
	out := newGuarded(WinogradProducts*a.Step, shift)
	want, before := newExpected(), out.clone()
	want.terms = winogradTerms
	for q := range tiles {
		for c := range a.C {
			for j := range WinogradProducts {
				want.addTransformed(j*a.Step+q*a.Stride+c, tr, j, func(n int) float32 { return a.X[int(a.Pos[q*tr.inputs()+n])+c] })
			}
		}
	}
	a.T = out.part
	run(&a)
	want.check(t, fmt.Sprintf("vecs=%d tiles=%d shift=%d", vecs, tiles, shift), out, before)
}

func TestWinogradChannelLastInput(t *testing.T) {
	forWinograd(t, sample(1, 2, 3), func(t *testing.T, s *Set, r *rand.Rand, vecs, tiles, shift int) {
		testChannelLastTransform(t, s, r, winogradInput, s.WinogradChannelLastInput, vecs, tiles, shift)
	})
}

func TestWinogradChannelLastGradient(t *testing.T) {
	forWinograd(t, sample(1, 2, 3), func(t *testing.T, s *Set, r *rand.Rand, vecs, tiles, shift int) {
		testChannelLastTransform(t, s, r, winogradGradient, s.WinogradChannelLastGradient, vecs, tiles, shift)
	})
}

func TestWinogradChannelLastOutput(t *testing.T) {
	forWinograd(t, sample(1, 2, 3), testWinogradChannelLastOutput)
}

func testWinogradChannelLastOutput(t *testing.T, s *Set, r *rand.Rand, vecs, tiles, shift int) {
	tr := winogradOutput
	a := WinogradChannelLast{C: vecs * s.Lanes}
	a.Stride = a.C + shift
	a.Step = tiles*a.Stride + 5
	a.T = normal(r, WinogradProducts*a.Step, shift)
	poison(r, a.T)
	pixels := 1 + tiles*tr.outputs()
	for _, p := range r.Perm(pixels) { // pixel 0 is the place that nobody reads
		if len(a.Pos) < pixels-1 {
			a.Pos = append(a.Pos, int32(p*(a.C+1)))
		}
	}
	if tiles > 1 {
		a.Pos[5], a.Pos[11] = 0, 0
	}
	out := newGuarded(pixels*(a.C+1), shift)
	for i, f := range finishes(r, a.C, len(out.part), shift) {
		copy(out.part, normal(r, len(out.part), 0))
		want, before := newExpected(), out.clone()
		want.terms = winogradTerms
		for q := range tiles {
			for c := range a.C {
				for m := range tr.outputs() {
					at := int(a.Pos[q*tr.outputs()+m]) + c
					want.addTransformed(at, tr, m, func(n int) float32 { return a.T[n*a.Step+q*a.Stride+c] })
					want.finish(f, c, at)
				}
			}
		}
		a.X = out.part
		s.WinogradChannelLastOutput(&a, f)
		want.restore(out, before, 0, a.C)
		want.check(t, fmt.Sprintf("vecs=%d tiles=%d shift=%d finish=%d", vecs, tiles, shift, i), out, before)
	}
}

// tileOfLane is the description of [WinogradPlanes] in words of its own: quarters of a vector hold two tiles of the
// first unit and two of the second.
func tileOfLane(lane int) (unit, tile int) {
	quarter, place := lane/4, lane%4
	if place >= 2 {
		return 1, quarter*2 + place - 2
	}
	return 0, quarter*2 + place
}

// testPlanesTransform checks Input and Gradient, which read X: a unit's rows from left columns to its left on.
func testPlanesTransform(t *testing.T, s *Set, r *rand.Rand, tr transform, left int, skip bool,
	run func(*WinogradPlanes),
	channels, pairs, shift int) {
	rows, cols := len(tr.y[0]), len(tr.x[0])
	a := WinogradPlanes{C: channels, XStride: 5*s.Lanes + shift}
	a.Stride = pairs*s.Lanes + shift
	a.Step = channels*a.Stride + 5
	a.X = normal(r, channels*a.XStride, shift)
	poison(r, a.X)
	for range 2 * pairs {
		for range rows {
			a.Pos = append(a.Pos, int32(1+r.IntN(a.XStride-s.Lanes-1)))
		}
		if skip {
			a.Skip = append(a.Skip, int32(2*r.IntN(s.Lanes/2+1)))
		}
	}
	out := newGuarded(WinogradProducts*a.Step, shift)
	want, before := newExpected(), out.clone()
	want.terms = winogradTerms
	for c := range channels {
		for i := range pairs * s.Lanes {
			unit, tile := tileOfLane(i % s.Lanes)
			unit += i / s.Lanes * 2
			for j := range WinogradProducts {
				want.addTransformed(j*a.Step+c*a.Stride+i, tr, j, func(n int) float32 {
					if skip && 2*tile < int(a.Skip[unit]) {
						return 0
					}
					return a.X[int(a.Pos[unit*rows+n/cols])+c*a.XStride+2*tile+n%cols-left]
				})
			}
		}
	}
	a.T = out.part
	run(&a)
	want.check(t, fmt.Sprintf("channels=%d pairs=%d shift=%d skip=%t", channels, pairs, shift, skip), out, before)
}

// allColumns computes all 24 products by a transform that computes those of a pair of columns.
func allColumns(transform func(*WinogradPlanes)) func(*WinogradPlanes) {
	return func(a *WinogradPlanes) {
		for pair := range WinogradPair(WinogradPairs) {
			half, columns := *a, pair.Columns()
			half.T, half.Step, half.Pair = a.T[columns[0]*a.Step:], winogradInCols*a.Step, pair
			half.PairStep = (columns[1] - columns[0]) * a.Step
			transform(&half)
		}
	}
}

func TestWinogradPlanesInput(t *testing.T) {
	forWinograd(t, sample(1, 2, 3, 7), func(t *testing.T, s *Set, r *rand.Rand, c, pairs, shift int) {
		testPlanesTransform(t, s, r, winogradInput, 1, false, allColumns(s.WinogradPlanesInput), c, pairs, shift)
	})
}

func TestWinogradPlanesGradient(t *testing.T) {
	forWinograd(t, sample(1, 2, 3, 7), func(t *testing.T, s *Set, r *rand.Rand, c, pairs, shift int) {
		for _, skip := range []bool{false, true} {
			testPlanesTransform(t, s, r, winogradGradient, 0, skip, allColumns(s.WinogradPlanesGradient), c, pairs, shift)
		}
	})
}

func TestWinogradPlanesOutput(t *testing.T) {
	forWinograd(t, sample(1, 2, 3, 7), testWinogradPlanesOutput)
}

func testWinogradPlanesOutput(t *testing.T, s *Set, r *rand.Rand, channels, pairs, shift int) {
	tr := winogradOutput
	a := WinogradPlanes{C: channels}
	a.Stride = pairs*s.Lanes + shift
	a.Step = channels*a.Stride + 5
	a.T = normal(r, WinogradProducts*a.Step, shift)
	poison(r, a.T)
	rows := 1 + 2*pairs*WinogradTileRows
	a.XStride = rows*(s.Lanes+1) + shift
	for _, p := range r.Perm(rows) { // row 0 is the place that nobody reads
		if len(a.Pos) < rows-1 {
			a.Pos = append(a.Pos, int32(p*(s.Lanes+1)))
		}
	}
	if pairs > 0 {
		a.Pos[3], a.Pos[7] = 0, 0
	}
	out := newGuarded(channels*a.XStride, shift)
	for i, f := range finishes(r, channels, len(out.part), shift) {
		copy(out.part, normal(r, len(out.part), 0))
		want, before := newExpected(), out.clone()
		want.terms = winogradTerms
		for c := range channels {
			for i := range pairs * s.Lanes {
				unit, tile := tileOfLane(i % s.Lanes)
				unit += i / s.Lanes * 2
				for m := range tr.outputs() {
					at := int(a.Pos[unit*WinogradTileRows+m/2]) + c*a.XStride + 2*tile + m%2
					want.addTransformed(at, tr, m, func(n int) float32 { return a.T[n*a.Step+c*a.Stride+i] })
					want.finish(f, c, at)
				}
			}
		}
		a.X = out.part
		s.WinogradPlanesOutput(&a, f)
		for c := range channels {
			want.restore(out, before, c*a.XStride, s.Lanes)
		}
		want.check(t, fmt.Sprintf("channels=%d pairs=%d shift=%d finish=%d", channels, pairs, shift, i), out, before)
	}
}

func TestWinogradWeights(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(7, 0))
		for rows := range 4 {
			for vecs := range 4 {
				for shift := range 3 {
					testWinogradWeights(t, s, r, rows, vecs, shift, false)
					testWinogradWeights(t, s, r, rows, vecs, shift, true)
				}
			}
		}
	})
}

func testWinogradWeights(t *testing.T, s *Set, r *rand.Rand, rows, vecs, shift int, grad bool) {
	a := WinogradWeights{Rows: rows, Width: vecs * s.Lanes}
	a.URow, a.WTap = a.Width+shift, a.Width+2*shift
	a.Step, a.WRow = rows*a.URow+3, 9*a.WTap+shift
	u, w := newGuarded(WinogradProducts*a.Step, shift), newGuarded(rows*a.WRow+9*a.WTap+1, shift)
	copy(u.part, normal(r, len(u.part), 0))
	copy(w.part, normal(r, len(w.part), 0))
	a.U, a.W = u.part, w.part
	tr, out, in := winogradForward, u, w
	if grad {
		tr, out, in = winogradForwardGrad, w, u
	}
	poison(r, in.part)
	outputAt := func(row, m, v int) int { return m*a.Step + row*a.URow + v }
	inputAt := func(row, n, v int) int { return row*a.WRow + n*a.WTap + v }
	if grad {
		outputAt, inputAt = inputAt, outputAt
	}
	want, before, inBefore := newExpected(), out.clone(), in.clone()
	want.terms = winogradTerms
	for row := range rows {
		for v := range a.Width {
			for m := range tr.outputs() {
				at := outputAt(row, m, v)
				if grad {
					want.set(at, out.part[at])
				}
				want.addTransformed(at, tr, m, func(n int) float32 { return in.part[inputAt(row, n, v)] })
			}
		}
	}
	run := s.WinogradWeights
	if grad {
		run = s.WinogradWeightsGrad
	}
	run(&a)
	what := fmt.Sprintf("rows=%d vecs=%d shift=%d grad=%t", rows, vecs, shift, grad)
	want.check(t, what, out, before)
	newExpected().check(t, what+": input", in, inBefore)
}

// TestWinogradRefuses checks that faulty arguments stop before vector code runs over memory that is not theirs.
func TestWinogradRefuses(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		x, n := make([]float32, 100), s.Lanes
		pos, outPos := make([]int32, 24), make([]int32, 8) // a tile or two pairs of units; a tile or a pair
		for what, call := range map[string]func(){
			"channel-last, T": func() {
				s.WinogradChannelLastInput(&WinogradChannelLast{T: x[:n-1], X: x, Pos: pos,
					C: n})
			},
			"channel-last, step": func() {
				s.WinogradChannelLastInput(&WinogradChannelLast{T: x, X: x, Pos: pos, C: n,
					Step: 5})
			},
			"channel-last, C": func() {
				s.WinogradChannelLastInput(&WinogradChannelLast{T: x, X: x, Pos: pos,
					C: n - 1})
			},
			"channel-last, Pos": func() {
				s.WinogradChannelLastInput(&WinogradChannelLast{T: x, X: x, Pos: pos[1:],
					C: n})
			},
			"channel-last, gradient": func() {
				s.WinogradChannelLastGradient(&WinogradChannelLast{T: x, X: x, Pos: pos, C: n,
					Stride: 50})
			},
			"channel-last, output": func() {
				s.WinogradChannelLastOutput(&WinogradChannelLast{T: x, X: x, Pos: pos[1:], C: n},
					&Finish{})
			},
			"channel-last, Scale": func() {
				s.WinogradChannelLastOutput(&WinogradChannelLast{T: x, X: x, Pos: outPos, C: n}, &Finish{Scale: x[1:n], Shift: x})
			},
			"channel-last, Shift": func() {
				s.WinogradChannelLastOutput(&WinogradChannelLast{T: x, X: x, Pos: outPos, C: n}, &Finish{Scale: x})
			},
			"channel-last, Relu": func() {
				s.WinogradChannelLastOutput(&WinogradChannelLast{T: x, X: x, Pos: outPos, C: n}, &Finish{Relu: true})
			},
			"channel-last, Res": func() {
				s.WinogradChannelLastOutput(&WinogradChannelLast{T: x, X: x, Pos: outPos, C: n}, &Finish{Res: x})
			},
			"planes, T":       func() { s.WinogradPlanesInput(&WinogradPlanes{T: x[:2*n-1], X: x, Pos: pos, C: 1}) },
			"planes, pair":    func() { s.WinogradPlanesInput(&WinogradPlanes{T: x, X: x, Pos: pos, C: 1, Pair: 2}) },
			"planes, step":    func() { s.WinogradPlanesInput(&WinogradPlanes{T: x[:2*n], X: x, Pos: pos, C: 1, PairStep: n}) },
			"planes, channel": func() { s.WinogradPlanesInput(&WinogradPlanes{T: x, X: x, Pos: pos, C: 2, Stride: 99}) },
			"planes, Pos":     func() { s.WinogradPlanesInput(&WinogradPlanes{T: x, X: x, Pos: pos[:6], C: 1}) },
			"planes, odd":     func() { s.WinogradPlanesOutput(&WinogradPlanes{T: x, X: x, Pos: pos[:12], C: 1}, &Finish{}) },
			"planes, Shift": func() {
				s.WinogradPlanesOutput(&WinogradPlanes{T: x, X: x, Pos: outPos, C: 2}, &Finish{Scale: x, Shift: x[:1]})
			},
			"planes, Skip": func() { s.WinogradPlanesGradient(&WinogradPlanes{T: x, X: x, Pos: outPos, C: 1, Skip: pos[:1]}) },
			"planes, far": func() {
				s.WinogradPlanesGradient(&WinogradPlanes{T: x, X: x, Pos: outPos, C: 1, Skip: []int32{0, int32(n + 2)}})
			},
			"planes, odd Skip": func() {
				s.WinogradPlanesGradient(&WinogradPlanes{T: x, X: x, Pos: outPos, C: 1, Skip: []int32{0, 1}})
			},
			"weights, U":     func() { s.WinogradWeights(&WinogradWeights{U: x, W: x, Rows: 1, Width: n, Step: 5}) },
			"weights, W":     func() { s.WinogradWeights(&WinogradWeights{U: x, W: x, Rows: 1, Width: n, WTap: 12}) },
			"weights, Width": func() { s.WinogradWeights(&WinogradWeights{U: x, W: x, Rows: 1, Width: n - 1}) },
			"weights, grad":  func() { s.WinogradWeightsGrad(&WinogradWeights{U: x, W: x, Rows: 3, Width: n, WRow: 49}) },
		} {
			if !panics(call) {
				t.Errorf("%s: the call returned; want a panic", what)
			}
		}
	})
}
