package nn

import "ocl/nn/internal/conv"

// blockLayer is a basic block of a residual network: conv3×3(stride) → norm → ReLU → conv3×3 → norm, plus the shortcut
// (identity, or conv1×1(stride) → norm), then ReLU.
type blockLayer struct {
	out, stride         int
	conv1, conv2, short convRef // short.size is 0 for the identity
	norm1, norm2, normS normRef
}

type blockState struct {
	l             *blockLayer
	in, out       conv.Layout
	conv1, conv2  conv.Conv
	short         conv.Conv
	bn1, bn2, bnS *norm
	split         *conv.Phases // planes with stride 2
	xs            []float32
	x, z1, y1, z2 []float32
	zs, s, y      []float32
	dx            []float32 // of x, where the shape changes; else it is written to z2
}

func (l *blockLayer) bind(p *pass, in conv.Layout) (state, conv.Layout) {
	w := conv.Window{Taps: 9, Stride: l.stride}
	layout := conv.PlanesLayout
	if in.ChannelLast {
		layout = conv.ChannelLastLayout
	}
	out := layout(l.out, w.Out(in.H), w.Out(in.W), in.N)
	b := &blockState{l: l, in: in, out: out}
	b.conv1 = p.conv(in, out, w, l.conv1)
	b.conv2 = p.conv(out, out, conv.Window{Taps: 9, Stride: 1}, l.conv2)
	b.bn1, b.bn2 = p.norm(out, true, l.norm1), p.norm(out, true, l.norm2)
	b.y1, b.y = p.allocate("mid", out), p.activation(out)
	b.z1 = p.sum("z", b.conv1, out, b.y1)
	if l.short.size > 0 {
		b.short = p.conv(in, out, conv.Window{Taps: 1, Stride: l.stride}, l.short)
		b.bnS = p.norm(out, false, l.normS)
		b.s = b.y // y is free until the sum is written there
		if p.inference {
			b.s = p.allocate("short", out) // convolutions write to y before they read it
		}
		b.zs = p.sum("short z", b.short, out, b.s)
	}
	b.z2 = p.sum("z", b.conv2, out, b.y)
	if !in.ChannelLast && l.stride == 2 {
		b.split = conv.NewPhases(p.set, in)
		b.xs = p.allocate("phases", b.split.Split)
	}
	if p.inference {
		return b, out
	}
	b.bindBackward(p, in)
	return b, out
}

// bindBackward prepares a backward pass. It needs few buffers, because each gradient is written over values of the
// forward pass that are not needed any more.
func (b *blockState) bindBackward(p *pass, in conv.Layout) {
	spills1, into1 := b.conv1.Spills()
	spills2, into2 := b.conv2.Spills()
	b.bn1.clearZ, b.bn2.clearZ, b.bn2.clearY = spills1, spills2, into2
	if b.short == nil {
		b.bn2.clearZ = spills2 || into1
		return
	}
	b.bnS.clearZ, _ = b.short.Spills()
	b.dx = p.gradient(in)
	if b.split != nil {
		b.split.Clear = true
	}
}

func (b *blockState) forward(p *pass, x []float32) []float32 {
	l := b.l
	b.x = x
	if b.split != nil {
		b.forwardSplit(p, x)
		p.convNorm(l.conv2.name, b.conv2, b.bn2, b.out, b.y, b.z2, b.y1, b.s)
		return b.y
	}
	res := x
	if b.short != nil {
		p.convNorm(l.short.name, b.short, b.bnS, b.in, b.s, b.zs, x, nil)
		res = b.s
	}
	p.convNorm(l.conv1.name, b.conv1, b.bn1, b.in, b.y1, b.z1, x, nil)
	p.convNorm(l.conv2.name, b.conv2, b.bn2, b.out, b.y, b.z2, b.y1, res)
	return b.y
}

// forwardSplit does the two convolutions of stride 2 in planes, which read the phases of x, part by part.
func (b *blockState) forwardSplit(p *pass, x []float32) {
	l, in := b.l, b.split.Split
	b.x = b.xs
	if p.folds(b.conv1) {
		p.flush()
		b.split.Run(p.team, b.xs, x, 0, p.images, false)
		p.mark(l.conv1.name, "phases")
		p.convNorm(l.short.name, b.short, b.bnS, in, b.s, b.zs, b.xs, nil)
		p.convNorm(l.conv1.name, b.conv1, b.bn1, in, b.y1, b.z1, b.xs, nil)
		return
	}
	b.bnS.begin(p.net, p.mode, b.s, b.zs, nil, p.images)
	b.bn1.begin(p.net, p.mode, b.y1, b.z1, nil, p.images)
	part := p.partOf(b.conv1, in, b.out) // both convolutions finish, or none does
	for first := 0; first < p.images; first += part {
		limit := min(first+part, p.images)
		p.writePending(first, limit)
		p.mark(l.conv1.name, "norm")
		b.split.Run(p.team, b.xs, x, first, limit, false)
		p.mark(l.conv1.name, "phases")
		p.convolve(l.short.name, b.short, b.bnS, in, b.xs, first, limit)
		p.convolve(l.conv1.name, b.conv1, b.bn1, in, b.xs, first, limit)
	}
	p.pending = append(p.pending[:0], b.bnS, b.bn1)
	b.bnS.settleBatch(p.team)
	b.bn1.settleBatch(p.team)
	p.mark(l.conv1.name, "norm")
}

func (b *blockState) backward(p *pass, g []float32) []float32 {
	l := b.l
	dz2 := p.normBackward(l.conv2, b.bn2, g, b.y, b.z2) // g is masked: now the gradient of both summands
	p.weights(l.conv2, b.conv2, dz2, b.y1)
	dy1 := b.y // only the mask of the ReLU still needed it
	b.conv2.InputGradient(p.team, dy1, dz2, p.images, nil)
	p.mark(l.conv2.name, "input gradient")
	dz1 := p.normBackward(l.conv1, b.bn1, dy1, b.y1, b.z1)
	p.weights(l.conv1, b.conv1, dz1, b.x)
	if b.short == nil {
		if p.last {
			return nil
		}
		dx := b.z2
		b.conv1.InputGradient(p.team, dx, dz1, p.images, g)
		p.mark(l.conv1.name, "input gradient")
		return dx
	}
	dzS := p.normBackward(l.short, b.bnS, g, nil, b.zs)
	p.weights(l.short, b.short, dzS, b.x)
	if p.last {
		return nil
	}
	dx := b.dx
	if b.split != nil {
		dx = b.xs // the weights have read it
	}
	b.conv1.InputGradient(p.team, dx, dz1, p.images, nil)
	p.mark(l.conv1.name, "input gradient")
	b.short.InputGradient(p.team, dx, dzS, p.images, dx)
	p.mark(l.short.name, "input gradient")
	if b.split != nil {
		b.split.Run(p.team, b.dx, dx, 0, p.images, true)
		p.mark(l.conv1.name, "phases")
	}
	return b.dx
}
