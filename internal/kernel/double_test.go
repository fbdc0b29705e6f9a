package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// doubleGuard is the width of the band of sentinels on either side of the doubles of a test.
const doubleGuard = 32

// doubles makes n numbers of several sizes, begun shift numbers after a band of sentinels, and the whole of it. Where
// poisoned is set, some are infinite, NaN, −0 or subnormal.
func doubles(r *rand.Rand, n, shift int, poisoned bool) (part, whole []float64) {
	whole = slices.Repeat([]float64{float64(sentinel)}, n+shift+2*doubleGuard)
	part = whole[doubleGuard+shift:][:n:n]
	for i := range part {
		part[i] = r.NormFloat64() * []float64{1e-9, 1, 1e9}[r.IntN(3)]
		if poisoned && r.IntN(40) == 0 {
			part[i] = []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), 0, 5e-324, 1e308}[r.IntN(7)]
		}
	}
	return part, whole
}

// sameBits says whether two numbers have the same bits, or both are a NaN.
func sameBits(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// TestDoubleBits holds the kernels of float64 of all sets to their definitions, to the bit, and to the rows they write.
func TestDoubleBits(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(21, 21))
		counts := []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 33, 63, 64, 70}
		for _, n := range counts {
			for _, strips := range []int{0, 1, 2, 5} {
				for _, shift := range []int{0, 1, 3, 7} {
					for _, poisoned := range []bool{false, true} {
						what := fmt.Sprintf("%d products of %d strips, offset %d, poisoned %v", n, strips, shift, poisoned)
						width := strips * DoubleWidth
						x, _ := doubles(r, n*width, shift, poisoned)
						f, _ := doubles(r, n*DoubleRows, shift+1, poisoned)
						var rows [DoubleRows][]float64
						var wholes, before, want [DoubleRows][]float64
						for i := range rows {
							rows[i], wholes[i] = doubles(r, width, shift+2*i, poisoned)
							before[i], want[i] = slices.Clone(wholes[i]), slices.Clone(rows[i])
							for j := range want[i] {
								for v := range n {
									want[i][j] += float64(f[v*DoubleRows+i] * x[j/DoubleWidth*n*DoubleWidth+v*DoubleWidth+j%DoubleWidth])
								}
							}
						}
						s.AddProducts(&rows, x, f)
						for i := range rows {
							if !slices.EqualFunc(rows[i], want[i], sameBits) {
								t.Fatalf("%s: row %d has other bits than the definition", what, i)
							}
							copy(rows[i], before[i][doubleGuard+shift+2*i:])
							if !slices.EqualFunc(wholes[i], before[i], sameBits) {
								t.Fatalf("%s: a number beside row %d was written", what, i)
							}
						}
					}
				}
			}
			for _, shift := range []int{0, 1, 3, 7} {
				for _, poisoned := range []bool{false, true} {
					x, _ := doubles(r, n*DoubleWidth, shift, poisoned)
					f, _ := doubles(r, n, shift+1, poisoned)
					dst, whole := doubles(r, DoubleWidth, shift+2, poisoned)
					before := slices.Clone(whole)
					s.SumProducts(dst, x, f)
					for j, got := range dst {
						want := 0.0
						for v, a := range f {
							want += float64(a * x[v*DoubleWidth+j])
						}
						if !sameBits(got, want) {
							t.Fatalf("sum %d of %d products, offset %d, is %v; want %v", j, n, shift, got, want)
						}
					}
					copy(dst, before[doubleGuard+shift+2:])
					if !slices.EqualFunc(whole, before, sameBits) {
						t.Fatalf("%d products, offset %d: a number beside the sums was written", n, shift)
					}
				}
			}
		}
	})
}

// TestDoubleInPlace: rows may follow the vectors in one array.
func TestDoubleInPlace(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		const n = 9
		r := rand.New(rand.NewPCG(22, 22))
		strip, _ := doubles(r, (n+DoubleRows)*DoubleWidth, 1, false)
		f, _ := doubles(r, n*DoubleRows, 0, false)
		apart := slices.Clone(strip[n*DoubleWidth:])
		rows := func(x []float64) (rows [DoubleRows][]float64) {
			for i := range rows {
				rows[i] = x[i*DoubleWidth:][:DoubleWidth]
			}
			return rows
		}
		one, two := rows(strip[n*DoubleWidth:]), rows(apart)
		s.AddProducts(&two, slices.Clone(strip), f)
		s.AddProducts(&one, strip, f)
		if !slices.Equal(apart, strip[n*DoubleWidth:]) {
			t.Error("rows behind the vectors get other bits")
		}
	})
}

// A slice that is too short is a fault of the caller, and vector code would write past it.
func TestDoubleShortSlices(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		x := make([]float64, 4*DoubleWidth)
		rows := func(a, b int) *[DoubleRows][]float64 { return &[DoubleRows][]float64{x[:a], x[:a], x[:b], x[:a]} }
		for name, call := range map[string]func(){
			"no whole strip":     func() { s.AddProducts(rows(DoubleWidth-1, DoubleWidth-1), x, x[:4]) },
			"a short row":        func() { s.AddProducts(rows(2*DoubleWidth, DoubleWidth), x, x[:4]) },
			"a missing factor":   func() { s.AddProducts(rows(DoubleWidth, DoubleWidth), x, x[:7]) },
			"a short x":          func() { s.AddProducts(rows(DoubleWidth, DoubleWidth), x[:DoubleWidth-1], x[:4]) },
			"a short strip":      func() { s.SumProducts(x[:DoubleWidth-1], x, x[:1]) },
			"a short x of a sum": func() { s.SumProducts(x, x[:DoubleWidth], x[:2]) },
		} {
			if !panics(call) {
				t.Errorf("%s: want a panic", name)
			}
		}
	})
}
