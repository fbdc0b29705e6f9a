package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// winogradTolerance is the relative root mean square by which a composed convolution may differ from one in float64.
const winogradTolerance = 1.5e-6

// winogradMap is a map in either layout: where pixels lie, how it is cut into tiles, and where their products are. An
// array begins with a place for what lies outside the map: zeros in inputs, while nobody reads it in outputs.
type winogradMap struct {
	height, width, channels int
	floats                  int // of an array that holds the map
	pixel                   func(c, y, x int) int
	tiles                   int // in T
	product                 func(j, c, tile int) int
	input, gradient         func(s *Set, t, x []float32)
	output                  func(s *Set, t, x []float32)
}

func newWinogradChannelLast(s *Set, height, width int) *winogradMap {
	m := &winogradMap{height: height, width: width, channels: s.Lanes}
	m.pixel = func(c, y, x int) int { return (1+y*width+x)*m.channels + c }
	m.floats = (1 + height*width) * m.channels
	var in, out []int32
	at := func(y, x int) int32 {
		if y < 0 || y >= height || x < 0 || x >= width {
			return 0
		}
		return int32(m.pixel(0, y, x))
	}
	for y := 0; y < height; y += WinogradTileRows {
		for x := 0; x < width; x += WinogradTileCols {
			for i := range WinogradProducts {
				in = append(in, at(y+i/4-1, x+i%4-1))
			}
			for i := range WinogradTileRows * WinogradTileCols {
				out = append(out, at(y+i/2, x+i%2))
			}
			m.tiles++
		}
	}
	a := WinogradChannelLast{C: m.channels, Stride: m.channels, Step: m.tiles * m.channels}
	m.product = func(j, c, tile int) int { return j*a.Step + tile*a.Stride + c }
	with := func(t, x []float32, pos []int32) *WinogradChannelLast {
		a := a
		a.T, a.X, a.Pos = t, x, pos
		return &a
	}
	m.input = func(s *Set, t, x []float32) { s.WinogradChannelLastInput(with(t, x, in)) }
	m.gradient = func(s *Set, t, x []float32) { s.WinogradChannelLastGradient(with(t, x, out)) }
	m.output = func(s *Set, t, x []float32) { s.WinogradChannelLastOutput(with(t, x, out), nil) }
	return m
}

// newWinogradPlanes has a zero column beside each row and zero rows around the map, which rows beyond it use too. The
// last unit of a row ends with it, so that it overlaps the one before where the width is no multiple of Lanes.
func newWinogradPlanes(s *Set, height, width int) *winogradMap {
	const channels = 3
	m := &winogradMap{height: height, width: width, channels: channels}
	margin, row := s.Lanes+2, width+1
	stride := margin + (height+2)*row + s.Lanes
	m.floats = channels * stride
	m.pixel = func(c, y, x int) int { return margin + c*stride + (1+y)*row + x }
	var in, out, skip []int32
	at := func(y, x int) int32 { // rows outside the map lie in the margin, behind place 0, which is their column -1
		if y < 0 || y >= height {
			return 1
		}
		return int32(m.pixel(0, y, x))
	}
	unit := func(y, x, before int) {
		for i := range winogradInRows {
			in = append(in, at(y+i-1, x))
		}
		for i := range WinogradTileRows {
			out = append(out, at(y+i, x))
		}
		skip = append(skip, int32(before))
	}
	for y := 0; y < height; y += WinogradTileRows {
		for x := 0; x < width; x += s.Lanes {
			begin := min(x, width-s.Lanes)
			unit(y, begin, x-begin)
		}
	}
	if len(skip)%2 != 0 {
		unit(height, 0, s.Lanes)
	}
	m.tiles = len(skip) / 2 * s.Lanes
	a := WinogradPlanes{C: channels, XStride: stride, Stride: m.tiles, Step: m.tiles * channels}
	m.product = func(j, c, tile int) int { return j*a.Step + c*a.Stride + tile }
	with := func(t, x []float32, pos []int32) *WinogradPlanes {
		a := a
		a.T, a.X, a.Pos = t, x, pos
		return &a
	}
	m.input = func(s *Set, t, x []float32) { allColumns(s.WinogradPlanesInput)(with(t, x, in)) }
	m.gradient = func(s *Set, t, x []float32) {
		a := with(t, x, out)
		a.Skip = skip
		allColumns(s.WinogradPlanesGradient)(a)
	}
	m.output = func(s *Set, t, x []float32) { s.WinogradPlanesOutput(with(t, x, out), nil) }
	return m
}

