package nn

import (
	"fmt"
	"slices"

	"ocl/internal/count"
	"ocl/nn/internal/conv"
	"ocl/nn/tensor"
)

// latent is how a network learns that takes the activations of its frozen stages in place of images.
type latent struct {
	layers []layer // of a pass: the entry, and what is above the frozen stages
}

// Latent lets the network learn from the activations of its last frozen stage, which take the place of images in each
// pass that learns (latent replay, Pellegrini et al. 2020). Predictions take both, and tell them apart by their shape.
// [Network.Activations] makes activations of images. The state of the network is what it was: parameters, those of the
// frozen stages too.
//
// It is an error where no stage is frozen, and where the activations have the shape of an image. Call it after Freeze,
// and before the network's first pass.
func (n *Network) Latent() error {
	if n.frozen.stages == 0 {
		return fmt.Errorf("nn: a network without frozen stages to take activations of. Freeze at least one")
	}
	g := n.frozen.out
	if g.C == n.c && g.H == n.h && g.W == n.w {
		return fmt.Errorf("nn: the activations behind %s would have the shape of an image, %d×%d×%d, and nobody could tell them apart. Use another width, or freeze another number of stages",
			count.Of(n.frozen.stages, "frozen stage"), g.C, g.H, g.W)
	}
	k := n.frozen.layers
	n.latent = &latent{layers: append([]layer{entryLayer{g.ChannelLast}}, n.layers[k:]...)}
	n.shape = shapeOf(n)
	return nil
}

// LatentShape is the shape [C,H,W] of the activations that a network takes for which Latent was called, and of which it
// has none otherwise.
func (n *Network) LatentShape() (c, h, w int, ok bool) {
	if n.latent == nil {
		return 0, 0, 0, false
	}
	return n.frozen.out.C, n.frozen.out.H, n.frozen.out.W, true
}

// Activations returns the activations [B,C,H,W] of the last frozen stage for images x, of a network for which Latent
// was called. Those of an image depend neither on the others nor on the number of workers. They belong to the
// workspace, and hold until its next prediction.
func (n *Network) Activations(ws *Workspace, x *tensor.Tensor) *tensor.Tensor {
	if n.latent == nil {
		panic("nn: Activations of a network that takes images alone. Call Latent before")
	}
	n.checkImages(x)
	ws.belong(n)
	return ws.below.of(n, ws, x)
}

// below is the frozen part of a latent network in a workspace: a network of its own, which predicts.
type below struct {
	net     *Network
	ws      *Workspace
	version uint64 // of the whole network whose frozen part net has
	out     tensor.Tensor
}

// of makes activations. Most changes of a network leave its frozen part as it is, and its weights then stay packed.
func (b *below) of(n *Network, ws *Workspace, x *tensor.Tensor) *tensor.Tensor {
	switch {
	case b.net == nil:
		b.net, b.version = n.below(), n.version
		b.ws = ws.Beside()
	case b.version != n.version:
		if !slices.Equal(b.net.params, n.params[:n.frozen.params]) ||
			!slices.Equal(b.net.running, n.running[:n.frozen.running]) {
			b.net = n.below()
		}
		b.version = n.version
	}
	features := b.net.PredictFeatures(b.ws, x)
	c, h, w, _ := n.LatentShape()
	b.out.Shape, b.out.Data = append(b.out.Shape[:0], x.Dim(0), c, h, w), features.Data
	return &b.out
}

// below is a network of the frozen stages alone, with copies of their parameters. Its features are their activations.
func (n *Network) below() *Network {
	g, k := n.frozen.out, n.frozen
	b := &Network{
		set: n.set, algorithm: n.algorithm, c: n.c, h: n.h, w: n.w, trunk: k.layers + 1,
		featureDim: g.C * g.H * g.W, flops: k.flops, layers: append(slices.Clone(n.layers[:k.layers]), exitLayer{}),
		list: n.list[:k.listed], stats: n.stats,
		params: slices.Clone(n.params[:k.params]), running: slices.Clone(n.running[:k.running]),
	}
	b.shape = shapeOf(b)
	b.Changed()
	return b
}

// entryLayer takes activations in, in the layout that they had.
type entryLayer struct{ channelLast bool }

type entryState struct {
	out conv.Layout
	y   []float32
}

func (l entryLayer) bind(p *pass, in conv.Layout) (state, conv.Layout) {
	out := in
	if l.channelLast {
		out = conv.ChannelLastLayout(in.C, in.H, in.W, in.N)
	}
	s := &entryState{out, p.buffer("input", out)}
	p.features, p.featureLayout = s.y, out // unless a layer above has others
	return s, out
}

// load copies activations [B,C,H,W] into the layout.
func (s *entryState) load(x *tensor.Tensor) {
	g := s.out
	for img := range x.Dim(0) {
		row := x.Row(img)
		for c := range g.C {
			for y := range g.H {
				line := row[(c*g.H+y)*g.W:][:g.W]
				if !g.ChannelLast {
					copy(s.y[g.RowAt(c, img, y):], line)
					continue
				}
				at := g.PixelAt(img, y, 0) + c
				for i, v := range line {
					s.y[at+i*g.PixelStride] = v
				}
			}
		}
	}
}

func (s *entryState) forward(*pass, []float32) []float32 { return s.y }

// backward has nothing to do: what is frozen has no gradient.
func (s *entryState) backward(*pass, []float32) []float32 { return nil }

func (l entryLayer) String() string {
	return fmt.Sprintf("activations, channel-last: %v", l.channelLast)
}

// exitLayer makes features of the activations of the last layer, in the order (c, y, x).
type exitLayer struct{}

type exitState struct {
	in, out conv.Layout
	y       []float32
}

func (exitLayer) bind(p *pass, in conv.Layout) (state, conv.Layout) {
	s := &exitState{in: in, out: conv.ChannelLastLayout(in.C*in.H*in.W, 1, 1, in.N)}
	s.y = p.buffer("features", s.out)
	p.features, p.featureLayout = s.y, s.out
	return s, s.out
}

func (s *exitState) forward(p *pass, x []float32) []float32 {
	p.flush()
	g := s.in
	for img := range p.images {
		row := s.y[img*s.out.PixelStride:]
		for c := range g.C {
			for y := range g.H {
				line := row[(c*g.H+y)*g.W:][:g.W]
				if !g.ChannelLast {
					copy(line, x[g.RowAt(c, img, y):])
					continue
				}
				at := g.PixelAt(img, y, 0) + c
				for i := range line {
					line[i] = x[at+i*g.PixelStride]
				}
			}
		}
	}
	p.mark("activations", "forward")
	return s.y
}

// backward has nothing to do: the network of frozen stages predicts alone.
func (s *exitState) backward(*pass, []float32) []float32 { return nil }

func (exitLayer) String() string { return "activations as features" }
