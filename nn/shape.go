package nn

import (
	"fmt"

	"ocl/internal/count"
	"ocl/internal/kernel"
)

// shape is what the buffers of a workspace depend on. It does not change; Freeze gives its network another one.
type shape struct {
	set         *kernel.Set
	convolution string
	parts       []string // see shapeOf
}

// shapeNow is the shape that the network has until the next Freeze.
func (n *Network) shapeNow() shape { return shape{n.set, n.info.Engine.Convolution, n.shape} }

// differs says in what two shapes differ: kernel set, algorithm of convolutions, size of the images, layers, or what is
// frozen. It returns what each has, or nothing.
func (s shape) differs(other shape) (own, others string) {
	if s.set != other.set {
		return "kernel set " + s.set.Name, "kernel set " + other.set.Name
	}
	if s.convolution != other.convolution {
		return "convolutions " + s.convolution, "convolutions " + other.convolution
	}
	return differInParts(s.parts, other.parts)
}

// differInParts is differs for the images, the layers and what is frozen alone.
func differInParts(s, other []string) (own, others string) {
	for i := range max(len(s), len(other)) {
		if own, others := at(s, i), at(other, i); own != others {
			return own, others
		}
	}
	return "", ""
}

func at(shape []string, i int) string {
	if i < len(shape) {
		return shape[i]
	}
	return "nothing further"
}

// shapeOf says in words what the network's activations depend on: the images, then layer after layer.
func shapeOf(n *Network) []string {
	shape := []string{fmt.Sprintf("images of %d×%d×%d", n.info.Input[0], n.info.Input[1], n.info.Input[2])}
	for i, l := range n.layers {
		shape = append(shape, fmt.Sprintf("layer %d: %v", i+1, l))
	}
	if f := n.frozen.stages; f > 0 {
		shape = append(shape, count.Of(f, "frozen stage"))
	}
	if n.latent != nil {
		shape = append(shape, "their activations in place of images")
	}
	if !n.info.Head.PerClass() { // no layer says how many
		shape = append(shape, fmt.Sprintf("%d classes", n.info.Capacity))
	}
	if len(n.layers) == 0 { // they are wired elsewhere
		for _, p := range n.info.Named {
			shape = append(shape, fmt.Sprintf("%s of %v", p.Name, p.Shape()))
		}
	}
	return shape
}

func (l *stemLayer) String() string { return fmt.Sprintf("stem of %d channels", l.out) }

func (l *blockLayer) String() string {
	return fmt.Sprintf("block of %d channels, stride %d", l.out, l.stride)
}

func (channelLastLayer) String() string { return "planes to channel-last" }

func (l poolLayer) String() string { return fmt.Sprintf("average pooling by %d", l.side) }

func (l *linearLayer) String() string {
	if l.relu {
		return fmt.Sprintf("linear layer of %d outputs, with a ReLU", l.out)
	}
	if l.wave {
		return fmt.Sprintf("linear layer of %d outputs, with a cosine", l.out)
	}
	return fmt.Sprintf("linear layer of %d outputs", l.out)
}
