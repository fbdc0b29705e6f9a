package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Every vector kernel is compared, on every set that the machine can run, with a float64 computation of the same
// arithmetic. A result may differ by the rounding that its operations allow: 2⁻²⁴ times the number of roundings times
// the sum of the magnitudes that went in.

// ulp is the largest relative error of one rounding to float32.
const ulp = 1.0 / (1 << 24)

// array is random values inside a guard band, and how they were at first.
type array struct {
	x      []float32
	all    guarded
	before guarded
}

func newArray(r *rand.Rand, n, shift int) *array {
	g := newGuarded(n, shift)
	for i := range g.part {
		g.part[i] = float32(r.NormFloat64())
	}
	return &array{g.part, g, g.clone()}
}

// poison puts one of the poisons somewhere.
func (a *array) poison(r *rand.Rand) {
	if len(a.x) > 0 {
		a.x[r.IntN(len(a.x))] = poisons[r.IntN(len(poisons))]
		a.before = a.all.clone()
	}
}

// old is element i before a kernel ran.
func (a *array) old(i int) float64 { return float64(a.before.part[i]) }

// check fails unless every float outside the positions of written is as it was, bit for bit.
func (a *array) check(t *testing.T, name string, written func(i int) bool) {
	t.Helper()
	first := len(a.all.whole) - guardFloats - len(a.x)
	for i, v := range a.all.whole {
		if j := i - first; j >= 0 && j < len(a.x) && written != nil && written(j) {
			continue
		}
		if want := a.before.whole[i]; math.Float32bits(v) != math.Float32bits(want) {
			t.Fatalf("%s[%d] is %g; want it left at %g", name, i-first, v, want)
		}
	}
}

func everywhere(int) bool { return true }

// near fails unless got is within tol of want, or both are the same infinity or NaN. A tolerance that is not finite, as
// after an infinite term, asks for equality.
func near(t *testing.T, got, want, tol float64, what string, args ...any) {
	t.Helper()
	if math.IsNaN(want) && math.IsNaN(got) || math.IsInf(want, 0) && got == want {
		return
	}
	if math.IsNaN(tol) || math.IsInf(tol, 0) {
		tol = 0
	}
	if diff := math.Abs(got - want); !(diff <= tol) {
		t.Fatalf("%s is %g; want %g ± %g", fmt.Sprintf(what, args...), got, want, tol)
	}
}

// lengths are all small ones, then some around the unrolled rounds.
func lengths() []int {
	if testing.Short() {
		return []int{0, 1, 7, 8, 15, 16, 17, 31, 33, 47, 64, 79, 130}
	}
	var ns []int
	for n := range 131 {
		ns = append(ns, n)
	}
	return append(ns, 255, 256, 257)
}

// flatCase is an elementwise kernel on up to four arrays. want computes element i in float64 from the old values and
// returns the new ones and the magnitude that their rounding errors scale with, for the arrays it writes.
type flatCase struct {
	name    string
	arrays  int
	written int // the first arrays
	run     func(s *Set, a [4][]float32)
	want    func(v [4]float64) (out, magnitude [4]float64)
	rounds  float64
}

var adamTest = AdamStep{LR: 0.01, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Decay: 0.1, Correction1: 0.271,
	Correction2: 0.003}

func flatCases() []flatCase {
	const lr, decay, mu = float32(0.1), float32(0.01), float32(0.9)
	f64 := func(x float32) float64 { return float64(x) }
	return []flatCase{
		{"axpy", 2, 1, func(s *Set, a [4][]float32) { s.Axpy(a[0], a[1], lr) },
			func(v [4]float64) (o, m [4]float64) {
				o[0], m[0] = v[0]+f64(lr)*v[1], math.Abs(v[0])+math.Abs(v[1])
				return
			}, 2},
		{"relugrad", 2, 1, func(s *Set, a [4][]float32) { s.ReLUGrad(a[0], a[1]) },
			func(v [4]float64) (o, m [4]float64) {
				if v[1] > 0 {
					o[0] = v[0]
				}
				return
			}, 0},
		{"sgd", 2, 1, func(s *Set, a [4][]float32) { s.SGD(a[0], a[1], lr, decay) },
			func(v [4]float64) (o, m [4]float64) {
				o[0], m[0] = v[0]-f64(lr)*(v[1]+f64(decay)*v[0]), math.Abs(v[0])+math.Abs(v[1])
				return
			}, 4},
		{"momentum", 3, 3, func(s *Set, a [4][]float32) { s.Momentum(a[0], a[2], a[1], lr, decay, mu) },
			func(v [4]float64) (o, m [4]float64) {
				o[1] = f64(mu)*v[1] + v[2] + f64(decay)*v[0]
				o[0] = v[0] - f64(lr)*o[1]
				o[2] = v[2]
				m[0] = math.Abs(v[0]) + math.Abs(v[1]) + math.Abs(v[2])
				m[1] = m[0]
				return
			}, 6},
		{"adam", 4, 4, func(s *Set, a [4][]float32) {
			for i, v := range a[2] {
				a[2][i] = v * v // a second moment is not negative
			}
			s.Adam(a[0], a[3], a[1], a[2], adamTest)
		}, wantAdam, 12},
	}
}

