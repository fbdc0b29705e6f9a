package nn

import (
	"math"

	"ocl/internal/kernel"
	"ocl/nn/internal/conv"
	"ocl/nn/internal/workers"
)

// PyTorch's defaults for batch norm.
const (
	normEps      = 1e-5
	normMomentum = 0.1
)

// norm is batch norm over one activation, in either layout, with the ReLU and the residual sum around it. Chunks are
// channels (planes) or groups of channels (channel-last): no sum is split over workers.
type norm struct {
	s    *kernel.Set
	g    conv.Layout
	relu bool
	ref  normRef

	net    *Network
	mode   Mode
	images int
	known  bool // scale and shift are those of the network's running statistics already

	z, y, res []float32
	grad, dz  []float32
	dst       []float32 // gradients of the parameters are added here, at the parameters' offsets

	mean, inv, scale, shift []float32 // per channel, as the last forward pass used them
	unbiased                []float64 // variance of the batch, for the running statistics
	p, q, r                 []float32
	sums                    []float64 // two a channel
	part                    []float32 // channel-last: partial sums, two a channel
	phase                   int
}

// normRef says where a batch norm's parameters and running statistics lie in a network.
type normRef struct{ gamma, beta, mean, variance int }

const (
	normForward = iota
	normBackward
	// channelSpan is the number of channels of a chunk, pixelPart the positions summed in float32 before float64 takes over.
	channelSpan = conv.ChannelPad
	pixelPart   = 256
)

func newNorm(s *kernel.Set, g conv.Layout, relu bool, ref normRef) *norm {
	n := conv.Reach(g.C)
	v := func() []float32 { return make([]float32, n) }
	return &norm{s: s, g: g, relu: relu, ref: ref, mean: v(), inv: v(), scale: v(), shift: v(), p: v(), q: v(), r: v(),
		unbiased: make([]float64, n), sums: make([]float64, 2*n), part: make([]float32, 2*n)}
}

// forward writes y = relu?(norm(z) + res?).
func (b *norm) forward(team *workers.Team, net *Network, mode Mode, y, z, res []float32, images int) {
	b.net, b.mode, b.y, b.z, b.res, b.images, b.phase = net, mode, y, z, res, images, normForward
	team.Run(b, b.chunks())
}

// settle sets scale and shift by the running statistics, for all passes until the next call.
func (b *norm) settle(net *Network) {
	b.net, b.mode, b.known = net, Eval, true
	b.statistics(0, b.g.C)
}

// finish is what norm does to the output of a convolution once it is settled.
func (b *norm) finish(res []float32) kernel.Finish {
	return kernel.Finish{Scale: b.scale, Shift: b.shift, Res: res, Relu: b.relu}
}

// backward masks grad by y > 0 where a ReLU follows, adds the gradients of γ and β to dst and writes that of z to dz.
func (b *norm) backward(team *workers.Team, dst, dz, grad, y, z []float32, images int) {
	b.dst, b.dz, b.grad, b.y, b.z, b.images, b.phase = dst, dz, grad, y, z, images, normBackward
	if !b.relu {
		b.y = nil
	}
	team.Run(b, b.chunks())
}

func (b *norm) chunks() int {
	if b.g.ChannelLast {
		return roundUp(b.g.C, channelSpan) / channelSpan
	}
	return b.g.C
}

func (b *norm) DoChunk(_, chunk int) {
	lo, hi := chunk, chunk+1
	if b.g.ChannelLast {
		lo, hi = chunk*channelSpan, (chunk+1)*channelSpan
	}
	if b.phase == normForward {
		if !b.known {
			b.statistics(lo, hi)
		}
		if b.g.ChannelLast {
			b.s.ChannelLastScale(b.y[lo:], b.z[lo:], kernel.Tail(b.res, lo), b.scale[lo:hi], b.shift[lo:hi],
				b.images*b.g.Pixels(), b.g.PixelStride, b.relu)
			return
		}
		for img := range b.images {
			b.s.PlaneScale(b.y, b.z, b.res, b.area(lo, img), b.scale[lo], b.shift[lo], b.relu)
		}
		return
	}
	b.gradients(lo, hi)
	if b.g.ChannelLast {
		a := kernel.ChannelLastNorm{Z: b.z[lo:], G: b.grad[lo:], Mean: b.mean[lo:hi], N: b.images * b.g.Pixels(),
			C: hi - lo, Stride: b.g.PixelStride}
		b.s.ChannelLastNormApply(b.dz[lo:], &a, b.p[lo:hi], b.q[lo:hi], b.r[lo:hi])
		return
	}
	for img := range b.images {
		a := kernel.PlaneNorm{Area: b.area(lo, img), Z: b.z, G: b.grad, Mean: b.mean[lo]}
		b.s.PlaneNormApply(b.dz, &a, b.p[lo], b.q[lo], b.r[lo])
	}
}

func (b *norm) area(c, img int) kernel.Area {
	return kernel.Area{Base: b.g.RowAt(c, img, 0), Rows: b.g.H, Cols: b.g.W, RowStride: b.g.RowStride}
}

