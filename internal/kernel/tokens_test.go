package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

var inf = float32(math.Inf(1))

// wide is values of several sizes, some of them large.
func wide(r *rand.Rand, n, shift int) *array {
	a := newArray(r, n, shift)
	for i := range a.x {
		a.x[i] *= []float32{0.01, 1, 4, 15}[r.IntN(4)]
	}
	a.before = a.all.clone()
	return a
}

// TestGELU compares both with float64, within the bounds that their comments state.
func TestGELU(t *testing.T) {
	for name, c := range map[string]struct {
		run         func(s *Set, x []float32)
		want, units func(x float64) float64
	}{
		"erf": {(*Set).GELU, func(x float64) float64 { return x * 0.5 * math.Erfc(-x/math.Sqrt2) },
			func(x float64) float64 { return 8 + x*x }},
		"quick": {(*Set).QuickGELU, func(x float64) float64 { return x / (1 + math.Exp(-1.702*x)) },
			func(x float64) float64 { return 8 + 2*math.Abs(x) }},
	} {
		t.Run(name, func(t *testing.T) {
			forSets(t, func(t *testing.T, s *Set) {
				r := rand.New(rand.NewPCG(11, 11))
				for _, n := range lengths() {
					x := wide(r, n, 1)
					if n > 3 {
						copy(x.x, []float32{0, -10, 60})
						x.before = x.all.clone()
					}
					c.run(s, x.x)
					for i, v := range x.x {
						want := c.want(x.old(i))
						near(t, float64(v), want, ulp*c.units(x.old(i))*math.Abs(want)+1e-35, "n %d: of %g", n, x.old(i))
					}
					x.check(t, "x", everywhere)
				}
				bad := []float32{1, float32(math.NaN()), 2}
				if c.run(s, bad); bad[1] == bad[1] || bad[0] != bad[0] || bad[2] != bad[2] {
					t.Errorf("a NaN between two numbers gives %v", bad)
				}
				whole, parts := wide(rand.New(rand.NewPCG(8, 8)), 101, 0).x, wide(rand.New(rand.NewPCG(8, 8)), 101, 5).x
				c.run(s, whole)
				for lo, size := 0, 1; lo < 101; lo, size = lo+size, size+3 {
					c.run(s, parts[lo:min(101, lo+size)])
				}
				for i := range whole {
					if whole[i] != parts[i] {
						t.Fatalf("value %d is %g in one piece and %g in several", i, whole[i], parts[i])
					}
				}
			})
		})
	}
}

// TestSoftmax compares with float64, within the bound that the comment states; all numbers may be far below 0.
func TestSoftmax(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(12, 12))
		for _, n := range lengths() {
			for _, shift := range []float32{0, -1000, 300} {
				x := wide(r, n, 3)
				for i := range x.x {
					x.x[i] += shift
				}
				x.before = x.all.clone()
				s.Softmax(x.x)
				most, sum := math.Inf(-1), 0.
				for i := range x.x {
					most = max(most, x.old(i))
				}
				for i := range x.x {
					sum += math.Exp(max(-87, x.old(i)-most))
				}
				for i, v := range x.x {
					below := max(-87, x.old(i)-most)
					want := math.Exp(below) / sum
					near(t, float64(v), want, ulp*(8+float64(n)/16-below)*want, "n %d, shift %g: value %d", n, shift, i)
				}
				x.check(t, "x", everywhere)
			}
		}
		for _, bad := range []float32{float32(math.NaN()), inf} {
			x := []float32{1, 2, bad, 3}
			s.Softmax(x)
			for _, v := range x {
				if v == v {
					t.Errorf("with %g among the numbers the softmax is %v; want NaN", bad, x)
				}
			}
		}
	})
}

// TestLayerNorm compares with float64, within the bound that the comment states.
func TestLayerNorm(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(13, 13))
		for _, n := range append(lengths(), 384, 768, 1024) {
			for _, eps := range []float64{1e-6, 1e-5, 0.1} {
				y, x, gamma, beta := newArray(r, n, 1), newArray(r, n, 2), newArray(r, n, 3), newArray(r, n, 4)
				for i := range x.x {
					x.x[i] = 7*x.x[i] + 5
				}
				x.before = x.all.clone()
				s.LayerNorm(y.x, x.x, gamma.x, beta.x, eps)
				mean, variance, largest := 0., 0., 0.
				for i := range x.x {
					mean += x.old(i) / float64(n)
				}
				for i := range x.x {
					variance += (x.old(i) - mean) * (x.old(i) - mean) / float64(n)
				}
				want := make([]float64, n)
				for i := range want {
					v := (x.old(i) - mean) / math.Sqrt(variance+eps) * gamma.old(i)
					want[i] = v + beta.old(i)
					largest = max(largest, math.Abs(v)+math.Abs(beta.old(i)))
				}
				for i, v := range y.x {
					if n > 2 { // the mean of one or two numbers may be far larger than what they differ by
						near(t, float64(v), want[i], 1e-6*largest, "n %d: value %d", n, i)
					}
				}
				y.check(t, "y", everywhere)
				x.check(t, "x", nil)
				gamma.check(t, "gamma", nil)
				beta.check(t, "beta", nil)
				s.LayerNorm(x.x, x.x, gamma.x, beta.x, eps)
				for i, v := range x.x {
					if v != y.x[i] {
						t.Fatalf("n %d: value %d in place is %g, and %g elsewhere", n, i, v, y.x[i])
					}
				}
			}
		}
	})
}
