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

// norm is batch norm over one activation, in either layout, with the ReLU and the residual sum around it.
//
// In the channel-last layout a chunk of work is a group of channels. In planes it is half of the channels of an
// image, because convolutions share their work by images too; so a worker finds in its own cache what it wrote there.
// Sums are kept for each channel and image and added up in the order of the images. No sum is split over workers in
// either layout.
type norm struct {
	s    *kernel.Set
	g    conv.Layout
	relu bool
	ref  normRef

	net    *Network
	mode   Mode
	images int
	known  bool // scale and shift were computed from the network's running statistics

	z, y, res []float32
	grad      []float32
	dst       []float32 // gradients of the parameters are added here, at the parameters' offsets

	// planes: borders that must be zeros and may not be, because convolutions write beyond rows (see conv.Conv.Spills).
	// They are cleared with the rows, while these are in the first-level cache.
	clearZ, clearY bool

	mean, inv, scale, shift []float32 // per channel, as the last forward pass used them
	unbiased                []float64 // variance of the batch, for the running statistics
	p, q, r                 []float32
	sums                    []float64 // two a channel
	part                    []float32 // channel-last: partial sums, two a channel
	ofImages                []float32 // planes: sums of each channel and image, twice

	// the work that is going on
	phase, first, limit int
	groups              int // that images are cut into, in planes
}

// normRef says where a batch norm's parameters and running statistics lie in a network.
type normRef struct{ gamma, beta, mean, variance int }

// The kinds of work of a norm: on groups of channels, and in planes on images.
const (
	channelsForward = iota
	channelsBackward
	channelsGradientSums
	channelsApply
	imagesSum
	imagesSquares
	imagesWrite
	imagesGradientSums
	imagesApply
)

// channelSpan is the number of channels of a chunk.
const channelSpan = conv.ChannelPad

func newNorm(s *kernel.Set, g conv.Layout, relu bool, ref normRef) *norm {
	n := conv.Reach(g.C)
	v := func() []float32 { return make([]float32, n) }
	b := &norm{s: s, g: g, relu: relu, ref: ref, mean: v(), inv: v(), scale: v(), shift: v(), p: v(), q: v(), r: v(),
		unbiased: make([]float64, n), sums: make([]float64, 2*n)}
	if g.ChannelLast {
		b.part = make([]float32, 2*n)
	} else {
		b.ofImages = make([]float32, 2*g.C*g.N)
	}
	return b
}

// begin starts the forward pass of a batch, y = relu?(norm(z) + res?). In the channel-last layout forward does the
// rest once z is complete. In planes the calls are: observe for the images in their order as soon as they are in z,
// then settleBatch, then write for all of them.
func (b *norm) begin(net *Network, mode Mode, y, z, res []float32, images int) {
	b.net, b.mode, b.y, b.z, b.res, b.images = net, mode, y, z, res, images
}

// forward finds the statistics of z and writes y.
func (b *norm) forward(team *workers.Team) { b.run(team, channelsForward, 0, b.images) }

// observe adds up images [first, limit) of z.
func (b *norm) observe(team *workers.Team, first, limit int) {
	if b.mode != Eval {
		b.run(team, imagesSum, first, limit)
	}
}

// settleBatch finds scale and shift once all images were observed.
func (b *norm) settleBatch(team *workers.Team) {
	if b.known {
		return
	}
	if b.mode != Eval {
		b.addImages(b.sums, b.ofImages)
		b.means(0, b.g.C)
		b.run(team, imagesSquares, 0, b.images)
		b.addImages(b.sums, b.ofImages)
	}
	b.factors(0, b.g.C)
}

// write writes images [first, limit) of y.
func (b *norm) write(team *workers.Team, first, limit int) { b.run(team, imagesWrite, first, limit) }

// settle sets scale and shift by the running statistics, for all passes until the next call.
func (b *norm) settle(net *Network) {
	b.net, b.mode, b.known = net, Eval, true
	b.factors(0, b.g.C)
}

// finish is what norm does to the output of a convolution once it is settled.
func (b *norm) finish(res []float32) kernel.Finish {
	return kernel.Finish{Scale: b.scale, Shift: b.shift, Res: res, Relu: b.relu}
}

