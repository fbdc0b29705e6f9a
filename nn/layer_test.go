package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"ocl/internal/kernel"
)

// testMap is an activation in float64 beside its engine buffer.
type testMap struct {
	g geom
	v []float64 // [n][c][h][w]
	b []float32
}

func (m testMap) index(img, c, y, x int) int { return ((img*m.g.c+c)*m.g.h+y)*m.g.w + x }

func (m testMap) slot(img, c, y, x int) int {
	if m.g.rows {
		return m.g.pos(img, y, x) + c
	}
	return m.g.at(c, img, y) + x
}

func (m testMap) each(f func(img, c, y, x int)) {
	for img := range m.g.n {
		for c := range m.g.c {
			for y := range m.g.h {
				for x := range m.g.w {
					f(img, c, y, x)
				}
			}
		}
	}
}

func randomMap(g geom, r *rand.Rand) testMap {
	m := testMap{g, make([]float64, g.n*g.c*g.h*g.w), make([]float32, g.size())}
	m.each(func(img, c, y, x int) {
		v := float32(r.NormFloat64())
		m.b[m.slot(img, c, y, x)], m.v[m.index(img, c, y, x)] = v, float64(v)
	})
	return m
}

// worst is the largest difference between a buffer and reference values, relative to the largest reference value.
func (m testMap) worst(buf []float32, ref []float64) float64 {
	var diff, scale float64
	m.each(func(img, c, y, x int) {
		want := ref[m.index(img, c, y, x)]
		d := math.Abs(float64(buf[m.slot(img, c, y, x)]) - want)
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		diff, scale = max(diff, d), max(scale, math.Abs(want))
	})
	return diff / scale
}

// rms is the root of the mean squared difference, relative to that of the reference values.
func rms(n int, at func(i int) (got, want float64)) float64 {
	var diff, scale float64
	for i := range n {
		got, want := at(i)
		d := got - want
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		diff += d * d
		scale += want * want
	}
	return math.Sqrt(diff / scale)
}

// rms compares a buffer with reference values.
func (m testMap) rms(buf []float32, ref []float64) float64 {
	var got []float64
	m.each(func(img, c, y, x int) { got = append(got, float64(buf[m.slot(img, c, y, x)])) })
	return rms(len(ref), func(i int) (float64, float64) { return got[i], ref[i] })
}

// winogradError is the most that a result of Winograd's algorithm may be off, relative r.m.s.
const winogradError = 1.5e-6

// TestWinogradConvolutions compares Winograd's algorithm with the definition in float64 over odd sizes, maps that tiles and
// units do not divide, numbers of channels that blocks do not divide, and batches.
func TestWinogradConvolutions(t *testing.T) {
	type shape struct{ in, out, h, w, n int }
	planes := []shape{{20, 20, 32, 32, 3}, {20, 20, 42, 42, 2}, {8, 20, 9, 84, 2}, {13, 9, 21, 18, 5}, {40, 40, 16, 16, 10}, {9, 11, 4, 16, 21}}
	rows := []shape{{80, 80, 8, 8, 3}, {160, 48, 4, 4, 10}, {33, 41, 11, 11, 2}, {17, 100, 5, 6, 21}, {9, 8, 21, 42, 1}, {80, 80, 16, 16, 10}}
	for _, s := range kernel.Available() {
		for _, inRows := range []bool{false, true} {
			list := planes
			if inRows {
				list = rows
			}
			for i, sh := range list {
				if i == len(list)-1 && (testing.Short() || s.Name == "generic") {
					continue // large
				}
				t.Run(fmt.Sprintf("%s/rows=%v/%v", s.Name, inRows, sh), func(t *testing.T) {
					checkConvolution(t, s, winograd, inRows, window{9, 1}, sh.in, sh.out, sh.h, sh.w, sh.n)
				})
			}
		}
	}
}

// winogradRounding is how much larger the rounding error of Winograd's algorithm may be than that of the direct kernels.
const winogradRounding = 4.5

