package shift

import (
	"math"
	"slices"
	"testing"

	"ocl/rng"
)

// grey is the value of the images of greyTask, about the middle, where clipping is rare.
const grey = 128

func greyTask(shape [3]int, n int) Task {
	t := made(shape, n)
	t.At = func(_ int, buf []uint8) ([]uint8, error) {
		for p := range buf {
			buf[p] = grey
		}
		return buf, nil
	}
	return t
}

// below is the probability that N(0,1) is below z.
func below(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// near reports an error unless got is within five standard errors of want.
func near(t *testing.T, what string, got, want, stderr float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 5*stderr) {
		t.Errorf("%s is %v, want %v ± %v", what, got, want, 5*stderr)
	}
}

// TestNormalIsNormal tests moments, the whole distribution (Kolmogorov and Smirnov; by chance beyond the bound with a
// probability below 1e-6) and the tails, which other code draws.
func TestNormalIsNormal(t *testing.T) {
	const n = 1_000_000
	src := rng.New(5, "shift/test")
	z := make([]float64, n)
	var m [5]float64
	for i := range z {
		z[i] = normal(src)
		for k, p := 1, z[i]; k < 5; k, p = k+1, p*z[i] {
			m[k] += p / n
		}
	}
	near(t, "the mean", m[1], 0, math.Sqrt(1.0/n))
	near(t, "the second moment", m[2], 1, math.Sqrt(2.0/n))
	near(t, "the third moment", m[3], 0, math.Sqrt(15.0/n))
	near(t, "the fourth moment", m[4], 3, math.Sqrt(96.0/n))
	slices.Sort(z)
	most := 0.0
	for i, v := range z {
		most = max(most, math.Abs(below(v)-(float64(i)+0.5)/n))
	}
	if d := most * math.Sqrt(n); !(d <= 2.7) {
		t.Errorf("the largest distance from the distribution is %v/√n, want at most 2.7", d)
	}
	for _, bound := range []float64{1, 2, 3, tailAt, 4, 4.5} {
		p := below(-bound)
		lower, _ := slices.BinarySearch(z, -bound)
		upper, _ := slices.BinarySearch(z, bound)
		near(t, "the lower tail", float64(lower), n*p, math.Sqrt(n*p))
		near(t, "the upper tail", float64(n-upper), n*p, math.Sqrt(n*p))
	}
}

// TestTailIsThatOfTheNormal tests the draws beyond the lowest layer, which are too rare in normal to be tested there.
func TestTailIsThatOfTheNormal(t *testing.T) {
	const n = 200_000
	src := rng.New(5, "shift/test")
	var sum float64
	counts := map[float64]int{3.7: 0, 4: 0, 4.5: 0, 5: 0}
	for range n {
		z := tail(src)
		sum += z / n
		for bound := range counts {
			if z > bound {
				counts[bound]++
			}
		}
	}
	near(t, "the mean", sum, math.Exp(-tailAt*tailAt/2)/math.Sqrt(2*math.Pi)/below(-tailAt), 0.25/math.Sqrt(n))
	for bound, count := range counts {
		p := below(-bound) / below(-tailAt)
		near(t, "the number beyond a bound", float64(count), n*p, math.Sqrt(n*p))
	}
}

// TestLogarithmAndExponential compares with package math over the ranges in use.
func TestLogarithmAndExponential(t *testing.T) {
	for i := range 100_000 {
		s := math.Exp2(-float64(i) / 1700)
		if want := math.Log(s); !(math.Abs(ln(s)-want) <= 1e-11*math.Abs(want)) {
			t.Fatalf("ln(%v) is %v, want %v", s, ln(s), want)
		}
		x := float64(i) / 2500
		if want := math.Exp(-x); !(math.Abs(expNeg(x)-want) <= 1e-12*want) {
			t.Fatalf("expNeg(%v) is %v, want %v", x, expNeg(x), want)
		}
	}
}

// TestNoiseIsIndependent wants the deviation of the strength, and no correlation between channels, neighbouring pixels,
// neighbouring images, halves or seeds.
func TestNoiseIsIndependent(t *testing.T) {
	const n, side = 40, 84
	task := greyTask([3]int{3, side, side}, n)
	deviations := func(o Options) (d []float64) {
		for _, image := range exact(t, task, []Step{{"noise", 0.4}}, o) {
			for _, v := range image {
				d = append(d, (float64(v)-grey/255.0)/0.04)
			}
		}
		return d
	}
	d := deviations(Options{})
	product := func(what string, a, b []float64, want, stderr float64) {
		a = a[:min(len(a), len(b))]
		sum := 0.0
		for i := range a {
			sum += a[i] * b[i]
		}
		near(t, what, sum/float64(len(a)), want, stderr/math.Sqrt(float64(len(a))))
	}
	product("the variance", d, d, 1, math.Sqrt2)
	product("the correlation with the next pixel", d, d[1:], 0, 1)
	product("with the pixel below", d, d[side:], 0, 1)
	product("with the next channel", d, d[side*side:], 0, 1)
	product("with the channel after it", d, d[2*side*side:], 0, 1)
	product("with the next image", d, d[3*side*side:], 0, 1)
	product("with the other half", d, deviations(Options{Half: Test}), 0, 1)
	product("with another seed", d, deviations(Options{Seed: 1}), 0, 1)
	product("with another task", d, deviations(Options{Task: 1}), 1, math.Sqrt2) // the index names the source
}

// TestNoiseIsClipped compares the number of each byte with the normal distribution at the survey's largest strength,
// with all beyond the ends in the last bytes.
func TestNoiseIsClipped(t *testing.T) {
	task := greyTask([3]int{3, 84, 84}, 20)
	m := apply(t, task, []Step{{"noise", 3.6}}, Options{})
	var found [256]int
	for i := range task.N {
		for _, v := range m[i] {
			found[v]++
		}
	}
	total := float64(task.N * task.size())
	edge := func(v float64) float64 { return below((v - grey) / (0.36 * 255)) }
	for v, count := range found {
		p := edge(float64(v)+0.5) - edge(float64(v)-0.5)
		switch v {
		case 0:
			p = edge(0.5)
		case 255:
			p = 1 - edge(254.5)
		}
		near(t, "the number of a byte", float64(count), total*p, math.Sqrt(total*p))
	}
	task.At = func(i int, buf []uint8) ([]uint8, error) {
		for p := range buf {
			buf[p] = uint8(p % 2 * 255)
		}
		return buf, nil
	}
	for _, f := range []float64{3.6, 100} {
		for _, v := range exact(t, task, []Step{{"noise", f}}, Options{})[0] {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("strength %v: a value is %v", f, v)
			}
		}
	}
}