// backward masks grad by y > 0 where a ReLU follows, adds the gradients of γ and β to dst and turns z into its
// gradient. It writes over z because nobody reads z afterwards: a buffer less to keep, and to bring into the caches. If
// samples is not nil, it is called when grad is masked and z still whole.
func (b *norm) backward(team *workers.Team, dst, grad, y, z []float32, images int, samples func()) {
	b.dst, b.grad, b.y, b.z, b.images = dst, grad, y, z, images
	if !b.relu {
		b.y = nil
	}
	switch {
	case b.g.ChannelLast && samples == nil:
		b.run(team, channelsBackward, 0, images)
	case b.g.ChannelLast:
		b.run(team, channelsGradientSums, 0, images)
		samples()
		b.run(team, channelsApply, 0, images)
	default:
		b.run(team, imagesGradientSums, 0, images)
		n := len(b.mean)
		b.addImages(b.sums[:n], b.ofImages)
		b.addImages(b.sums[n:], b.ofImages[b.g.C*b.g.N:])
		b.slopes(0, b.g.C)
		if samples != nil {
			samples()
		}
		b.run(team, imagesApply, 0, images)
	}
}

// run does work on images [first, limit).
func (b *norm) run(team *workers.Team, phase, first, limit int) {
	b.phase, b.first, b.limit = phase, first, limit
	if b.g.ChannelLast {
		team.Run(b, roundUp(b.g.C, channelSpan)/channelSpan)
		return
	}
	b.groups = min(team.Size(), limit-first)
	team.Run(b, b.groups*b.g.C)
}

// DoChunk implements [workers.Task].
func (b *norm) DoChunk(_, chunk int) {
	if b.g.ChannelLast {
		b.doChannels(chunk*channelSpan, (chunk+1)*channelSpan)
		return
	}
	group, images := chunk/b.g.C, b.limit-b.first
	b.doImages(chunk%b.g.C, b.first+group*images/b.groups, b.first+(group+1)*images/b.groups)
}

// doChannels does the work on channels [lo, hi), channel-last.
func (b *norm) doChannels(lo, hi int) {
	if b.phase == channelsForward {
		if !b.known {
			if b.mode != Eval {
				b.sumPixels(lo, hi, false)
				b.means(lo, hi)
				b.sumPixels(lo, hi, true)
			}
			b.factors(lo, hi)
		}
		b.s.ChannelLastScale(b.y[lo:], b.z[lo:], kernel.Tail(b.res, lo), b.scale[lo:hi], b.shift[lo:hi],
			b.images*b.g.Pixels(), b.g.PixelStride, b.relu)
		return
	}
	a := kernel.ChannelLastNorm{Z: b.z[lo:], Y: kernel.Tail(b.y, lo), G: b.grad[lo:], Mean: b.mean[lo:hi],
		N: b.images * b.g.Pixels(), C: hi - lo, Stride: b.g.PixelStride}
	if b.phase != channelsApply {
		n, parts := len(b.mean), b.part[2*lo:2*hi]
		b.s.PixelGradientSums(b.sums[lo:hi], b.sums[n+lo:n+hi], parts[:hi-lo], parts[hi-lo:], &a)
		b.slopes(lo, hi)
	}
	if b.phase != channelsGradientSums {
		b.s.ChannelLastNormApply(b.z[lo:], &a, b.p[lo:hi], b.q[lo:hi], b.r[lo:hi])
	}
}

// doImages does the work on images [first, limit) of a channel, in planes.
func (b *norm) doImages(c, first, limit int) {
	sums, more := b.ofImages, b.ofImages[b.g.C*b.g.N:]
	for img := first; img < limit; img++ {
		area, at := b.area(c, img), c*b.g.N+img
		switch b.phase {
		case imagesSum:
			sums[at] = b.s.PlaneSum(b.z, area)
		case imagesSquares:
			sums[at] = b.s.PlaneSquares(b.z, area, b.mean[c])
		case imagesWrite:
			b.s.PlaneScale(b.y, b.z, b.res, area, b.scale[c], b.shift[c], b.relu)
			if b.clearY {
				b.g.ClearBorder(b.y, c, img)
			}
		case imagesGradientSums:
			a := kernel.PlaneNorm{Area: area, Z: b.z, Y: b.y, G: b.grad, Mean: b.mean[c]}
			sums[at], more[at] = b.s.PlaneNormSums(&a)
		case imagesApply:
			a := kernel.PlaneNorm{Area: area, Z: b.z, G: b.grad, Mean: b.mean[c]}
			b.s.PlaneNormApply(b.z, &a, b.p[c], b.q[c], b.r[c])
			if b.clearZ {
				b.g.ClearBorder(b.z, c, img)
			}
		}
	}
}