// statistics sets mean, inv, scale and shift of channels [lo, hi).
func (b *norm) statistics(lo, hi int) {
	net := b.net
	m := float64(b.images * b.g.Pixels())
	if b.mode != Eval {
		b.sum(lo, hi, false)
		for c := lo; c < hi; c++ {
			b.mean[c] = float32(b.sums[c] / m)
		}
		b.sum(lo, hi, true)
	}
	for c := lo; c < min(hi, b.g.C); c++ {
		run := net.running
		var variance float64
		if b.mode == Eval {
			b.mean[c] = run[b.ref.mean+c]
			variance = float64(run[b.ref.variance+c])
		} else {
			variance = b.sums[c] / m
		}
		b.unbiased[c] = b.sums[c] / max(1, m-1)
		inv := 1 / math.Sqrt(variance+normEps)
		b.inv[c] = float32(inv)
		scale := float64(net.params[b.ref.gamma+c]) * inv
		b.scale[c] = float32(scale)
		b.shift[c] = float32(float64(net.params[b.ref.beta+c]) - float64(b.mean[c])*scale)
	}
}

// move moves the running statistics towards those of the batch. Passes that run at once do so afterwards, in their order.
func (b *norm) move() {
	run := b.net.running
	towards := func(at int, v float64) {
		run[at] = float32((1-normMomentum)*float64(run[at]) + normMomentum*v)
	}
	for c := range b.g.C {
		towards(b.ref.mean+c, float64(b.mean[c]))
		towards(b.ref.variance+c, b.unbiased[c])
	}
}

// sum sets sums of channels [lo, hi) to Σ z, or to Σ (z-mean)² if squares is set.
func (b *norm) sum(lo, hi int, squares bool) {
	clear(b.sums[lo:hi])
	if !b.g.ChannelLast {
		for img := range b.images {
			if squares {
				b.sums[lo] += float64(b.s.PlaneSquares(b.z, b.area(lo, img), b.mean[lo]))
			} else {
				b.sums[lo] += float64(b.s.PlaneSum(b.z, b.area(lo, img)))
			}
		}
		return
	}
	part := b.part[2*lo : 2*lo+hi-lo]
	total := b.images * b.g.Pixels()
	for first := 0; first < total; first += pixelPart {
		clear(part)
		z, n := b.z[first*b.g.PixelStride+lo:], min(pixelPart, total-first)
		if squares {
			b.s.ChannelLastSquares(part, z, b.mean[lo:hi], n, b.g.PixelStride)
		} else {
			b.s.ChannelLastSums(part, z, n, b.g.PixelStride)
		}
		for i, v := range part {
			b.sums[lo+i] += float64(v)
		}
	}
}

// gradients masks grad, adds the gradients of γ and β and sets the factors p, q and r of dz = p·grad + q·(z-mean) + r.
func (b *norm) gradients(lo, hi int) {
	n := len(b.mean)
	sg, sgz := b.sums[:n], b.sums[n:]
	b.gradientSums(sg, sgz, lo, hi)
	m := float64(b.images * b.g.Pixels())
	for c := lo; c < min(hi, b.g.C); c++ {
		inv := float64(b.inv[c])
		if b.dst != nil {
			b.dst[b.ref.gamma+c] += float32(sgz[c] * inv)
			b.dst[b.ref.beta+c] += float32(sg[c])
		}
		scale := float64(b.net.params[b.ref.gamma+c]) * inv
		b.p[c], b.q[c], b.r[c] = float32(scale), 0, 0
		if b.mode != Eval {
			b.q[c] = float32(-scale * inv * inv * sgz[c] / m)
			b.r[c] = float32(-scale * sg[c] / m)
		}
	}
}

func (b *norm) gradientSums(sg, sgz []float64, lo, hi int) {
	clear(sg[lo:hi])
	clear(sgz[lo:hi])
	if !b.g.ChannelLast {
		for img := range b.images {
			a := kernel.PlaneNorm{Area: b.area(lo, img), Z: b.z, Y: b.y, G: b.grad, Mean: b.mean[lo]}
			s, t := b.s.PlaneNormSums(&a)
			sg[lo] += float64(s)
			sgz[lo] += float64(t)
		}
		return
	}
	ps := b.part[2*lo : 2*lo+hi-lo]
	pz := b.part[2*lo+hi-lo : 2*hi]
	total := b.images * b.g.Pixels()
	for first := 0; first < total; first += pixelPart {
		clear(ps)
		clear(pz)
		at := first*b.g.PixelStride + lo
		a := kernel.ChannelLastNorm{Z: b.z[at:], Y: kernel.Tail(b.y, at), G: b.grad[at:], Mean: b.mean[lo:hi],
			N: min(pixelPart, total-first), C: hi - lo, Stride: b.g.PixelStride}
		b.s.ChannelLastNormSums(ps, pz, &a)
		for i := range ps {
			sg[lo+i] += float64(ps[i])
			sgz[lo+i] += float64(pz[i])
		}
	}
}

// perSample adds the gradients of γ and β of one image, in Eval mode, after backward masked grad.
func (b *norm) perSample(dst []float32, img int) {
	for c := range b.g.C {
		var s, t float64
		if b.g.ChannelLast {
			for p := img * b.g.Pixels(); p < (img+1)*b.g.Pixels(); p++ {
				g := float64(b.grad[p*b.g.PixelStride+c])
				s += g
				t += g * float64(b.z[p*b.g.PixelStride+c]-b.mean[c])
			}
		} else {
			a := kernel.PlaneNorm{Area: b.area(c, img), Z: b.z, G: b.grad, Mean: b.mean[c]}
			ps, pt := b.s.PlaneNormSums(&a)
			s, t = float64(ps), float64(pt)
		}
		dst[b.ref.gamma+c] += float32(t * float64(b.inv[c]))
		dst[b.ref.beta+c] += float32(s)
	}
}
