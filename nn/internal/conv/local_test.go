package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"ocl/internal/kernel"
	"ocl/nn/internal/workers"
)

// localCases are squares of taps on maps of a side, with as much padding before a map as Square.First says, and as much
// behind it as the border has: also another number of pixels than before it.
var localCases = []struct {
	q            Square
	side, border int
}{
	{Square{3, 1, -1}, 7, 1},  // padded alike on all sides
	{Square{3, 2, 0}, 12, 1},  // as TensorFlow pads: behind alone
	{Square{5, 2, -1}, 14, 2}, // one before, two behind
	{Square{5, 1, -2}, 5, 3},  // a border larger than the taps want
	{Square{7, 2, -3}, 33, 3}, // more positions than a chunk has
	{Square{1, 2, 0}, 9, 0},
}

// outs is the side of the output.
func (q Square) outs(side, border int) int { return (side+border-q.First-q.Side)/q.Stride + 1 }

// finished makes a finish for so many outputs, and f in float64.
func finished(r *rand.Rand, res testMap, most float32) (kernel.Finish, func(sum float64, c, at int) float64) {
	outs := res.g.C
	f := kernel.Finish{Scale: make([]float32, Reach(outs)), Shift: make([]float32, Reach(outs)), Relu: true, Most: most,
		Res: res.b}
	for c := range outs {
		f.Scale[c], f.Shift[c] = float32(r.NormFloat64()), float32(r.NormFloat64())
	}
	return f, func(sum float64, c, at int) float64 {
		y := max(0, sum*float64(f.Scale[c])+float64(f.Shift[c])+res.v[at])
		if most > 0 {
			y = min(y, float64(most))
		}
		return y
	}
}

// overSquare calls f with each input of each output that lies inside of the map; the others are zero.
func overSquare(q Square, in, out testMap, ch func(c int) []int, f func(at, tap, c, from int)) {
	out.each(func(img, c, y, x int) {
		for tap := range q.Side * q.Side {
			iy, ix := y*q.Stride+q.First+tap/q.Side, x*q.Stride+q.First+tap%q.Side
			if iy < 0 || ix < 0 || iy >= in.g.H || ix >= in.g.W {
				continue
			}
			for _, k := range ch(c) {
				f(out.index(img, c, y, x), tap, k, in.index(img, k, iy, ix))
			}
		}
	})
}

// TestDepthwise compares convolutions of each channel by itself with the definition in float64: channels that do not
// fill vectors, and more of them than a part has.
func TestDepthwise(t *testing.T) {
	for _, s := range kernel.Available() {
		for _, channels := range []int{1, 16, 40, 72, 130} {
			for _, l := range localCases {
				t.Run(fmt.Sprintf("%s/%d/%v", s.Name, channels, l), func(t *testing.T) {
					r := rand.New(rand.NewPCG(1, 3))
					side := l.q.outs(l.side, l.border)
					x := randomMap(ChannelLastLayout(channels, l.side, l.side, 2).Bordered(l.border), r)
					res := randomMap(ChannelLastLayout(channels, side, side, 2).Bordered(1), r)
					taps := l.q.Side * l.q.Side
					w, sums := make([]float32, channels*taps), make([]float64, len(res.v))
					for i := range w {
						w[i] = float32(r.NormFloat64())
					}
					overSquare(l.q, x, res, func(c int) []int { return []int{c} },
						func(at, tap, c, from int) { sums[at] += x.v[from] * float64(w[c*taps+tap]) })
					f, exactly := finished(r, res, 1.5)
					checkLocal(t, res, f, exactly, sums, taps+3, func(team *workers.Team, z []float32, f kernel.Finish) {
						d := (&Maker{Set: s, Workers: 2}).Depthwise(x.g, res.g, l.q, &Packed{})
						d.PackForward(w)
						d.Forward(team, z, x.b, 2, f)
					})
				})
			}
		}
	}
}

// TestStem compares convolutions of pictures with the definition in float64.
func TestStem(t *testing.T) {
	for _, s := range kernel.Available() {
		for _, outs := range []int{5, 32, 64, 100} {
			for _, l := range localCases {
				t.Run(fmt.Sprintf("%s/%d/%v", s.Name, outs, l), func(t *testing.T) {
					r := rand.New(rand.NewPCG(1, 4))
					side := l.q.outs(l.side, l.border)
					x := randomMap(DenseLayout(3, l.side, l.side, 2, l.border), r)
					res := randomMap(ChannelLastLayout(outs, side, side, 2), r)
					taps := l.q.Side * l.q.Side
					w, sums := make([]float32, 3*taps*outs), make([]float64, len(res.v)) // [in][tap][out]
					for i := range w {
						w[i] = float32(r.NormFloat64())
					}
					overSquare(l.q, x, res, func(int) []int { return []int{0, 1, 2} }, func(at, tap, c, from int) {
						sums[at] += x.v[from] * float64(w[(c*taps+tap)*outs+at/(side*side)%outs])
					})
					f, exactly := finished(r, res, 0)
					checkLocal(t, res, f, exactly, sums, 3*taps+3, func(team *workers.Team, z []float32, f kernel.Finish) {
						c := (&Maker{Set: s, Workers: 2}).Stem(x.g, res.g, l.q, &Packed{})
						c.PackForward(w)
						c.Forward(team, z, x.b, 2, f)
					})
				})
			}
		}
	}
}

