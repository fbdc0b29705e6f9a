package nn

import (
	"errors"
	"fmt"
	"math"

	"ocl/nn/internal/conv"
)

// ErrMemory is wrapped by errors about what needs more memory than this process may use.
var ErrMemory = errors.New("too little memory")

// saturated is a number of bytes or values as an int64, which holds no larger ones.
func saturated(v float64) int64 {
	if v >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(v)
}

// Footprint says how much memory a network's passes take. It holds nothing of the network that is large.
type Footprint struct{ net Network }

// Footprint says how much memory passes of the network take.
func (n *Network) Footprint() Footprint {
	c := *n
	c.params, c.grads, c.running = nil, nil, nil
	return Footprint{c}
}

// Params is the number of parameters.
func (f Footprint) Params() (sum int) {
	for _, p := range f.net.info.Named {
		sum += p.Len()
	}
	return sum
}

// Pass is the least memory in bytes that a forward and a backward pass over so many images keeps: activations and,
// where layers do not share them, gradients. It takes none. It is an error if the maps of so many images cannot be made
// at all.
func (f Footprint) Pass(images int) (float64, error) {
	n := &f.net
	floats := 0.0
	var fault error
	take := func(copies int, g conv.Layout) {
		if err := g.Check(); err != nil && fault == nil {
			fault = fmt.Errorf("nn: %w", err)
		}
		floats += float64(copies) * float64(g.Size())
	}
	g := n.inputLayout(images)
	layers, frozen := n.passLayers()
	for i, l := range layers {
		if i == frozen {
			floats = 0 // frozen layers share their maps, so only those above count
		}
		switch l := l.(type) {
		case entryLayer:
			g = conv.Sketch(l.channelLast, g.C, g.H, g.W, images)
			take(1, g)
		case *stemLayer:
			take(1, g)
			g = conv.Sketch(false, l.out, g.H, g.W, images)
			take(2, g) // the sum and the output of the batch norm
		case *blockLayer:
			w := conv.Window{Taps: 9, Stride: l.stride}
			g = conv.Sketch(g.ChannelLast, l.out, w.Out(g.H), w.Out(g.W), images)
			take(4, g)
			if l.short.size > 0 {
				take(1, g)
			}
		case channelLastLayer:
			g = conv.Sketch(true, g.C, g.H, g.W, images)
			take(1, g)
		case poolLayer:
			g = conv.Sketch(true, g.C*(g.H/l.side)*(g.W/l.side), 1, 1, images)
			take(1, g)
		case flattenLayer:
			g = conv.Sketch(true, l.values, 1, 1, images)
			take(1, g)
		case *cosineLayer:
			take(1, g) // the gradient of the input
			g = conv.Sketch(true, l.out, 1, 1, images)
			take(2, g)
		case *linearLayer:
			if l.input {
				g = conv.Sketch(true, g.C*g.H*g.W, 1, 1, images)
				take(1, g)
			}
			take(1, g) // the gradient of the input
			g = conv.Sketch(true, l.out, 1, 1, images)
			take(1, g)
		}
	}
	return 4 * floats, fault
}

// Weights is the memory in bytes that the parameters take beside themselves and their gradients in a workspace that
// learns and predicts: packed for the kernels, forward and, but for the first layer and frozen ones, backward. Those of
// passes that pack weights just before their use take less.
func (f Footprint) Weights() float64 {
	floats := 0.0
	frozen := f.net.frozen.params
	for i, p := range f.net.info.Named {
		if p.In == 0 { // no weights of a convolution or a linear layer
			continue
		}
		floats += float64(p.Len())
		if i > 0 && p.Offset >= frozen {
			floats += float64(p.Len())
		}
	}
	return 4 * floats
}