// wantAdam has arrays w, m, √v and g. The step's error is that of m, amplified by the quotient.
func wantAdam(v [4]float64) (o, mag [4]float64) {
	c := adamTest
	second := v[2] * v[2]
	d := v[3] + c.Decay*v[0]
	o[1] = c.Beta1*v[1] + (1-c.Beta1)*d
	o[2] = c.Beta2*second + (1-c.Beta2)*d*d
	scale := c.LR / c.Correction1 / (math.Sqrt(o[2]/c.Correction2) + c.Eps)
	o[0] = v[0] - scale*o[1]
	o[3] = v[3]
	sum := math.Abs(v[0]) + math.Abs(v[1]) + math.Abs(v[3])
	mag[1] = sum
	mag[2] = second + sum*sum
	mag[0] = math.Abs(v[0]) + scale*sum*(1+sum*sum/(o[2]+1e-30)*(1-c.Beta2))
	return
}

func TestFlat(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		for _, c := range flatCases() {
			t.Run(c.name, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(1, 2))
				for _, n := range lengths() {
					for _, offset := range sample(0, 1, 3, 7) {
						testFlat(t, s, c, rnd, n, offset)
					}
				}
			})
		}
	})
}

func testFlat(t *testing.T, s *Set, c flatCase, rnd *rand.Rand, n, offset int) {
	t.Helper()
	var arrays [4]*array
	var xs [4][]float32
	for i := range c.arrays {
		arrays[i] = newArray(rnd, n, offset*(i+1))
		xs[i] = arrays[i].x
	}
	if c.name != "adam" { // its second moment squares what it is given
		arrays[rnd.IntN(c.arrays)].poison(rnd)
	}
	c.run(s, xs)
	for i := range n {
		var v [4]float64
		for j := range c.arrays {
			v[j] = arrays[j].old(i)
		}
		want, magnitude := c.want(v)
		for j := range c.written {
			near(t, float64(xs[j][i]), want[j], c.rounds*ulp*magnitude[j], "n %d: array %d[%d]", n, j, i)
		}
	}
	for j := range c.arrays {
		written := everywhere
		if j >= c.written {
			written = nil
		}
		arrays[j].check(t, fmt.Sprintf("n %d: array %d", n, j), written)
	}
}

// Elementwise work gives the same bits however a caller splits it.
func TestFlatSplits(t *testing.T) {
	const n = 101
	forSets(t, func(t *testing.T, s *Set) {
		for _, c := range flatCases() {
			var whole, parts [4][]float32
			for j := range c.arrays {
				whole[j] = newArray(rand.New(rand.NewPCG(3, uint64(j))), n, 0).x
				parts[j] = newArray(rand.New(rand.NewPCG(3, uint64(j))), n, 5).x
			}
			c.run(s, whole)
			for lo, size := 0, 1; lo < n; lo, size = lo+size, size+3 {
				var part [4][]float32
				for j := range c.arrays {
					part[j] = parts[j][lo:min(n, lo+size)]
				}
				c.run(s, part)
			}
			for j := range c.arrays {
				for i := range n {
					if math.Float32bits(whole[j][i]) != math.Float32bits(parts[j][i]) {
						t.Fatalf("%s: array %d[%d] is %g in one piece and %g in several", c.name, j, i, whole[j][i], parts[j][i])
					}
				}
			}
		}
	})
}

func TestDot(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		rnd := rand.New(rand.NewPCG(4, 4))
		for _, n := range lengths() {
			x, y := newArray(rnd, n, 1), newArray(rnd, n, 2)
			var want, magnitude float64
			for i := range n {
				p := float64(x.x[i]) * float64(y.x[i])
				want += p
				magnitude += math.Abs(p)
			}
			const ulp64 = 1.0 / (1 << 53)
			near(t, s.Dot(x.x, y.x), want, 2*float64(n)*ulp64*magnitude, "dot of %d", n)
			x.check(t, "x", nil)
			y.check(t, "y", nil)
		}
	})
}