// data is a map of normal numbers with zeros around it.
func (m *winogradMap) data(r *rand.Rand) []float32 {
	x := make([]float32, m.floats)
	for c := range m.channels {
		for p := range m.height * m.width {
			x[m.pixel(c, p/m.width, p%m.width)] = float32(r.NormFloat64())
		}
	}
	return x
}

// pairs calls f for every output pixel and every tap that lies inside the map: the pixel at (y, x) meets the input at
// (yIn, xIn).
func (m *winogradMap) pairs(f func(y, x, tap, yIn, xIn int)) {
	for p := range m.height * m.width {
		y, x := p/m.width, p%m.width
		for tap := range 9 {
			if yIn, xIn := y+tap/3-1, x+tap%3-1; yIn >= 0 && yIn < m.height && xIn >= 0 && xIn < m.width {
				f(y, x, tap, yIn, xIn)
			}
		}
	}
}

// distance accumulates the difference of two arrays.
type distance struct{ off, size float64 }

func (d *distance) add(got float32, want float64) {
	d.off += (float64(got) - want) * (float64(got) - want)
	d.size += want * want
}

func (d *distance) check(t *testing.T, what string) {
	t.Helper()
	if got := math.Sqrt(d.off / d.size); !(got <= winogradTolerance) {
		t.Errorf("%s: relative rms %.2g; want at most %g", what, got, winogradTolerance)
	} else {
		t.Logf("%s: relative rms %.2g", what, got)
	}
}

// TestWinogradConvolution composes the transforms with products in float64: the result is the convolution, and so is the
// gradient of its weights.
func TestWinogradConvolution(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		for name, m := range map[string]*winogradMap{
			"channel-last 8x8":  newWinogradChannelLast(s, 8, 8),
			"channel-last 6x5":  newWinogradChannelLast(s, 6, 5),
			"planes, a unit":    newWinogradPlanes(s, 10, s.Lanes),
			"planes, two units": newWinogradPlanes(s, 6, 2*s.Lanes),
			"planes, overlap":   newWinogradPlanes(s, 7, s.Lanes+2),
		} {
			r := rand.New(rand.NewPCG(8, 0))
			t.Run(name, func(t *testing.T) { testWinogradConvolution(t, s, r, m) })
		}
	})
}

func testWinogradConvolution(t *testing.T, s *Set, r *rand.Rand, m *winogradMap) {
	n, width := m.channels, s.Lanes // outputs, as many as inputs, padded to a vector
	weights := WinogradWeights{Rows: n, Width: width, Step: n * width, URow: width, WRow: 9 * width, WTap: width}
	weights.U, weights.W = make([]float32, WinogradProducts*weights.Step), normal(r, n*9*width, 0)
	s.WinogradWeights(&weights)

	x, dy := m.data(r), m.data(r)
	tx, ty := make([]float32, WinogradProducts*m.tiles*n), make([]float32, WinogradProducts*m.tiles*n)
	m.input(s, tx, x)
	m.gradient(s, ty, dy)
	sums, grad := make([]float32, len(tx)), make([]float32, len(weights.U))
	for j := range WinogradProducts {
		for o := range n {
			for tile := range m.tiles {
				sum := 0.
				for c := range n {
					sum += float64(weights.U[j*weights.Step+c*width+o]) * float64(tx[m.product(j, c, tile)])
				}
				sums[m.product(j, o, tile)] = float32(sum)
			}
			for c := range n {
				sum := 0.
				for tile := range m.tiles {
					sum += float64(ty[m.product(j, o, tile)]) * float64(tx[m.product(j, c, tile)])
				}
				grad[j*weights.Step+c*width+o] = float32(sum)
			}
		}
	}
	y := make([]float32, m.floats)
	m.output(s, sums, y)
	dw := make([]float32, len(weights.W))
	weightsGrad := weights
	weightsGrad.U, weightsGrad.W = grad, dw
	s.WinogradWeightsGrad(&weightsGrad)

	var forward, backward distance
	for o := range n {
		wantY, wantW := make([]float64, m.height*m.width), make([]float64, len(dw))
		for c := range n {
			m.pairs(func(yOut, xOut, tap, yIn, xIn int) {
				in, w := float64(x[m.pixel(c, yIn, xIn)]), (c*9+tap)*width+o
				wantY[yOut*m.width+xOut] += in * float64(weights.W[w])
				wantW[w] += in * float64(dy[m.pixel(o, yOut, xOut)])
			})
			for tap := range 9 {
				w := (c*9+tap)*width + o
				backward.add(dw[w], wantW[w])
			}
		}
		for p, want := range wantY {
			forward.add(y[m.pixel(o, p/m.width, p%m.width)], want)
		}
	}
	forward.check(t, "convolution")
	backward.check(t, "gradient of the weights")
}
