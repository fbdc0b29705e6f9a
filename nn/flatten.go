package nn

import (
	"fmt"

	"ocl/nn/internal/conv"
)

// flattenLayer makes features of the images: their values as they are, in the order (c, y, x).
type flattenLayer struct{ values int }

type flattenState struct {
	in conv.Layout
	x  []float32
}

// Flatten makes the values of the images the features, in the order (c, y, x), for a network of a head alone. It comes
// first.
func (b *Builder) Flatten() error {
	if len(b.net.layers) > 0 {
		return fmt.Errorf("nn: flattening behind %d layers. Flatten the images themselves, or pool a map", len(b.net.layers))
	}
	l := flattenLayer{b.g.C * b.g.H * b.g.W}
	b.net.layers = append(b.net.layers, l)
	b.g = conv.Sketch(true, l.values, 1, 1, 1)
	b.net.info.FeatureDim = l.values
	return nil
}

func (l flattenLayer) bind(p *pass, in conv.Layout) (state, conv.Layout) {
	s := &flattenState{in: conv.ChannelLastLayout(l.values, 1, 1, in.N)}
	s.x = p.allocate("input", s.in)
	p.features, p.featureLayout = s.x, s.in
	return s, s.in
}

func (s *flattenState) forward(*pass, []float32) []float32 { return s.x }

// backward has nothing to do: the images have no gradient.
func (s *flattenState) backward(*pass, []float32) []float32 { return nil }

func (l flattenLayer) String() string { return fmt.Sprintf("images as %d features", l.values) }