// TestSigmoidError compares sigmoids and the sum of their errors with float64, over all of a sigmoid's range and beyond
// it.
func TestSigmoidError(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		rnd := rand.New(rand.NewPCG(7, 7))
		for _, n := range lengths() {
			y, target, in := newArray(rnd, n, 1), newArray(rnd, n, 2), newArray(rnd, n, 3)
			for i := range y.x {
				y.x[i] *= []float32{1, 10, 40, 1e4}[rnd.IntN(4)]
				in.x[i] = float32(rnd.IntN(2))
			}
			if n > 5 {
				copy(y.x[rnd.IntN(n-4):], []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)),
					-87})
			}
			y.before, in.before = y.all.clone(), in.all.clone()
			got, want := s.SigmoidError(y.x, target.x, in.x), 0.0
			for i, v := range y.x {
				exact := 1 / (1 + math.Exp(-max(y.old(i), -87)))
				near(t, float64(v), exact, 4*ulp*exact, "n %d: sigmoid of %g", n, y.old(i))
				d := float64(in.x[i]) * (float64(target.x[i]) - float64(v))
				want += d * d
			}
			near(t, got, want, 4*ulp*want, "n %d: the error", n)
			d, f := newArray(rnd, n, 4), float32(1.25)
			const subnormal = 0x1p-147 // numbers near 0 are multiples of 2⁻¹⁴⁹
			s.SigmoidErrorGrad(d.x, y.x, target.x, in.x, f)
			plain := make([]float32, n)
			sigmoidErrorGradGeneric(plain, y.x, target.x, in.x, f)
			for i, v := range d.x {
				e, p := float64(in.x[i])*(float64(y.x[i])-float64(target.x[i])), float64(y.x[i])
				near(t, float64(v), float64(f)*e*p*(1-p), 6*ulp*math.Abs(e)*p+subnormal, "n %d: gradient %d", n, i)
				if v != plain[i] {
					t.Fatalf("n %d: gradient %d is %g; want the bits of plain Go, %g", n, i, v, plain[i])
				}
			}
			y.check(t, "y", everywhere)
			d.check(t, "d", everywhere)
			target.check(t, "t", nil)
			in.check(t, "in", nil)
		}
		y := []float32{1, float32(math.NaN()), 2}
		if e := s.SigmoidError(y, make([]float32, 3), []float32{1, 1, 1}); e == e || y[1] == y[1] || y[0] != y[0] {
			t.Errorf("a NaN among %v gives the error %g; want NaN", y, e)
		}
	})
}

// Sigmoids have the same bits wherever they stand.
func TestSigmoidSplits(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		whole, parts := newArray(rand.New(rand.NewPCG(8, 8)), 101, 0).x, newArray(rand.New(rand.NewPCG(8, 8)), 101, 5).x
		zeros := make([]float32, 101)
		s.SigmoidError(whole, zeros, zeros)
		for lo, size := 0, 1; lo < 101; lo, size = lo+size, size+3 {
			part := parts[lo:min(101, lo+size)]
			s.SigmoidError(part, zeros, zeros)
		}
		for i := range whole {
			if whole[i] != parts[i] {
				t.Fatalf("sigmoid %d is %g in one piece and %g in several", i, whole[i], parts[i])
			}
		}
	})
}

func TestLaneSums(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		rnd := rand.New(rand.NewPCG(6, 6))
		for _, n := range []int{0, 8, 16, 40} {
			src, dst := newArray(rnd, n*s.Lanes, 1), newArray(rnd, n, 2)
			s.LaneSums(dst.x, src.x)
			want := make([]float32, n)
			laneSumsGeneric(want, src.x, s.Lanes)
			for i, v := range dst.x {
				sum, size := 0.0, 0.0
				for _, x := range src.x[i*s.Lanes:][:s.Lanes] {
					sum += float64(x)
					size += math.Abs(float64(x))
				}
				near(t, float64(v), sum, 4*size/(1<<24), "sum %d of %d", i, n)
				if v != want[i] {
					t.Errorf("sum %d of %d: %g; want the bits of plain Go, %g", i, n, v, want[i])
				}
			}
			src.check(t, "src", nil)
			dst.check(t, "dst", func(int) bool { return true })
		}
		if !panics(func() { s.LaneSums(make([]float32, 7), make([]float32, 200)) }) {
			t.Error("7 sums: want a panic, they are no group")
		}
	})
}

