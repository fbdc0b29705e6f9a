package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// The benchmarks transform a batch of ten, all of it at once or in blocks whose products stay in the second-level cache,
// and report GB/s, each array counted once. BenchmarkWinogradProducts is what the transforms stand beside.

// transformed reports the floats of products and of a map that a round moves.
func transformed(b *testing.B, floats int) {
	b.ReportMetric(4*float64(floats)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
}

// winogradPad keeps the 24 arrays of products out of one set of the cache.
const winogradPad = 80

// channelLastTiles lists the inputs and outputs of all tiles of a batch; position 0 stands for what is outside the map.
func channelLastTiles(size, channels int) (in, out []int32) {
	at := func(n, y, x int) int32 {
		if y < 0 || y >= size || x < 0 || x >= size {
			return 0
		}
		return int32((1 + (n*size+y)*size + x) * channels)
	}
	for n := range benchBatch {
		for y := 0; y < size; y += WinogradTileRows {
			for x := 0; x < size; x += WinogradTileCols {
				for i := range WinogradProducts {
					in = append(in, at(n, y+i/4-1, x+i%4-1))
				}
				for i := range WinogradTileRows * WinogradTileCols {
					out = append(out, at(n, y+i/2, x+i%2))
				}
			}
		}
	}
	return in, out
}

func BenchmarkWinogradChannelLast(b *testing.B) {
	s := Active()
	for _, shape := range channelLastShapes {
		in, out := channelLastTiles(shape.size, shape.channels)
		tiles := len(in) / WinogradProducts
		for _, block := range []int{tiles, 10} {
			r := rand.New(rand.NewPCG(1, 1))
			a := WinogradChannelLast{C: shape.channels, Stride: shape.channels, Step: block*shape.channels + winogradPad}
			a.T = normal(r, WinogradProducts*a.Step, 0)
			a.X = normal(r, (1+benchBatch*shape.size*shape.size)*a.C, 0)
			res := normal(r, len(a.X), 0)
			f := &Finish{Scale: res, Shift: a.X, Res: res, Relu: true}
			for _, call := range []struct {
				name string
				pos  []int32
				run  func(*WinogradChannelLast)
			}{
				{"input", in, s.WinogradChannelLastInput},
				{"gradient", out, s.WinogradChannelLastGradient},
				{"output", out, func(a *WinogradChannelLast) { s.WinogradChannelLastOutput(a, nil) }},
				{"outputRes", out, func(a *WinogradChannelLast) { s.WinogradChannelLastOutput(a, f) }},
			} {
				b.Run(fmt.Sprintf("%s/%s/tiles%d", shape.name, call.name, block), func(b *testing.B) {
					n := len(call.pos) / tiles * block
					for b.Loop() {
						for at := 0; at < len(call.pos); at += n {
							a.Pos = call.pos[at : at+n]
							call.run(&a)
						}
					}
					transformed(b, (tiles*WinogradProducts+benchBatch*shape.size*shape.size)*a.C)
				})
			}
		}
	}
}

// planesUnits lists the rows of all units of a batch.
func planesUnits(m planesMap, lanes int) (in, out []int32) {
	for n := range benchBatch {
		for y := 0; y < m.size; y += WinogradTileRows {
			for x := 0; x < m.size; x += lanes {
				at := m.margin + n*m.image + y*m.rowStride + x
				for i := range winogradInRows {
					in = append(in, int32(at+(i-1)*m.rowStride))
				}
				for i := range WinogradTileRows {
					out = append(out, int32(at+i*m.rowStride))
				}
			}
		}
	}
	return in, out
}

func BenchmarkWinogradPlanes(b *testing.B) {
	s := Active()
	for _, shape := range planesShapes {
		m := newPlanesMap(shape.size, shape.channels)
		in, out := planesUnits(m, s.Lanes)
		pairs := len(in) / (2 * winogradInRows)
		for _, block := range []int{pairs, 4} {
			r := rand.New(rand.NewPCG(1, 1))
			a := WinogradPlanes{C: shape.channels, XStride: m.stride, Stride: block * s.Lanes}
			a.Step = a.C*a.Stride + winogradPad
			a.T, a.X = normal(r, WinogradProducts*a.Step, 0), m.data(r)
			res := m.data(r)
			f := &Finish{Scale: res, Shift: res, Res: res, Relu: true}
			for _, call := range []struct {
				name string
				pos  []int32
				run  func(*WinogradPlanes)
			}{
				{"input", in, allColumns(s.WinogradPlanesInput)},
				{"gradient", out, allColumns(s.WinogradPlanesGradient)},
				{"output", out, func(a *WinogradPlanes) { s.WinogradPlanesOutput(a, nil) }},
				{"outputRes", out, func(a *WinogradPlanes) { s.WinogradPlanesOutput(a, f) }},
			} {
				b.Run(fmt.Sprintf("%s/%s/pairs%d", shape.name, call.name, block), func(b *testing.B) {
					n := len(call.pos) / pairs * block
					for b.Loop() {
						for at := 0; at < len(call.pos); at += n {
							a.Pos = call.pos[at : at+n]
							call.run(&a)
						}
					}
					transformed(b, (pairs*s.Lanes*WinogradProducts+benchBatch*m.size*m.size)*a.C)
				})
			}
		}
	}
}

func BenchmarkWinogradWeights(b *testing.B) {
	s := Active()
	for _, channels := range []int{40, 80, 160} {
		r := rand.New(rand.NewPCG(1, 1))
		a := WinogradWeights{Rows: channels, Width: channels, URow: channels, WRow: 9 * channels, WTap: channels}
		a.Step = channels*channels + winogradPad
		a.U, a.W = normal(r, WinogradProducts*a.Step, 0), normal(r, 9*channels*channels, 0)
		for _, call := range []struct {
			name string
			run  func(*WinogradWeights)
		}{{"forward", s.WinogradWeights}, {"grad", s.WinogradWeightsGrad}} {
			b.Run(fmt.Sprintf("c%d/%s", channels, call.name), func(b *testing.B) {
				for b.Loop() {
					call.run(&a)
				}
				transformed(b, (WinogradProducts+9)*channels*channels)
			})
		}
	}
}

// BenchmarkWinogradProducts is the 24 products of a convolution of the batch.
func BenchmarkWinogradProducts(b *testing.B) {
	s := Active()
	for _, shape := range planesShapes {
		b.Run(shape.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			const block = 4 // pairs of units
			blocks := benchBatch * shape.size * shape.size / (WinogradTileRows * WinogradTileCols) / (block * s.Lanes)
			a := Planes{OutStride: block * s.Lanes, Rows: 1, Tiles: block / 2, VecStride: s.Lanes}
			for c := range shape.channels {
				a.Off = append(a.Off, int32(c*a.OutStride))
			}
			step := shape.channels*a.OutStride + winogradPad
			x, out := normal(r, WinogradProducts*step, 0), normal(r, WinogradProducts*step, 0)
			w := normal(r, WinogradProducts*shape.channels*shape.channels, 0)
			for b.Loop() {
				for range blocks {
					for j := range WinogradProducts {
						a.X = x[j*step:]
						for o := 0; o < shape.channels; o += s.PlanesOut {
							a.Out, a.W = out[j*step+o*a.OutStride:], w[(j*shape.channels+o)*shape.channels:]
							s.Planes(&a)
						}
					}
				}
			}
			report(b, 2*WinogradProducts*float64(blocks*block*s.Lanes*shape.channels*shape.channels))
		})
	}
	for _, shape := range channelLastShapes {
		b.Run(shape.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			tiles, bw := benchBatch*shape.size*shape.size/(WinogradTileRows*WinogradTileCols), s.ChannelLastVecs*s.Lanes
			step := tiles*shape.channels + winogradPad
			x, out := normal(r, WinogradProducts*step, 0), normal(r, WinogradProducts*step, 0)
			w := normal(r, WinogradProducts*shape.channels*shape.channels, 0)
			a := ChannelLast{TapX: []int32{0}, TapW: []int32{0}, C: shape.channels, Vecs: s.ChannelLastVecs}
			for q := range tiles {
				a.OutPos = append(a.OutPos, int32(q*shape.channels))
			}
			a.XPos = a.OutPos
			for b.Loop() {
				for j := range WinogradProducts {
					a.X = x[j*step:]
					for o := 0; o < shape.channels; o += bw {
						a.Out, a.W = out[j*step+o:], w[(j*shape.channels+o)*shape.channels:]
						s.ChannelLast(&a)
					}
				}
			}
			report(b, 2*WinogradProducts*float64(tiles*shape.channels*shape.channels))
		})
	}
}