func (b *norm) area(c, img int) kernel.Area {
	return kernel.Area{Base: b.g.RowAt(c, img, 0), Rows: b.g.H, Cols: b.g.W, RowStride: b.g.RowStride}
}

// addImages sets dst of each channel to the sum over the images, in their order.
func (b *norm) addImages(dst []float64, ofImages []float32) {
	for c := range b.g.C {
		sum := 0.0
		for _, v := range ofImages[c*b.g.N:][:b.images] {
			sum += float64(v)
		}
		dst[c] = sum
	}
}

// count is the number of values of a channel in the batch.
func (b *norm) count() float64 { return float64(b.images * b.g.Pixels()) }

// means sets the means of channels [lo, hi), of which sums has Σ z.
func (b *norm) means(lo, hi int) {
	for c := lo; c < hi; c++ {
		b.mean[c] = float32(b.sums[c] / b.count())
	}
}

// factors sets inv, scale and shift of channels [lo, hi): in Eval mode by the running statistics, otherwise by mean and
// by sums, which has Σ (z-mean)².
func (b *norm) factors(lo, hi int) {
	net, m := b.net, b.count()
	for c := lo; c < min(hi, b.g.C); c++ {
		variance := b.sums[c] / m
		if b.mode == Eval {
			b.mean[c] = net.running[b.ref.mean+c]
			variance = float64(net.running[b.ref.variance+c])
		}
		b.unbiased[c] = b.sums[c] / max(1, m-1)
		inv := 1 / math.Sqrt(variance+normEps)
		b.inv[c] = float32(inv)
		scale := float64(net.params[b.ref.gamma+c]) * inv
		b.scale[c] = float32(scale)
		b.shift[c] = float32(float64(net.params[b.ref.beta+c]) - float64(float64(b.mean[c])*scale))
	}
}

// move updates the running statistics towards those of the batch. For passes that run at the same time this is done
// afterwards, in their order.
func (b *norm) move() {
	run := b.net.running
	towards := func(at int, v float64) {
		run[at] = float32(float64((1-normMomentum)*float64(run[at])) + float64(normMomentum*v))
	}
	for c := range b.g.C {
		towards(b.ref.mean+c, float64(b.mean[c]))
		towards(b.ref.variance+c, b.unbiased[c])
	}
}

// sumPixels sets sums of channels [lo, hi), channel-last, to Σ z, or to Σ (z-mean)² if squares is set.
func (b *norm) sumPixels(lo, hi int, squares bool) {
	var mean []float32
	if squares {
		mean = b.mean[lo:hi]
	}
	b.s.PixelSums(b.sums[lo:hi], b.part[2*lo:2*lo+hi-lo], b.z[lo:], mean, b.images*b.g.Pixels(), b.g.PixelStride)
}

// slopes adds the gradients of γ and β of channels [lo, hi) and sets the factors p, q and r of dz = p·grad + q·(z-mean)
// + r; sums has Σ grad and, in its second half, Σ grad·(z-mean).
func (b *norm) slopes(lo, hi int) {
	n, m := len(b.mean), b.count()
	for c := lo; c < min(hi, b.g.C); c++ {
		sg, sgz := b.sums[c], b.sums[n+c]
		inv := float64(b.inv[c])
		if b.dst != nil {
			b.dst[b.ref.gamma+c] += float32(sgz * inv)
			b.dst[b.ref.beta+c] += float32(sg)
		}
		scale := float64(b.net.params[b.ref.gamma+c]) * inv
		b.p[c], b.q[c], b.r[c] = float32(scale), 0, 0
		if b.mode != Eval {
			b.q[c] = float32(-scale * inv * inv * sgz / m)
			b.r[c] = float32(-scale * sg / m)
		}
	}
}

// perSample adds the gradients of γ and β of one image, in Eval mode, when backward has masked grad.
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
