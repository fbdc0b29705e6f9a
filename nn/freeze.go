package nn

import (
	"fmt"
	"strings"

	"ocl/checkpoint"
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
	b.net.stages = append(b.net.stages, b.here(name))
}

func (b *Builder) here(name string) stage {
	s := stage{name: name, layers: len(b.net.layers), params: b.total(), listed: len(b.net.list), flops: b.net.flops,
		out: b.g}
	if k := len(b.net.stats); k > 0 {
		s.running = b.net.stats[k-1].Offset + b.net.stats[k-1].Out
	}
	return s
}

// staged finds the stages of a network whose builder was told of none.
func (b *Builder) staged() {
	if len(b.net.stages) > 0 {
		return
	}
	for _, s := range b.ends {
		if s.layers <= b.net.trunk {
			b.net.stages = append(b.net.stages, s)
		}
	}
}

// Stages lists the names of the stages that Freeze can freeze, from the images on. The head is in none of them.
func (n *Network) Stages() []string {
	var names []string
	for _, s := range n.stages {
		names = append(names, s.name)
	}
	return names
}

// Freeze freezes the first stages of the network: they keep their parameters, and their batch norms normalise with the
// running statistics in every [Mode] and leave them alone. Their gradients are 0, and a backward pass ends before them,
// which saves its time. Optimisers leave them as they are. 0 freezes nothing. It is an error where the network has
// fewer stages. Call it before the network's first pass: a workspace goes on with the passes that it has made.
func (n *Network) Freeze(stages int) error {
	if stages < 0 {
		return fmt.Errorf("nn: %d stages to freeze. Use 0 for none", stages)
	}
	if all := len(n.stages); stages > all {
		if all == 0 {
			return fmt.Errorf("nn: %s to freeze, and the network has none before its head. Freeze 0, or use another network",
				count.Of(stages, "stage"))
		}
		return fmt.Errorf("nn: %s to freeze, and the network has %d: %s. Freeze at most %d", count.Of(stages, "stage"), all,
			strings.Join(n.Stages(), ", "), all)
	}
	n.frozen, n.latent = frozen{}, nil
	if stages > 0 {
		n.frozen = frozen{stages, n.stages[stages-1]}
	}
	n.shape = shapeOf(n)
	return nil
}

// Frozen is the number of parameters of frozen stages. They are the first ones of Params.
func (n *Network) Frozen() int { return n.frozen.params }

// FrozenFLOPs is the part of FLOPs that frozen stages are.
func (n *Network) FrozenFLOPs() int64 { return n.frozen.flops }

// FrozenParts is the state of the frozen stages alone, of a network that is drawn anew but for them; nil where none is
// frozen.
func (n *Network) FrozenParts() checkpoint.Parts {
	if n.frozen.stages == 0 {
		return nil
	}
	return checkpoint.Parts{
		checkpoint.Numbers("frozen/params", n.params[:n.frozen.params]),
		checkpoint.Numbers("frozen/running", n.running[:n.frozen.running]),
		checkpoint.Then(func() error { n.Changed(); return nil }),
	}
}

// learned returns the layers of a pass that learns, and how many of them are frozen.
func (n *Network) learned() (layers []layer, frozen int) {
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
	return conv.Sketch(false, n.c, n.h, n.w, images)
}

// lowest is the first layer that a backward pass reaches: behind the frozen ones, the first with parameters.
func (n *Network) lowest() int {
	layers, at := n.learned()
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