// TestWinogradRounding measures the errors of both algorithms against float64 for the survey's layers: Winograd's are 1.8 to
// 2 times those of the direct kernels in the output and the gradient of the input, 2 to 4 times in that of the weights,
// whose direct sums are short.
func TestWinogradRounding(t *testing.T) {
	for _, s := range kernel.Available() {
		for _, sh := range []geom{planesGeom(20, 32, 32, 2), planesGeom(40, 16, 16, 2), rowsGeom(80, 8, 8, 2), rowsGeom(160, 4, 4, 2)} {
			r := rand.New(rand.NewPCG(1, 2))
			x, dz := randomMap(sh, r), randomMap(sh, r)
			weights := make([]float32, sh.c*9*sh.c)
			for i := range weights {
				weights[i] = float32(r.NormFloat64())
			}
			z, dx, dw := convolveExactly(window{9, 1}, x, dz, weights)
			var errors [2][3]float64
			for i, algorithm := range []string{direct, winograd} {
				p := newPool(1)
				u := newConv(s, algorithm, sh, sh, window{9, 1}, 1, false, &packed{}, scratch{})
				u.packForward(weights)
				u.packBackward(weights)
				out, got := make([]float32, sh.size()), make([]float32, len(weights))
				u.forward(p, out, x.b, sh.n, kernel.Finish{})
				errors[i][0] = dz.rms(out, z)
				u.input(p, out, dz.b, sh.n, nil)
				errors[i][1] = x.rms(out, dx)
				u.weights(p, got, dz.b, x.b, 0, sh.n)
				errors[i][2] = rms(len(dw), func(i int) (float64, float64) { return float64(got[i]), dw[i] })
			}
			t.Logf("%s, %d channels: direct %.2g, winograd %.2g", s.Name, sh.c, errors[0], errors[1])
			for i, e := range errors[1] {
				if !(e <= winogradRounding*errors[0][i] && e <= winogradError) {
					t.Errorf("%s, %d channels, result %d: error %g, direct %g", s.Name, sh.c, i, e, errors[0][i])
				}
			}
		}
	}
}

// convolveExactly is the definition of a convolution of x and its gradients for the output's gradient dz, in float64.
func convolveExactly(win window, x, dz testMap, weights []float32) (z, dx, dw []float64) {
	z, dx, dw = make([]float64, len(dz.v)), make([]float64, len(x.v)), make([]float64, len(weights))
	ins, outs := x.g.c, dz.g.c
	dz.each(func(img, o, y, xx int) {
		for tap := range win.taps {
			dy, dxs := win.shift(tap)
			iy, ix := y*win.stride+dy, xx*win.stride+dxs
			if iy < 0 || iy >= x.g.h || ix < 0 || ix >= x.g.w {
				continue
			}
			for c := range ins {
				wi, xi, zi := (c*win.taps+tap)*outs+o, x.index(img, c, iy, ix), dz.index(img, o, y, xx)
				z[zi] += x.v[xi] * float64(weights[wi])
				dx[xi] += dz.v[zi] * float64(weights[wi])
				dw[wi] += dz.v[zi] * x.v[xi]
			}
		}
	})
	return z, dx, dw
}

// sumTolerance bounds the relative error of a float32 sum of n products whose terms do not cancel to less than their
// largest sum.
func sumTolerance(n int) float64 { return float64(n) * 0x1p-24 }

// TestConvolutions compares the convolution and its gradients, in both layouts, with the definition in float64.
func TestConvolutions(t *testing.T) {
	type shape struct{ in, out, h, w, n int }
	shapes := []shape{{3, 20, 32, 32, 2}, {20, 20, 16, 16, 3}, {4, 7, 14, 19, 2}, {5, 5, 33, 48, 1}, {17, 11, 21, 42, 2}}
	small := []shape{{20, 20, 4, 4, 3}, {16, 33, 5, 7, 2}, {7, 100, 1, 1, 4}, {40, 80, 8, 8, 1}}
	for _, s := range kernel.Available() {
		for _, rows := range []bool{false, true} {
			list := shapes
			if rows {
				list = append(small, shapes[2])
			}
			for _, sh := range list {
				for _, w := range []window{{9, 1}, {9, 2}, {1, 1}, {1, 2}} {
					if !rows && w.stride == 1 && w.taps == 1 || !rows && w.out(sh.w) < planesWidth {
						continue // does not occur
					}
					t.Run(fmt.Sprintf("%s/rows=%v/%v/taps=%d/stride=%d", s.Name, rows, sh, w.taps, w.stride), func(t *testing.T) {
						checkConvolution(t, s, direct, rows, w, sh.in, sh.out, sh.h, sh.w, sh.n)
					})
				}
			}
		}
	}
}

