package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"ocl/internal/kernel"
	"ocl/nn/internal/workers"
)

// testMap is an activation in float64 beside its engine buffer.
type testMap struct {
	g Layout
	v []float64 // [n][c][h][w]
	b []float32
}

func (m testMap) index(img, c, y, x int) int { return ((img*m.g.C+c)*m.g.H+y)*m.g.W + x }

func (m testMap) slot(img, c, y, x int) int {
	if m.g.ChannelLast {
		return m.g.PixelAt(img, y, x) + c
	}
	return m.g.RowAt(c, img, y) + x
}

func (m testMap) each(f func(img, c, y, x int)) {
	for img := range m.g.N {
		for c := range m.g.C {
			for y := range m.g.H {
				for x := range m.g.W {
					f(img, c, y, x)
				}
			}
		}
	}
}

func randomMap(g Layout, r *rand.Rand) testMap {
	m := testMap{g, make([]float64, g.N*g.C*g.H*g.W), make([]float32, g.Size())}
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

// TestWinogradConvolutions compares Winograd's algorithm with the definition in float64 over odd sizes, maps that tiles
// and units do not divide, numbers of channels that blocks do not divide, and batches.
func TestWinogradConvolutions(t *testing.T) {
	type shape struct{ in, out, h, w, n int }
	planes := []shape{{20, 20, 32, 32, 3}, {20, 20, 42, 42, 2}, {8, 20, 9, 84, 2}, {13, 9, 21, 18, 5},
		{40, 40, 16, 16, 10}, {9, 11, 4, 16, 21}}
	channelLast := []shape{{80, 80, 8, 8, 3}, {160, 48, 4, 4, 10}, {33, 41, 11, 11, 2}, {17, 100, 5, 6, 21},
		{9, 8, 21, 42, 1}, {80, 80, 16, 16, 10}}
	for _, s := range kernel.Available() {
		for _, inChannelLast := range []bool{false, true} {
			list := planes
			if inChannelLast {
				list = channelLast
			}
			for i, sh := range list {
				if i == len(list)-1 && (os.Getenv("OCL_LONG") == "" || s.Name == "generic") {
					continue // large
				}
				t.Run(fmt.Sprintf("%s/channelLast=%v/%v", s.Name, inChannelLast, sh), func(t *testing.T) {
					checkConvolution(t, s, Winograd, inChannelLast, Window{9, 1}, sh.in, sh.out, sh.h, sh.w, sh.n)
				})
			}
		}
	}
}

// TestWinogradRounding measures the errors of both algorithms against float64 for the survey's layers: Winograd's are
// 1.8 to 2 times those of the direct kernels in the output and the gradient of the input, 2 to 4 times in that of the
// weights, whose direct sums are short.
func TestWinogradRounding(t *testing.T) {
	for _, s := range kernel.Available() {
		for _, sh := range []Layout{PlanesLayout(20, 32, 32, 2), PlanesLayout(40, 16, 16, 2), ChannelLastLayout(80, 8, 8, 2),
			ChannelLastLayout(160, 4, 4, 2)} {
			r := rand.New(rand.NewPCG(1, 2))
			x, dz := randomMap(sh, r), randomMap(sh, r)
			weights := make([]float32, sh.C*9*sh.C)
			for i := range weights {
				weights[i] = float32(r.NormFloat64())
			}
			z, dx, dw := convolveExactly(Window{9, 1}, x, dz, weights)
			var errors [2][3]float64
			for i, algorithm := range []string{Direct, Winograd} {
				team := workers.New(1)
				u := (&Maker{Set: s, Algorithm: algorithm, Workers: 1}).Make(sh, sh, Window{9, 1}, &Packed{})
				u.PackForward(weights)
				u.PackBackward(weights)
				out, got := make([]float32, sh.Size()), make([]float32, len(weights))
				u.Forward(team, out, x.b, sh.N, kernel.Finish{})
				errors[i][0] = dz.rms(out, z)
				u.InputGradient(team, out, dz.b, sh.N, nil)
				errors[i][1] = x.rms(out, dx)
				u.WeightGradient(team, got, dz.b, x.b, 0, sh.N)
				errors[i][2] = rms(len(dw), func(i int) (float64, float64) { return float64(got[i]), dw[i] })
			}
			t.Logf("%s, %d channels: direct %.2g, winograd %.2g", s.Name, sh.C, errors[0], errors[1])
			for i, e := range errors[1] {
				if !(e <= WinogradRounding*errors[0][i] && e <= winogradError) {
					t.Errorf("%s, %d channels, result %d: error %g, direct %g", s.Name, sh.C, i, e, errors[0][i])
				}
			}
		}
	}
}

// convolveExactly is the definition of a convolution of x and its gradients for the output's gradient dz, in float64.
func convolveExactly(win Window, x, dz testMap, weights []float32) (z, dx, dw []float64) {
	z, dx, dw = make([]float64, len(dz.v)), make([]float64, len(x.v)), make([]float64, len(weights))
	ins, outs := x.g.C, dz.g.C
	dz.each(func(img, o, y, xx int) {
		for tap := range win.Taps {
			dy, dxs := win.shift(tap)
			iy, ix := y*win.Stride+dy, xx*win.Stride+dxs
			if iy < 0 || iy >= x.g.H || ix < 0 || ix >= x.g.W {
				continue
			}
			for c := range ins {
				wi, xi, zi := (c*win.Taps+tap)*outs+o, x.index(img, c, iy, ix), dz.index(img, o, y, xx)
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
	shapes := []shape{{3, 20, 32, 32, 2}, {20, 20, 16, 16, 3}, {4, 7, 14, 19, 2}, {5, 5, 33, 48, 1}, {17, 11, 21, 42, 2},
		{20, 20, 3, 288, 2}}
	small := []shape{{20, 20, 4, 4, 3}, {16, 33, 5, 7, 2}, {7, 100, 1, 1, 4}, {40, 80, 8, 8, 1}}
	for _, s := range kernel.Available() {
		for _, channelLast := range []bool{false, true} {
			list := shapes
			if channelLast {
				list = append(small, shapes[2])
			}
			for _, sh := range list {
				for _, w := range []Window{{9, 1}, {9, 2}, {1, 1}, {1, 2}} {
					if !channelLast && w.Stride == 1 && w.Taps == 1 || !channelLast && w.Out(sh.w) < PlanesWidth {
						continue // does not occur
					}
					t.Run(fmt.Sprintf("%s/channelLast=%v/%v/taps=%d/stride=%d", s.Name, channelLast, sh, w.Taps, w.Stride),
						func(t *testing.T) {
							checkConvolution(t, s, Direct, channelLast, w, sh.in, sh.out, sh.h, sh.w, sh.n)
						})
				}
			}
		}
	}
}

// TestCornerConvolutions compares convolutions of 2×2 taps, whose maps grow by a pixel, with the definition in float64.
func TestCornerConvolutions(t *testing.T) {
	type shape struct{ in, out, h, w, n int }
	for _, s := range kernel.Available() {
		for _, sh := range []shape{{64, 128, 8, 8, 3}, {5, 12, 4, 7, 2}, {33, 36, 6, 5, 4}, {9, 64, 1, 3, 7},
			{32, 12, 16, 16, 2}, {20, 12, 6, 10, 3}} {
			in := ChannelLastLayout(sh.in, sh.h, sh.w, sh.n)
			out := ChannelLastLayout(sh.out, sh.h+1, sh.w+1, sh.n)
			t.Run(fmt.Sprintf("%s/%v", s.Name, sh), func(t *testing.T) {
				checkLayouts(t, s, Direct, Window{4, 1}, in, out,
					false)
			})
		}
	}
}

// TestNarrowConvolutions compares convolutions to few outputs, of which vectors run along the inputs, with the
// definition in float64.
func TestNarrowConvolutions(t *testing.T) {
	type shape struct{ in, out, h, w, n int }
	for _, s := range kernel.Available() {
		for _, sh := range []shape{{36, 4, 8, 6, 3}, {100, 3, 5, 7, 2}, {33, 2, 1, 1, 7}, {64, 4, 4, 4, 4},
			{90, 1, 3, 4, 2}} {
			for _, w := range []Window{{9, 1}, {9, 2}, {1, 1}, {1, 2}} {
				in, out := ChannelLastLayout(sh.in, sh.h, sh.w, sh.n), ChannelLastLayout(sh.out, w.Out(sh.h), w.Out(sh.w), sh.n)
				t.Run(fmt.Sprintf("%s/%v/taps=%d/stride=%d", s.Name, sh, w.Taps, w.Stride), func(t *testing.T) {
					checkLayouts(t, s, Direct, w, in, out, true)
				})
			}
		}
	}
}

func checkConvolution(t *testing.T, s *kernel.Set, algorithm string, channelLast bool, win Window, ins, outs, h, w,
	n int) {
	shape := PlanesLayout
	if channelLast {
		shape = ChannelLastLayout
	}
	checkLayouts(t, s, algorithm, win, shape(ins, h, w, n), shape(outs, win.Out(h), win.Out(w), n), false)
}

func checkLayouts(t *testing.T, s *kernel.Set, algorithm string, win Window, in, out Layout, narrow bool) {
	r := rand.New(rand.NewPCG(1, 2))
	ins, outs, n, channelLast := in.C, out.C, in.N, in.ChannelLast
	team := workers.New(2)
	defer team.Close()
	x, dz := randomMap(in, r), randomMap(out, r)
	weights := make([]float32, ins*win.Taps*outs)
	for i := range weights {
		weights[i] = float32(r.NormFloat64())
	}
	z, dx, dw := convolveExactly(win, x, dz, weights)

	u := (&Maker{Set: s, Algorithm: algorithm, Workers: 2, Narrow: narrow}).Make(in, out, win, &Packed{})
	if d, is := u.(*directChannelLast); is && narrow && d.fwd.few == 0 && !d.gradient.(*channelLastGrad).turned {
		t.Fatal("want vectors along the inputs")
	}
	if algorithm == Winograd {
		_, inChannelLast := u.(*winogradChannelLast)
		if _, inPlanes := u.(*winogradPlanes); !inChannelLast && !inPlanes {
			t.Fatalf("%T; want Winograd's algorithm", u)
		}
	}
	check := func(what string, m testMap, buf []float32, ref []float64, terms int) {
		t.Helper()
		if algorithm == Winograd {
			if e := m.rms(buf, ref); !(e <= winogradError) {
				t.Errorf("%s: relative error %g r.m.s.", what, e)
			}
			return
		}
		if e := m.worst(buf, ref); !(e <= sumTolerance(terms)) {
			t.Errorf("%s: relative error %g", what, e)
		}
	}
	u.PackForward(weights)
	u.PackBackward(weights)
	xb, toX := x.b, func(b []float32) []float32 { return b }
	dxb := make([]float32, in.Size())
	if !channelLast && win.Stride == 2 {
		f := NewPhases(s, in)
		xb, dxb = make([]float32, f.Split.Size()), make([]float32, f.Split.Size())
		f.Run(team, xb, x.b, 0, n, false)
		toX = func(b []float32) []float32 {
			whole := make([]float32, in.Size())
			f.Run(team, whole, b, 0, n, true)
			return whole
		}
	}
	zb := make([]float32, out.Size())
	u.Forward(team, zb, xb, n, kernel.Finish{})
	check("forward", dz, zb, z, ins*win.Taps)
	u.InputGradient(team, dxb, dz.b, n, nil)
	check("gradient of the input", x, toX(dxb), dx, outs*win.Taps)
	sum := make([]float32, len(dxb))
	u.InputGradient(team, sum, dz.b, n, dxb)
	for i := range dx {
		dx[i] *= 2
	}
	check("gradient of the input, added", x, toX(sum), dx, 2*outs*win.Taps)
	got := make([]float32, len(weights))
	u.WeightGradient(team, got, dz.b, xb, 0, n)
	if algorithm == Winograd {
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
	if tol := sumTolerance(n * out.Pixels()); !(diff <= tol*scale) {
		t.Errorf("gradient of the weights: relative error %g, want at most %g", diff/scale, tol)
	}
}
