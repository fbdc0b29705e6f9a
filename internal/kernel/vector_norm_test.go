package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// normTest holds the arrays of batch norm's kernels in either layout, and their arithmetic in float64. Element e of a
// channel lies at position pos(channel, e).
type normTest struct {
	t                *testing.T
	what             string
	channels, count  int // count is the number of elements of a channel
	pos              func(c, e int) int
	inside           func(at int) bool // of some channel
	z, y, g, res, dz *array
	mean, p, q, r    *array
	gated            bool // by y
	withRes, relu    bool
}

// newNormTest makes arrays of size floats. Each test poisons one of them with a zero, a NaN or an infinity.
func newNormTest(t *testing.T, rnd *rand.Rand, size, channels, variant int) *normTest {
	n := &normTest{t: t, channels: channels, gated: variant&1 != 0, withRes: variant&2 != 0, relu: variant&4 != 0}
	shift := rnd.IntN(8)
	var all []*array
	for i, a := range []**array{&n.z, &n.y, &n.g, &n.res, &n.dz} {
		*a = newArray(rnd, size, (shift+i)%8)
		all = append(all, *a)
	}
	for i, a := range []**array{&n.mean, &n.p, &n.q, &n.r} {
		*a = newArray(rnd, channels, (shift+3*i)%8)
		all = append(all, *a)
		all = append(all, *a)
	}
	if variant >= 8 {
		all[rnd.IntN(len(all))].poison(rnd)
	}
	return n
}

// normVariants are all choices of mask, residual and ReLU, without and with a poison.
func normVariants() []int {
	if testing.Short() {
		return []int{1, 6, 15}
	}
	return []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
}

// yOrNil and resOrNil are what the kernels get.
func (n *normTest) yOrNil() []float32 {
	if n.gated {
		return n.y.x
	}
	return nil
}

func (n *normTest) resOrNil() []float32 {
	if n.withRes {
		return n.res.x
	}
	return nil
}

// sum is Σ term(at) over a channel, with the error that summing count terms of three roundings each may have.
func (n *normTest) sum(c int, start float64, term func(at int) (v, magnitude float64)) (sum, tol float64) {
	sum, size := start, math.Abs(start)
	for e := range n.count {
		v, m := term(n.pos(c, e))
		sum += v
		size += m
	}
	return sum, float64(n.count+4) * ulp * size
}

func (n *normTest) checkSums(got, start []float64) {
	n.t.Helper()
	for c := range n.channels {
		want, tol := n.sum(c, start[c], func(at int) (float64, float64) { return n.z.old(at), math.Abs(n.z.old(at)) })
		near(n.t, got[c], want, tol, "%s: sum[%d]", n.what, c)
	}
}

func (n *normTest) checkSquares(got, start []float64) {
	n.t.Helper()
	for c := range n.channels {
		want, tol := n.sum(c, start[c], func(at int) (float64, float64) {
			d := n.z.old(at) - n.mean.old(c)
			return d * d, d * d
		})
		near(n.t, got[c], want, tol, "%s: squares[%d]", n.what, c)
	}
}

// gradient is g after its mask.
func (n *normTest) gradient(at int) float64 {
	if n.gated && !(n.y.old(at) > 0) {
		return 0
	}
	return n.g.old(at)
}

func (n *normTest) checkNormSums(sg, sgz, startG, startGZ []float64) {
	n.t.Helper()
	for c := range n.channels {
		want, tol := n.sum(c, startG[c], func(at int) (float64, float64) { return n.gradient(at), math.Abs(n.gradient(at)) })
		near(n.t, sg[c], want, tol, "%s: sg[%d]", n.what, c)
		want, tol = n.sum(c, startGZ[c], func(at int) (float64, float64) {
			v := n.gradient(at) * (n.z.old(at) - n.mean.old(c))
			return v, math.Abs(v)
		})
		near(n.t, sgz[c], want, tol, "%s: sgz[%d]", n.what, c)
	}
	n.checkWritten("g", n.g, n.gated, func(_, at int) (float64, float64) { return n.gradient(at), 0 })
}

