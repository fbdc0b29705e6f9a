package wired

import (
	"math"

	"ocl/internal/kernel"
	"ocl/nn/internal/conv"
)

// instanceEps is PyTorch's for instance norm.
const instanceEps = 1e-5

// InstanceNorm adds the normalisation of each channel of each image to mean 0 and variance 1 (plus 1e-5, without
// factors or running statistics), then adds res where it is not nil, then a ReLU if relu is set.
func (s *Section) InstanceNorm(in, res *Map, relu bool) *Map {
	if in.skip > 0 || res != nil && (res.skip > 0 || res.g != in.g) {
		panic("wired: InstanceNorm: maps of trunks or of other shapes. Give maps of one section")
	}
	out := s.newMap(in.g.C, in.g.H, in.g.W)
	n := &instanceNorm{set: s.w.set, in: in, res: res, out: out, relu: relu,
		mean: make([]float32, in.g.N*in.g.C), inv: make([]float32, in.g.N*in.g.C)}
	for range s.w.team.Size() {
		n.scratch = append(n.scratch, newNormScratch(in.g.C))
	}
	reads := []*Map{in}
	if res != nil {
		reads = append(reads, res)
	}
	s.each(n.forward, n.backward, reads...)
	return out
}

type instanceNorm struct {
	set          *kernel.Set
	in, res, out *Map
	relu         bool
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

func (n *instanceNorm) forward(worker, img int) {
	g, v := n.in.g, n.scratch[worker]
	c, stride, pixels := g.C, g.PixelStride, g.Pixels()
	at, size := n.in.at(img), pixels*stride
	z, mean, inv := n.in.x[at:][:size], n.mean[img*c:(img+1)*c], n.inv[img*c:(img+1)*c]
	n.set.PixelSums(v.sums, v.part, z, nil, pixels, stride)
	for i, s := range v.sums {
		mean[i] = float32(s / float64(pixels))
	}
	n.set.PixelSums(v.sums, v.part, z, mean, pixels, stride)
	for i, s := range v.sums {
		inv[i] = float32(1 / math.Sqrt(s/float64(pixels)+instanceEps))
		v.p[i], v.q[i] = inv[i], float32(-mean[i]*inv[i])
	}
	var res []float32
	if n.res != nil {
		res = n.res.x[at:][:size]
	}
	n.set.ChannelLastScale(n.out.x[at:][:size], z, res, v.p, v.q, pixels, stride, n.relu)
}

// backward writes the gradient of an image's input: with G = ∂L/∂y masked by the ReLU and n pixels,
// dz = inv·(G − ΣG/n) − inv³·(z − mean)·Σ G·(z−mean)/n.
func (n *instanceNorm) backward(worker, img int) {
	g, v := n.in.g, n.scratch[worker]
	c, stride, pixels := g.C, g.PixelStride, g.Pixels()
	at, size := n.in.at(img), pixels*stride
	a := kernel.ChannelLastNorm{Z: n.in.x[at:][:size], G: n.out.d[at:][:size], Mean: n.mean[img*c : (img+1)*c], N: pixels,
		C: c, Stride: stride}
	if n.relu {
		a.Y = n.out.x[at:][:size]
	}
	n.set.PixelGradientSums(v.sums, v.sums2, v.part, v.second, &a)
	for i, inv := range n.inv[img*c : (img+1)*c] {
		f := float64(inv)
		v.p[i] = inv
		v.q[i] = float32(-f * f * f * v.sums2[i] / float64(pixels))
		v.r[i] = float32(-f * v.sums[i] / float64(pixels))
	}
	n.set.ChannelLastNormApply(n.in.d[at:][:size], &a, v.p, v.q, v.r)
	if n.res != nil && n.res.learns {
		copy(n.res.d[at:][:size], a.G)
	}
}