func TestTranspose(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		rnd := rand.New(rand.NewPCG(5, 5))
		for _, n := range []int{0, 1, 3, 7, 8, 9, 16, 20, 27} {
			for _, m := range []int{0, 1, 5, 8, 15, 16, 17, 33} {
				srcStride, dstStride := m+3, n+5
				src, dst := newArray(rnd, max(n, 1)*srcStride, 1), newArray(rnd, max(m, 1)*dstStride, 2)
				s.Transpose(dst.x, dstStride, src.x, srcStride, n, m)
				for i := range n {
					for j := range m {
						if dst.x[j*dstStride+i] != src.x[i*srcStride+j] {
							t.Fatalf("%d by %d: dst[%d][%d] is %g; want %g", n, m, j, i, dst.x[j*dstStride+i], src.x[i*srcStride+j])
						}
					}
				}
				src.check(t, "src", nil)
				dst.check(t, "dst", func(at int) bool { return at%dstStride < n && at/dstStride < m })
			}
		}
	})
}

func TestSplitMerge(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		rnd := rand.New(rand.NewPCG(6, 6))
		for _, n := range lengths() {
			x, even, odd := newArray(rnd, n, 1), newArray(rnd, (n+1)/2, 2), newArray(rnd, n/2, 3)
			s.Split(even.x, odd.x, x.x)
			for i, v := range x.x {
				if got := [2][]float32{even.x, odd.x}[i%2][i/2]; got != v {
					t.Fatalf("split of %d: element %d is %g; want %g", n, i, got, v)
				}
			}
			x.check(t, "x", nil)
			even.check(t, "even", everywhere)
			odd.check(t, "odd", everywhere)
			back := newArray(rnd, n, 5)
			s.Merge(back.x, even.x, odd.x)
			for i, v := range x.x {
				if back.x[i] != v {
					t.Fatalf("merge of %d: element %d is %g; want %g", n, i, back.x[i], v)
				}
			}
			back.check(t, "merged", everywhere)
		}
	})
}

// A slice that is too short is a fault of the caller, and vector code would write past it.
func TestShortSlices(t *testing.T) {
	x, y := make([]float32, 30, 100), make([]float32, 29, 100)
	area := Area{Base: 2, Rows: 2, Cols: 12, RowStride: 16}
	forSets(t, func(t *testing.T, s *Set) {
		plane := &PlaneNorm{Area: area, Z: x, G: y}
		norm := &ChannelLastNorm{Z: x, G: x, Mean: y, N: 1, C: 30, Stride: 30}
		for name, call := range map[string]func(){
			"plane sum":               func() { s.PlaneSum(y, area) },
			"plane squares":           func() { s.PlaneSquares(y, area, 0) },
			"plane scale":             func() { s.PlaneScale(x, x, y, area, 1, 0, false) },
			"plane norm sums":         func() { s.PlaneNormSums(plane) },
			"plane norm apply":        func() { s.PlaneNormApply(x, plane, 1, 1, 1) },
			"channel-last sums":       func() { s.ChannelLastSums(x, y, 1, 30) },
			"channel-last squares":    func() { s.ChannelLastSquares(x, x, y, 1, 30) },
			"channel-last scale":      func() { s.ChannelLastScale(x, x, nil, x, y, 1, 30, false) },
			"channel-last norm sums":  func() { s.ChannelLastNormSums(x, x, norm) },
			"channel-last norm apply": func() { s.ChannelLastNormApply(x, norm, x, x, x) },
			"axpy":                    func() { s.Axpy(x, y, 1) },
			"relu gradient":           func() { s.ReLUGrad(x, y) },
			"sgd":                     func() { s.SGD(x, y, 1, 1) },
			"momentum":                func() { s.Momentum(x, x, y, 1, 1, 1) },
			"adam":                    func() { s.Adam(x, x, x, y, adamTest) },
			"dot":                     func() { s.Dot(y, x) },
			"sigmoid error":           func() { s.SigmoidError(x, x, y) },
			"sigmoid error gradient":  func() { s.SigmoidErrorGrad(x, x, x, y, 1) },
			"layer norm":              func() { s.LayerNorm(y, x, x, x, 1) },
			"lane sums":               func() { s.LaneSums(x[:8], y) },
			"transpose":               func() { s.Transpose(y, 5, x, 6, 5, 6) },
			"split":                   func() { s.Split(x[:15], x[15:], y) },
			"merge":                   func() { s.Merge(y, x[:15], x[15:]) },
		} {
			if !panics(call) {
				t.Errorf("%s takes a slice that is too short; want a panic", name)
			}
		}
	})
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return
}
