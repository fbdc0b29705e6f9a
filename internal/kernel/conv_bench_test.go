package kernel

import (
	"math/rand/v2"
	"testing"
)

// The benchmarks run whole 3×3 convolutions of the survey's network on a batch of ten, in the blocks that a driver would
// use, and report useful GFLOP/s: two operations a multiply-add inside the map.

const (
	benchBatch          = 10
	channelLastGradArea = 80 // positions of a call, whose data stays in the first-level cache
)

// planesMap is a map in the planes layout.
type planesMap struct{ size, channels, rowStride, image, stride, margin int }

func newPlanesMap(size, channels int) planesMap {
	m := planesMap{size: size, channels: channels, rowStride: size + 1, image: (size + 1) * (size + 1), margin: size + 2}
	m.stride = benchBatch*m.image + 2*m.margin
	return m
}

// offsets lists, k by k, the distance of the nine taps of every channel.
func (m planesMap) offsets() []int32 {
	var off []int32
	for c := range m.channels {
		for tap := range 9 {
			off = append(off, int32(c*m.stride+(tap/3-1)*m.rowStride+tap%3-1))
		}
	}
	return off
}

func (m planesMap) data(r *rand.Rand) []float32 { return normal(r, m.channels*m.stride+maxLanes, 0) }

// flops counts every tap, as a survey of networks does; the borders are zeros that planes multiply too.
func flops(size, channels int) float64 {
	return 2 * 9 * float64(benchBatch*size*size*channels*channels)
}

func report(b *testing.B, perOp float64) {
	b.ReportMetric(perOp*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

var planesShapes = []struct {
	name           string
	size, channels int
}{{"32x32c20", 32, 20}, {"16x16c40", 16, 40}}

func BenchmarkPlanes(b *testing.B) {
	s := Active()
	for _, shape := range planesShapes {
		b.Run(shape.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			m := newPlanesMap(shape.size, shape.channels)
			x, out, off := m.data(r), m.data(r), m.offsets()
			w := normal(r, len(off)*m.channels, 0)
			a := Planes{X: x, Off: off, OutStride: m.stride, RowStride: m.rowStride, Rows: m.size, VecStride: s.Lanes}
			a.Tiles = m.size / (2 * s.Lanes)
			if a.Tiles == 0 { // a row is one vector: a tile is two rows
				a.Tiles, a.VecStride = 1, m.rowStride
				a.RowStride, a.Rows = 2*m.rowStride, m.size/2
			}
			all, band := a.Rows, min(a.Rows, 8)
			a.Rows = band
			for b.Loop() {
				for n := range benchBatch * all / band {
					a.XBase = m.margin + n/(all/band)*m.image + n%(all/band)*band*a.RowStride
					for o := 0; o < m.channels; o += s.PlanesOut {
						a.Out = out[o*m.stride+a.XBase:]
						a.W = w[o*len(off):][:len(off)*s.PlanesOut]
						s.Planes(&a)
					}
				}
			}
			report(b, flops(m.size, m.channels))
		})
	}
}

func BenchmarkPlanesGrad(b *testing.B) {
	s := Active()
	for _, shape := range planesShapes {
		b.Run(shape.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			m := newPlanesMap(shape.size, shape.channels)
			x, y, off := m.data(r), m.data(r), m.offsets()
			for len(off)%s.GradIn != 0 {
				off = append(off, 0)
			}
			// groups of k that meet a block of Y while it is in the cache, and positions of the block
			const group, area = 30, 1024
			dst := make([]float32, len(off)*m.channels*s.Lanes)
			a := PlanesGrad{X: x, Y: y, YStride: m.stride, ImageStride: m.image, RowStride: m.rowStride, Vecs: m.size / s.Lanes}
			a.Rows = min(m.size, area/m.size)
			images := max(1, area/(m.size*m.size))
			for b.Loop() {
				for k := 0; k < len(off); k += group * s.GradIn {
					a.Off = off[k:min(len(off), k+group*s.GradIn)]
					for row := 0; row < benchBatch*m.size; row += images * a.Rows {
						a.Images = min(images, benchBatch-row/m.size)
						a.XBase = m.margin + row/m.size*m.image + row%m.size*m.rowStride
						for o := 0; o < m.channels; o += s.GradOut {
							a.YBase = a.XBase + o*m.stride
							a.Dst = dst[(k*m.channels+o*len(a.Off))*s.Lanes:]
							s.PlanesGrad(&a)
						}
					}
				}
			}
			report(b, flops(m.size, m.channels))
		})
	}
}