// checkScale takes p for the scale and q for the shift.
func (n *normTest) checkScale() {
	n.t.Helper()
	n.checkWritten("y", n.dz, true, func(c, at int) (float64, float64) {
		a, b := n.z.old(at)*n.p.old(c), n.q.old(c)
		u, m := a+b, math.Abs(a)+math.Abs(b)
		if n.withRes {
			u += n.res.old(at)
			m += math.Abs(n.res.old(at))
		}
		if n.relu && u <= 0 {
			u = 0
		}
		return u, 3 * ulp * m
	})
}

func (n *normTest) checkApply() {
	n.t.Helper()
	n.checkWritten("dz", n.dz, true, func(c, at int) (float64, float64) {
		a, b := n.p.old(c)*n.g.old(at), n.q.old(c)*(n.z.old(at)-n.mean.old(c))
		return a + b + n.r.old(c), 5 * ulp * (math.Abs(a) + math.Abs(b) + math.Abs(n.r.old(c)))
	})
}

// checkWritten compares an output, and sees that everything else is as it was.
func (n *normTest) checkWritten(name string, out *array, written bool, want func(c, at int) (v, tol float64)) {
	n.t.Helper()
	for c := range n.channels {
		for e := range n.count {
			at := n.pos(c, e)
			v, tol := want(c, at)
			near(n.t, float64(out.x[at]), v, tol, "%s: %s[%d]", n.what, name, at)
		}
	}
	for _, a := range []*array{n.z, n.y, n.g, n.res, n.dz, n.mean, n.p, n.q, n.r} {
		if a == out && written {
			a.check(n.t, n.what+": "+name, n.inside)
		} else {
			a.check(n.t, n.what+": input", nil)
		}
	}
}

// kernels of one layout, over all channels.
type normKernels struct {
	sums     func(sum []float32)
	squares  func(sum []float32)
	scale    func(y, x []float32)
	normSums func(sg, sgz []float32)
	apply    func(dz, g []float32)
}

// checkInPlace fails unless a kernel that just wrote dz gives the same bits when it writes over its input.
func (n *normTest) checkInPlace(name string, in []float32, kernel func(out, in []float32)) {
	n.t.Helper()
	same := slices.Clone(in)
	kernel(same, same)
	for c := range n.channels {
		for e := range n.count {
			at := n.pos(c, e)
			if math.Float32bits(same[at]) != math.Float32bits(n.dz.x[at]) {
				n.t.Fatalf("%s: %s in place: [%d] is %g; want %g", n.what, name, at, same[at], n.dz.x[at])
			}
		}
	}
}

// run checks all kernels of a layout. Sums begin at random values where the kernels add to them.
func (n *normTest) run(rnd *rand.Rand, adds bool, k normKernels) {
	start := func() (*array, []float64) {
		a, old := newArray(rnd, n.channels, 3), make([]float64, n.channels)
		for c := range old {
			if !adds {
				a.x[c] = 0
			}
			old[c] = float64(a.x[c])
		}
		return a, old
	}
	done := func(a *array) []float64 {
		a.check(n.t, n.what+": sums", everywhere)
		got := make([]float64, n.channels)
		for c, v := range a.x {
			got[c] = float64(v)
		}
		return got
	}
	sum, old := start()
	k.sums(sum.x)
	n.checkSums(done(sum), old)
	sum, old = start()
	k.squares(sum.x)
	n.checkSquares(done(sum), old)
	k.scale(n.dz.x, n.z.x)
	n.checkScale()
	n.checkInPlace("scale", n.z.x, k.scale)
	k.apply(n.dz.x, n.g.x)
	n.checkApply()
	n.checkInPlace("apply", n.g.x, k.apply)
	n.dz.before = n.dz.all.clone()
	sg, oldG := start()
	sgz, oldGZ := start()
	k.normSums(sg.x, sgz.x)
	n.checkNormSums(done(sg), done(sgz), oldG, oldGZ)
}

func TestPlaneKernels(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		rnd := rand.New(rand.NewPCG(7, 7))
		cols := append(sample(84, 128), 42)
		for c := range 34 {
			cols = append(cols, c)
		}
		for _, rows := range sample(0, 1, 2, 3, 4, 5) {
			for _, c := range cols {
				for _, variant := range normVariants() {
					testPlane(t, s, rnd, Area{Base: 2, Rows: rows, Cols: c, RowStride: c + 1 + variant%3}, variant)
				}
			}
		}
	})
}

