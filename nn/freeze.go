package nn

import (
	"fmt"
	"strings"

	"ocl/internal/count"
	"ocl/nn/internal/conv"
)

// stage is where a stage of a network ends.
type stage struct {
	name                    string
	layers, params, running int   // up to its end
	listed                  int   // parameters by name
	flops                   int64 // of them
	out                     conv.Layout
}

// frozen is the part of a network that does not learn. The zero value is none of it.
type frozen struct {
	stages int
	stage  // the last of them; zero where stages is 0
}

// Stage ends a stage of the network, which [Network.Freeze] can freeze with all stages before it: the layers that were
// added since the last call. A builder on which Stage is never called makes each stem, each block and each linear layer
// before the head a stage of its own, under the name that it has. Call it before [Builder.Head].
func (b *Builder) Stage(name string) {
	b.net.stages, b.told = append(b.net.stages, b.here(name)), true
}

func (b *Builder) here(name string) stage {
	s := stage{name: name, layers: len(b.net.layers), params: b.total(), listed: len(b.net.info.Named),
		flops: b.net.info.FLOPs,
		out:   b.g}
	if k := len(b.net.info.Statistics); k > 0 {
		s.running = b.net.info.Statistics[k-1].Offset + b.net.info.Statistics[k-1].Out
	}
	return s
}

// staged finds the stages of a network whose builder was told of none, and names all.
func (b *Builder) staged() {
	for _, s := range b.ends {
		if s.layers <= b.net.trunk && !b.told {
			b.net.stages = append(b.net.stages, s)
		}
	}
	for _, s := range b.net.stages {
		b.net.info.Stages = append(b.net.info.Stages, s.name)
	}
}

// Freeze freezes the first stages of the network: they keep their parameters, and their batch norms normalise with the
// running statistics in every [Mode] and leave them alone. Their gradients are 0, and a backward pass ends before them,
// which saves its time. Optimisers leave them as they are. 0 freezes nothing.
//
// A latent network learns from the activations of its last frozen stage, which take the place of images in each pass
// that learns (latent replay, Pellegrini et al. 2020). Predictions take both, and tell them apart by their shape.
// [Network.Activations] makes activations of images. The state of the network is what it was: parameters, those of
// the frozen stages too.
//
// It is an error, which changes nothing, where the network has fewer stages, and for a latent network where no stage is
// frozen or the activations have the shape of an image. Call it before the network's first pass: a workspace that was
// used before panics with the network.
func (n *Network) Freeze(stages int, latent bool) error {
	if stages < 0 {
		return fmt.Errorf("nn: %d stages to freeze. Use 0 for none", stages)
	}
	if all := len(n.stages); stages > all {
		if all == 0 {
			return fmt.Errorf("nn: %s to freeze, and the network has none before its head. Freeze 0, or use another network",
				count.Of(stages, "stage"))
		}
		return fmt.Errorf("nn: %s to freeze, and the network has %d: %s. Freeze at most %d", count.Of(stages, "stage"), all,
			strings.Join(n.info.Stages, ", "), all)
	}
	f := frozen{}
	if stages > 0 {
		f = frozen{stages, n.stages[stages-1]}
	}
	upper, err := n.above(f, latent)
	if err != nil {
		return err
	}
	n.frozen, n.latent, n.info.Latent = f, upper, [3]int{}
	n.info.Frozen = Frozen{stages, f.params, f.running, f.flops}
	if latent {
		n.info.Latent = [3]int{f.out.C, f.out.H, f.out.W}
	}
	n.shape = shapeOf(n)
	return nil
}

// passLayers returns the layers of a pass that learns, and how many of them are frozen.
func (n *Network) passLayers() (layers []layer, frozen int) {
	if n.latent != nil {
		return n.latent.layers, 1
	}
	return n.layers, n.frozen.layers
}

// inputLayout is the layout of the input of a pass over so many images: the images themselves, or, in a latent network,
// activations in their place.
func (n *Network) inputLayout(images int) conv.Layout {
	if n.latent != nil {
		g := n.frozen.out
		return conv.Sketch(false, g.C, g.H, g.W, images)
	}
	return conv.Sketch(false, n.info.Input[0], n.info.Input[1], n.info.Input[2], images)
}

// lowest is the first layer that a backward pass reaches: behind the frozen ones, the first with parameters.
func (n *Network) lowest() int {
	layers, at := n.passLayers()
	for at > 0 && at < len(layers) {
		switch layers[at].(type) {
		case channelLastLayer, poolLayer:
			at++
			continue
		}
		break
	}
	return at
}
