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

// above is how the network learns from activations of the stages f, and nil where it is to learn from images.
func (n *Network) above(f frozen, isLatent bool) (*latent, error) {
	switch g := f.out; {
	case !isLatent:
		return nil, nil
	case f.stages == 0:
		return nil, fmt.Errorf("nn: a network without frozen stages to take activations of. Freeze at least one")
	case [3]int{g.C, g.H, g.W} == n.info.Input:
		return nil, fmt.Errorf("nn: the activations behind %s would have the shape of an image, %d×%d×%d, and nobody could tell them apart. Use another width, or freeze another number of stages",
			count.Of(f.stages, "frozen stage"), g.C, g.H, g.W)
	default:
		return &latent{layers: append([]layer{entryLayer{g.ChannelLast}}, n.layers[f.layers:]...)}, nil
	}
}

// Activations returns the activations [B,C,H,W] of the last frozen stage of a latent network for images x, see
// [Network.Freeze]. Those of an image depend neither on the others nor on the number of workers. They belong to the
// workspace, and hold until its next prediction.
func (n *Network) Activations(ws *Workspace, x *tensor.Tensor) *tensor.Tensor {
	if n.latent == nil {
		panic("nn: Activations of a network that takes images alone. Freeze it as a latent one before")
	}
	n.checkImages(x)
	ws.mustFit(n)
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
		b.net, b.version = n.frozenPart(), n.version
		b.ws = ws.Beside()
	case b.version != n.version:
		if !slices.Equal(b.net.params, n.params[:n.frozen.params]) ||
			!slices.Equal(b.net.running, n.running[:n.frozen.running]) {
			b.net = n.frozenPart()
		}
		b.version = n.version
	}
	features := b.net.Predict(b.ws, x).Features
	b.out.Shape, b.out.Data = append(append(b.out.Shape[:0], x.Dim(0)), n.info.Latent[:]...), features.Data
	return &b.out
}

// frozenPart is a network of the frozen stages alone, with copies of their parameters. Its features are their
// activations.
func (n *Network) frozenPart() *Network {
	g, k := n.frozen.out, n.frozen
	b := &Network{
		set: n.set, trunk: k.layers + 1, layers: append(slices.Clone(n.layers[:k.layers]), exitLayer{}),
		info: Info{Input: n.info.Input, Engine: n.info.Engine, FeatureDim: g.C * g.H * g.W, FLOPs: k.flops,
			Named: n.info.Named[:k.listed], Statistics: n.info.Statistics},
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