var channelLastShapes = []struct {
	name           string
	size, channels int
}{{"8x8c80", 8, 80}, {"4x4c160", 4, 160}}

// channelLastClass is the set of positions that have the same taps inside the map, padded to whole tiles.
type channelLastClass struct {
	pos        []int32
	tapX, tapW []int32
}

// channelLastClasses lists the nine classes of a 3×3 convolution, and the multiply-adds they hold for one pair of channels.
func channelLastClasses(size, channels, blockWidth int) (classes []channelLastClass, products int) {
	inside := func(at, step int) bool { return at+step >= 0 && at+step < size }
	edge := func(at int) int { // 0 first, 1 middle, 2 last
		if at == 0 {
			return 0
		}
		return 1 + at/(size-1)
	}
	classes = make([]channelLastClass, 9)
	for n := range benchBatch * size * size {
		y, x := n/size%size, n%size
		c := &classes[edge(y)*3+edge(x)]
		if c.tapX == nil {
			for tap := range 9 {
				dy, dx := tap/3-1, tap%3-1
				if inside(y, dy) && inside(x, dx) {
					c.tapX = append(c.tapX, int32((dy*size+dx)*channels))
					c.tapW = append(c.tapW, int32(tap*channels*blockWidth))
				}
			}
		}
		c.pos = append(c.pos, int32(n*channels))
		products += len(c.tapX)
	}
	for i := range classes {
		c := &classes[i]
		for len(c.pos)%ChannelLastTile != 0 {
			c.pos = append(c.pos, c.pos[len(c.pos)-1])
		}
	}
	return classes, products
}

func BenchmarkChannelLast(b *testing.B) {
	s := Active()
	for _, shape := range channelLastShapes {
		b.Run(shape.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			n := benchBatch * shape.size * shape.size * shape.channels
			bw := s.ChannelLastVecs * s.Lanes
			x, out := normal(r, n, 0), normal(r, n, 0)
			w := normal(r, 9*shape.channels*shape.channels, 0)
			classes, products := channelLastClasses(shape.size, shape.channels, bw)
			a := ChannelLast{X: x, C: shape.channels, Vecs: s.ChannelLastVecs}
			for b.Loop() {
				for o := 0; o < shape.channels; o += bw {
					a.Out, a.W = out[o:], w[o*9*shape.channels:][:9*shape.channels*bw]
					for i := range classes {
						c := &classes[i]
						a.OutPos, a.XPos, a.TapX, a.TapW = c.pos, c.pos, c.tapX, c.tapW
						s.ChannelLast(&a)
					}
				}
			}
			report(b, 2*float64(products*shape.channels*shape.channels))
		})
	}
}

func BenchmarkChannelLastGrad(b *testing.B) {
	s := Active()
	for _, shape := range channelLastShapes {
		b.Run(shape.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			perImage := shape.size * shape.size
			n := benchBatch * perImage * shape.channels
			bw := s.ChannelLastVecs * s.Lanes
			x, y := normal(r, n, 0), normal(r, n, 0)
			dst := make([]float32, 9*shape.channels*shape.channels)
			var xPos, yPos [9][]int32
			products := 0
			for n := range benchBatch * perImage {
				py, px := n/shape.size%shape.size, n%shape.size
				for tap := range 9 {
					dy, dx := tap/3-1, tap%3-1
					if py+dy >= 0 && py+dy < shape.size && px+dx >= 0 && px+dx < shape.size {
						yPos[tap] = append(yPos[tap], int32(n*shape.channels))
						xPos[tap] = append(xPos[tap], int32((n+dy*shape.size+dx)*shape.channels))
						products++
					}
				}
			}
			a := ChannelLastGrad{DstStride: 9 * shape.channels, Tiles: shape.channels / ChannelLastTile, Vecs: s.ChannelLastVecs}
			for b.Loop() {
				for o := 0; o < shape.channels; o += bw {
					for tap := range 9 {
						n := len(xPos[tap])
						parts := (n + channelLastGradArea - 1) / channelLastGradArea
						for part := range parts {
							q, end := part*n/parts, (part+1)*n/parts
							a.XPos, a.YPos = xPos[tap][q:end], yPos[tap][q:end]
							a.X, a.Y = x, y[o:]
							a.Dst = dst[tap*shape.channels+o:]
							s.ChannelLastGrad(&a)
						}
					}
				}
			}
			report(b, 2*float64(products*shape.channels*shape.channels))
		})
	}
}

func BenchmarkFMAPeak(b *testing.B) {
	s := Active()
	var done int64
	for b.Loop() {
		done += s.FMAPeakLoop(100_000)
	}
	b.ReportMetric(float64(done)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
