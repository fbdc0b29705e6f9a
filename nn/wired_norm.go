package nn

import (
	"math"

	"ocl/internal/kernel"
	"ocl/nn/internal/conv"
)

// instanceEps is PyTorch's for instance norm.
const instanceEps = 1e-5

// InstanceNorm adds the normalisation of each channel of each image to mean 0 and variance 1 (plus 1e-5, without factors
// or running statistics), then adds res where it is not nil, then a ReLU if relu is set.
func (s *Section) InstanceNorm(in, res *Map, relu bool) *Map {
	if in.skip > 0 || res != nil && (res.skip > 0 || res.g != in.g) {
		panic("nn: InstanceNorm: maps of trunks or of other shapes. Give maps of one section")
	}
	out := s.newMap(in.g.C, in.g.H, in.g.W)
	n := &instanceNorm{in: in, res: res, out: out, relu: relu,
		mean: make([]float32, in.g.N*in.g.C), inv: make([]float32, in.g.N*in.g.C)}
	for range s.w.ws.team.Size() {
		n.scratch = append(n.scratch, newNormScratch(in.g.C))
	}
	if res != nil {
		s.layer(n, in, res)
		return out
	}
	s.layer(n, in)
	return out
}

type instanceNorm struct {
	in, res, out *Map
	relu         bool
	back         bool
	s            *Section
	mean, inv    []float32 // [N,C]
	scratch      []*normScratch
}

// normScratch is a worker's: values by channel.
type normScratch struct {
	part, second []float32
	p, q, r      []float32
	sums, sums2  []float64
}

func newNormScratch(c int) *normScratch {
	n := conv.Reach(c)
	v := func() []float32 { return make([]float32, n)[:c] }
	return &normScratch{v(), v(), v(), v(), v(), make([]float64, c), make([]float64, c)}
}

func (n *instanceNorm) forward(s *Section, images int) {
	n.s, n.back = s, false
	s.w.ws.team.Run(n, images)
}

func (n *instanceNorm) backward(s *Section, images int) {
	if n.in.written || n.res != nil && n.res.written {
		panic("nn: InstanceNorm: another layer reads a map before it")
	}
	n.s, n.back = s, true
	s.w.ws.team.Run(n, images)
	n.in.written = true
	if n.res != nil {
		n.res.written = true
	}
}

// span calls f with the parts of an image whose sums stay in float32.
func span(pixels int, f func(first, n int)) {
	for first := 0; first < pixels; first += pixelPart {
		f(first, min(pixelPart, pixels-first))
	}
}

// DoChunk implements [workers.Task].
func (n *instanceNorm) DoChunk(worker, img int) {
	g, k, v := n.in.g, n.s.w.set, n.scratch[worker]
	c, stride, pixels := g.C, g.PixelStride, g.Pixels()
	at, size := g.PixelAt(img, 0, 0), pixels*stride
	z, y := n.in.x[at:][:size], n.out.x[at:][:size]
	mean, inv := n.mean[img*c:(img+1)*c], n.inv[img*c:(img+1)*c]
	if n.back {
		n.gradient(v, img)
		return
	}
	clear(v.sums)
	span(pixels, func(first, count int) {
		clear(v.part)
		k.ChannelLastSums(v.part, z[first*stride:], count, stride)
		for i, s := range v.part {
			v.sums[i] += float64(s)
		}
	})
	for i, s := range v.sums {
		mean[i] = float32(s / float64(pixels))
	}
	clear(v.sums)
	span(pixels, func(first, count int) {
		clear(v.part)
		k.ChannelLastSquares(v.part, z[first*stride:], mean, count, stride)
		for i, s := range v.part {
			v.sums[i] += float64(s)
		}
	})
	for i, s := range v.sums {
		inv[i] = float32(1 / math.Sqrt(s/float64(pixels)+instanceEps))
		v.p[i], v.q[i] = inv[i], float32(-mean[i]*inv[i])
	}
	var res []float32
	if n.res != nil {
		res = n.res.x[at:][:size]
	}
	k.ChannelLastScale(y, z, res, v.p, v.q, pixels, stride, n.relu)
}

// gradient writes that of an image's input: with G = ∂L/∂y masked by the ReLU and n pixels,
// dz = inv·(G − ΣG/n) − inv³·(z − mean)·Σ G·(z−mean)/n.
func (n *instanceNorm) gradient(v *normScratch, img int) {
	g, k := n.in.g, n.s.w.set
	c, stride, pixels := g.C, g.PixelStride, g.Pixels()
	at, size := g.PixelAt(img, 0, 0), pixels*stride
	mean, inv := n.mean[img*c:(img+1)*c], n.inv[img*c:(img+1)*c]
	a := kernel.ChannelLastNorm{Z: n.in.x[at:][:size], G: n.out.d[at:][:size], Mean: mean, N: pixels, C: c, Stride: stride}
	if n.relu {
		a.Y = n.out.x[at:][:size]
	}
	clear(v.sums)
	clear(v.sums2)
	span(pixels, func(first, count int) {
		clear(v.part)
		clear(v.second)
		b := a
		b.Z, b.G, b.N = a.Z[first*stride:], a.G[first*stride:], count
		if a.Y != nil {
			b.Y = a.Y[first*stride:]
		}
		k.ChannelLastNormSums(v.part, v.second, &b)
		for i := range v.part {
			v.sums[i] += float64(v.part[i])
			v.sums2[i] += float64(v.second[i])
		}
	})
	for i := range v.p {
		f := float64(inv[i])
		v.p[i] = inv[i]
		v.q[i] = float32(-f * f * f * v.sums2[i] / float64(pixels))
		v.r[i] = float32(-f * v.sums[i] / float64(pixels))
	}
	k.ChannelLastNormApply(n.in.d[at:][:size], &a, v.p, v.q, v.r)
	if n.res != nil && n.res.learns {
		copy(n.res.d[at:][:size], a.G)
	}
}