func testPlane(t *testing.T, s *Set, rnd *rand.Rand, a Area, variant int) {
	t.Helper()
	n := newNormTest(t, rnd, a.Base+(a.Rows+1)*a.RowStride, 1, variant)
	n.what, n.count = fmt.Sprintf("%+v, variant %d", a, variant), a.Rows*a.Cols
	n.pos = func(_, e int) int { return a.Base + e/a.Cols*a.RowStride + e%a.Cols }
	n.inside = func(at int) bool {
		row := (at - a.Base) / a.RowStride
		return at >= a.Base && row < a.Rows && (at-a.Base)%a.RowStride < a.Cols
	}
	norm := &PlaneNorm{Area: a, Z: n.z.x, Y: n.yOrNil(), G: n.g.x, Mean: n.mean.x[0]}
	n.run(rnd, false, normKernels{
		sums:     func(sum []float32) { sum[0] = s.PlaneSum(n.z.x, a) },
		squares:  func(sum []float32) { sum[0] = s.PlaneSquares(n.z.x, a, n.mean.x[0]) },
		scale:    func(y, x []float32) { s.PlaneScale(y, x, n.resOrNil(), a, n.p.x[0], n.q.x[0], n.relu) },
		normSums: func(sg, sgz []float32) { sg[0], sgz[0] = s.PlaneNormSums(norm) },
		apply: func(dz, g []float32) {
			s.PlaneNormApply(dz, &PlaneNorm{Area: a, Z: n.z.x, G: g, Mean: n.mean.x[0]}, n.p.x[0], n.q.x[0], n.r.x[0])
		},
	})
}

func TestChannelLastKernels(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		rnd := rand.New(rand.NewPCG(8, 8))
		for _, positions := range sample(0, 1, 2, 7) {
			for _, c := range []int{0, 1, 7, 8, 9, 15, 16, 17, 24, 32, 40, 48, 63, 64, 79, 80, 81, 96, 112, 121, 160, 165} {
				for _, variant := range normVariants() {
					testChannelLastNorm(t, s, rnd, positions, c, c+variant%4, variant)
				}
			}
		}
	})
}

func testChannelLastNorm(t *testing.T, s *Set, rnd *rand.Rand, positions, channels, stride, variant int) {
	t.Helper()
	n := newNormTest(t, rnd, positions*stride, channels, variant)
	n.what = fmt.Sprintf("%d positions of %d, variant %d", positions, channels, variant)
	n.count = positions
	n.pos = func(c, e int) int { return e*stride + c }
	n.inside = func(at int) bool { return at%stride < channels }
	norm := &ChannelLastNorm{Z: n.z.x, Y: n.yOrNil(), G: n.g.x, Mean: n.mean.x, N: positions, C: channels, Stride: stride}
	n.run(rnd, true, normKernels{
		sums:    func(sum []float32) { s.ChannelLastSums(sum, n.z.x, positions, stride) },
		squares: func(sum []float32) { s.ChannelLastSquares(sum, n.z.x, n.mean.x, positions, stride) },
		scale: func(y, x []float32) {
			s.ChannelLastScale(y, x, n.resOrNil(), n.p.x, n.q.x, positions, stride, n.relu)
		},
		normSums: func(sg, sgz []float32) { s.ChannelLastNormSums(sg, sgz, norm) },
		apply: func(dz, g []float32) {
			a := *norm
			a.G = g
			s.ChannelLastNormApply(dz, &a, n.p.x, n.q.x, n.r.x)
		},
	})
}

// A sum depends on the shape of its area, not on where the array lies in memory.
func TestSumsIgnoreAlignment(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		var first [5]float64
		for shift := range 17 {
			rnd := rand.New(rand.NewPCG(9, 9))
			x, y := newArray(rnd, 500, shift), newArray(rnd, 500, (3*shift)%17)
			area := Area{Rows: 7, Cols: 42, RowStride: 43}
			var got [5]float64
			got[0] = float64(s.PlaneSum(x.x, area))
			got[1] = float64(s.PlaneSquares(x.x, area, 0.5))
			sg, sgz := s.PlaneNormSums(&PlaneNorm{Area: area, Z: x.x, G: y.x, Mean: 0.5})
			got[2], got[3] = float64(sg), float64(sgz)
			got[4] = s.Dot(x.x, y.x)
			if shift == 0 {
				first = got
			}
			if got != first {
				t.Fatalf("shifted by %d floats the sums are %v; want %v", shift, got, first)
			}
		}
	})
}