func checkConvolution(t *testing.T, s *kernel.Set, algorithm string, rows bool, win window, ins, outs, h, w, n int) {
	r := rand.New(rand.NewPCG(1, 2))
	shape := planesGeom
	if rows {
		shape = rowsGeom
	}
	p := newPool(2)
	defer p.close()
	in, out := shape(ins, h, w, n), shape(outs, win.out(h), win.out(w), n)
	x, dz := randomMap(in, r), randomMap(out, r)
	weights := make([]float32, ins*win.taps*outs)
	for i := range weights {
		weights[i] = float32(r.NormFloat64())
	}
	z, dx, dw := convolveExactly(win, x, dz, weights)

	u := newConv(s, algorithm, in, out, win, 2, false, &packed{}, scratch{})
	if algorithm == winograd {
		_, inRows := u.(*winogradRows)
		if _, inPlanes := u.(*winogradPlanes); !inRows && !inPlanes {
			t.Fatalf("%T; want Winograd's algorithm", u)
		}
	}
	check := func(what string, m testMap, buf []float32, ref []float64, terms int) {
		t.Helper()
		if algorithm == winograd {
			if e := m.rms(buf, ref); !(e <= winogradError) {
				t.Errorf("%s: relative error %g r.m.s.", what, e)
			}
			return
		}
		if e := m.worst(buf, ref); !(e <= sumTolerance(terms)) {
			t.Errorf("%s: relative error %g", what, e)
		}
	}
	u.packForward(weights)
	u.packBackward(weights)
	xb, toX := x.b, func(b []float32) []float32 { return b }
	dxb := make([]float32, in.size())
	if !rows && win.stride == 2 {
		f := &phases{s: s, g: in, split: phaseGeom(in)}
		xb, dxb = make([]float32, f.split.size()), make([]float32, f.split.size())
		f.run(p, xb, x.b, n, false)
		toX = func(b []float32) []float32 {
			whole := make([]float32, in.size())
			f.run(p, whole, b, n, true)
			return whole
		}
	}
	zb := make([]float32, out.size())
	u.forward(p, zb, xb, n, kernel.Finish{})
	check("forward", dz, zb, z, ins*win.taps)
	u.input(p, dxb, dz.b, n, nil)
	check("gradient of the input", x, toX(dxb), dx, outs*win.taps)
	sum := make([]float32, len(dxb))
	u.input(p, sum, dz.b, n, dxb)
	for i := range dx {
		dx[i] *= 2
	}
	check("gradient of the input, added", x, toX(sum), dx, 2*outs*win.taps)
	got := make([]float32, len(weights))
	u.weights(p, got, dz.b, xb, 0, n)
	if algorithm == winograd {
		if e := rms(len(dw), func(i int) (float64, float64) { return float64(got[i]), dw[i] }); !(e <= winogradError) {
			t.Errorf("gradient of the weights: relative error %g r.m.s.", e)
		}
		return
	}
	var diff, scale float64
	for i, v := range dw {
		d := math.Abs(float64(got[i]) - v)
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		diff, scale = max(diff, d), max(scale, math.Abs(v))
	}
	if tol := sumTolerance(n * out.pixels()); !(diff <= tol*scale) {
		t.Errorf("gradient of the weights: relative error %g, want at most %g", diff/scale, tol)
	}
}

// TestNorm compares batch norm's gradients with central differences of its forward pass, without the ReLU and its kink.
func TestNorm(t *testing.T) {
	for _, s := range kernel.Available() {
		for _, g := range []geom{planesGeom(3, 14, 17, 2), rowsGeom(19, 3, 5, 2)} {
			for _, mode := range []Mode{Probe, Eval} {
				t.Run(fmt.Sprintf("%s/rows=%v/mode=%d", s.Name, g.rows, mode), func(t *testing.T) { checkNorm(t, s, g, mode) })
			}
		}
	}
}

func checkNorm(t *testing.T, s *kernel.Set, g geom, mode Mode) {
	r := rand.New(rand.NewPCG(3, 4))
	c := g.c
	net := &Network{set: s, params: make([]float32, 2*c), running: make([]float32, 2*c)}
	for i := range c {
		net.params[i], net.params[c+i] = 1+0.3*float32(r.NormFloat64()), 0.3*float32(r.NormFloat64())
		net.running[i], net.running[c+i] = 0.1*float32(r.NormFloat64()), 0.5+r.Float32()
	}
	p := newPool(1)
	bn := newNorm(s, g, false, normRef{gamma: 0, beta: c, mean: 0, variance: c})
	z, coef := randomMap(g, r), randomMap(g, r)
	y, dz, dst := make([]float32, g.size()), make([]float32, g.size()), make([]float32, 2*c)
	loss := func() (sum float64) {
		bn.forward(p, net, mode, y, z.b, nil, g.n)
		z.each(func(img, ch, yy, x int) { sum += coef.v[z.index(img, ch, yy, x)] * float64(y[z.slot(img, ch, yy, x)]) })
		return sum
	}
	loss()
	grad := append([]float32(nil), coef.b...)
	bn.backward(p, dst, dz, grad, nil, z.b, g.n)
	check := func(what string, v *float32, got float32) {
		t.Helper()
		const h = 1.0 / 64
		old := *v
		*v = old + h
		up := loss()
		*v = old - h
		down := loss()
		*v = old
		num := (up - down) / (2 * h)
		// h² of the third derivative and float32's rounding of some dozens of terms
		if tol := 2e-3 * (1 + math.Abs(num)); !(math.Abs(num-float64(got)) <= tol) {
			t.Errorf("%s: gradient %g, central difference %g", what, got, num)
		}
	}
	for i := range 2 * c {
		check(fmt.Sprint("parameter ", i), &net.params[i], dst[i])
	}
	for i := range 20 {
		at := z.slot(i%g.n, i%c, i%g.h, (3*i)%g.w)
		check(fmt.Sprint("input ", at), &z.b[at], dz[at])
	}
}