// checkLocal runs a convolution with and without a finish, and compares it with sums in float64. What lies around the
// maps of the output must stay zero.
func checkLocal(t *testing.T, out testMap, f kernel.Finish, exactly func(sum float64, c, at int) float64,
	sums []float64, terms int,
	run func(team *workers.Team, z []float32, f kernel.Finish)) {
	t.Helper()
	team := workers.New(2)
	defer team.Close()
	z := make([]float32, out.g.Size())
	run(team, z, kernel.Finish{})
	if e := out.worst(z, sums); !(e <= sumTolerance(terms)) {
		t.Errorf("sums: relative error %g", e)
	}
	run(team, z, f)
	want := make([]float64, len(sums))
	for i, v := range sums {
		want[i] = exactly(v, i/out.g.Pixels()%out.g.C, i)
	}
	if e := out.worst(z, want); !(e <= 2*sumTolerance(terms)) {
		t.Errorf("finished: relative error %g", e)
	}
	outside(t, out.g, z)
}

// outside is an error where anything but pixels of the maps is not zero.
func outside(t *testing.T, g Layout, z []float32) {
	t.Helper()
	inside := make([]bool, len(z))
	for img := range g.N {
		for y := range g.H {
			for x := range g.W {
				at := g.PixelAt(img, y, x)
				for c := range g.PixelStride {
					inside[at+c] = true
				}
			}
		}
	}
	for i, v := range z {
		if !inside[i] && v != 0 {
			t.Fatalf("outside of the maps, %d is %v", i, v)
		}
	}
}

// TestMaxPool compares maxima with their definition: values after a ReLU, of which whole windows are zero, so that the
// border never is the largest, and those that are no numbers, which pass.
func TestMaxPool(t *testing.T) {
	for _, s := range kernel.Available() {
		for _, channels := range []int{1, 40, 64, 130} {
			for _, l := range localCases {
				t.Run(fmt.Sprintf("%s/%d/%v", s.Name, channels, l), func(t *testing.T) {
					r := rand.New(rand.NewPCG(1, 5))
					side := l.q.outs(l.side, l.border)
					x := randomMap(ChannelLastLayout(channels, l.side, l.side, 2).Bordered(l.border), r)
					nan := 0
					x.each(func(img, c, y, xx int) {
						at, i := x.slot(img, c, y, xx), x.index(img, c, y, xx)
						switch v := x.v[i] - 0.5; {
						case r.IntN(200) == 0:
							x.b[at], x.v[i] = float32(math.NaN()), math.NaN()
							nan++
						default:
							x.b[at] = max(0, float32(v))
							x.v[i] = float64(x.b[at])
						}
					})
					out := testMap{g: ChannelLastLayout(channels, side, side, 2).Bordered(1)}
					want := make([]float64, 2*channels*side*side)
					for i := range want {
						want[i] = math.Inf(-1)
					}
					overSquare(l.q, x, out, func(c int) []int { return []int{c} },
						func(at, _, _, from int) { want[at] = max(want[at], x.v[from]) })
					team := workers.New(2)
					defer team.Close()
					z := make([]float32, out.g.Size())
					(&Maker{Set: s, Workers: 2}).MaxPool(x.g, out.g, l.q).Forward(team, z, x.b, 2)
					zeros := 0
					out.each(func(img, c, y, xx int) {
						got, want := z[out.slot(img, c, y, xx)], want[out.index(img, c, y, xx)]
						if float64(got) != want && !(got != got && want != want) {
							t.Fatalf("image %d, channel %d, %d, %d: %v instead of %v", img, c, y, xx, got, want)
						}
						if got == 0 {
							zeros++
						}
					})
					if channels > 1 && (zeros == 0 || nan == 0) {
						t.Errorf("%d windows of zeros and %d values that are no numbers; want some of each", zeros, nan)
					}
					outside(t, out.g, z)
				})
			}
		}
	}
}

// TestLocalRefuses: taps that reach beyond the border, and maps that are not square, are bugs.
func TestLocalRefuses(t *testing.T) {
	m := &Maker{Set: kernel.Available()[0], Workers: 1}
	g := func(c, side, border int) Layout { return ChannelLastLayout(c, side, side, 1).Bordered(border) }
	for what, f := range map[string]func(){
		"before":   func() { m.Depthwise(g(4, 8, 1), g(4, 8, 0), Square{5, 1, -2}, &Packed{}) },
		"behind":   func() { m.Depthwise(g(4, 8, 0), g(4, 4, 0), Square{3, 2, 0}, &Packed{}) },
		"channels": func() { m.MaxPool(g(4, 8, 1), g(5, 8, 0), Square{3, 1, -1}) },
		"square":   func() { m.MaxPool(ChannelLastLayout(4, 8, 7, 1).Bordered(1), g(4, 7, 0), Square{3, 1, -1}) },
		"planes":   func() { m.MaxPool(PlanesLayout(4, 16, 16, 1), g(4, 16, 0), Square{1, 1, 0}) },
		"pictures": func() { m.Stem(g(3, 8, 1), g(4, 8, 0), Square{3, 1, -1}, &Packed{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			f()
		}()
	}
}
