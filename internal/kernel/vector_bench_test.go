package kernel

import (
	"math/rand/v2"
	"testing"
)

// The benchmarks take the maps of the survey's network on a batch of ten, and its 1.1 million parameters. Bytes a second
// count every array once for each time it is read or written.

const surveyParams = 1_100_000

// normMap is one map in either layout.
type normMap struct {
	name           string
	size, channels int
	channelLast    bool
}

var normMaps = []normMap{
	{"planes32x32c20", 32, 20, false}, {"planes16x16c40", 16, 40, false}, {"planes42x42c40", 42, 40, false},
	{"channelLast8x8c80", 8, 80, true}, {"channelLast4x4c160", 4, 160, true},
}

// normBench is batch norm's kernels over one map.
type normBench struct {
	name        string
	arrays      int // read or written, for the bytes
	planes      func(s *Set, a *PlaneNorm, y, dz []float32)
	channelLast func(s *Set, a *ChannelLastNorm, y, dz, c []float32)
}

var normBenches = []normBench{
	{"sum", 1, func(s *Set, a *PlaneNorm, _, _ []float32) { s.PlaneSum(a.Z, a.Area) },
		func(s *Set, a *ChannelLastNorm, _, _, c []float32) { s.ChannelLastSums(c, a.Z, a.N, a.Stride) }},
	{"squares", 1, func(s *Set, a *PlaneNorm, _, _ []float32) { s.PlaneSquares(a.Z, a.Area, a.Mean) },
		func(s *Set, a *ChannelLastNorm, _, _, c []float32) {
			s.ChannelLastSquares(c, a.Z, a.Mean, a.N, a.Stride)
		}},
	{"scale", 2, func(s *Set, a *PlaneNorm, y, _ []float32) { s.PlaneScale(y, a.Z, nil, a.Area, 1.5, 0.5, true) },
		func(s *Set, a *ChannelLastNorm, y, _, c []float32) {
			s.ChannelLastScale(y, a.Z, nil, a.Mean, a.Mean, a.N, a.Stride, true)
		}},
	{"normsums", 4, func(s *Set, a *PlaneNorm, _, _ []float32) { s.PlaneNormSums(a) },
		func(s *Set, a *ChannelLastNorm, _, _, c []float32) { s.ChannelLastNormSums(c, c, a) }},
	{"normapply", 3, func(s *Set, a *PlaneNorm, _, dz []float32) { s.PlaneNormApply(dz, a, 1, 0.5, 0.25) },
		func(s *Set, a *ChannelLastNorm, _, dz, c []float32) {
			s.ChannelLastNormApply(dz, a, a.Mean, a.Mean, a.Mean)
		}},
}

func BenchmarkNorm(b *testing.B) {
	for _, k := range normBenches {
		for _, m := range normMaps {
			b.Run(k.name+"/"+m.name, func(b *testing.B) {
				if m.channelLast {
					benchChannelLast(b, k, m)
				} else {
					benchPlanes(b, k, m)
				}
				b.SetBytes(int64(4 * k.arrays * benchBatch * m.size * m.size * m.channels))
			})
		}
	}
}

func benchPlanes(b *testing.B, k normBench, m normMap) {
	r, p := rand.New(rand.NewPCG(1, 2)), newPlanesMap(m.size, m.channels)
	z, y, g, dz := p.data(r), p.data(r), p.data(r), p.data(r)
	s := Active()
	a := PlaneNorm{Area: Area{Rows: m.size, Cols: m.size, RowStride: p.rowStride}, Z: z, Y: y, G: g, Mean: 0.5}
	for b.Loop() {
		for c := range m.channels {
			for img := range benchBatch {
				a.Base = c*p.stride + p.margin + img*p.image
				k.planes(s, &a, y, dz)
			}
		}
	}
}

func benchChannelLast(b *testing.B, k normBench, m normMap) {
	r, n := rand.New(rand.NewPCG(1, 3)), benchBatch*m.size*m.size
	data := func() []float32 { return normal(r, n*m.channels, 0) }
	z, y, g, dz := data(), data(), data(), data()
	mean, c := normal(r, m.channels, 0), make([]float32, m.channels)
	a := ChannelLastNorm{Z: z, Y: y, G: g, Mean: mean, N: n, C: m.channels, Stride: m.channels}
	s := Active()
	for b.Loop() {
		k.channelLast(s, &a, y, dz, c)
	}
}

func BenchmarkStep(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 4))
	w, g := normal(r, surveyParams, 0), normal(r, surveyParams, 0)
	m, v := make([]float32, surveyParams), make([]float32, surveyParams)
	s := Active()
	for _, k := range []struct {
		name   string
		arrays int
		run    func()
	}{
		{"add", 3, func() { s.Add(w, m) }},
		{"axpy", 3, func() { s.Axpy(w, m, 0.5) }},
		{"dot", 2, func() { s.Dot(w, g) }},
		{"sgd", 3, func() { s.SGD(w, g, 1e-9, 1e-9) }},
		{"momentum", 5, func() { s.Momentum(w, g, m, 1e-9, 1e-9, 0.9) }},
		{"adam", 7, func() { s.Adam(w, g, m, v, adamTest) }},
	} {
		b.Run(k.name, func(b *testing.B) {
			b.SetBytes(4 * int64(k.arrays) * surveyParams)
			for b.Loop() {
				k.run()
			}
		})
	}
}

func BenchmarkShuffle(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 5))
	x, y, z := normal(r, 1<<16, 0), normal(r, 1<<16, 0), normal(r, 1<<16, 0)
	s := Active()
	for _, k := range []struct {
		name   string
		floats int
		run    func()
	}{
		{"split32", 32, func() { s.Split(x[:16], y[:16], z[:32]) }},
		{"merge32", 32, func() { s.Merge(x[:32], y[:16], z[:16]) }},
		{"transpose40x8", 40 * 8, func() { s.Transpose(x, 80, y, 1600, 40, 8) }},
		{"transpose20x20", 20 * 20, func() { s.Transpose(x, 20, y, 180, 20, 20) }},
		{"transpose80x160", 80 * 160, func() { s.Transpose(x, 80, y, 160, 80, 160) }},
	} {
		b.Run(k.name, func(b *testing.B) {
			b.SetBytes(int64(8 * k.floats))
			for b.Loop() {
				k.run()
			}
		})
	}
}
