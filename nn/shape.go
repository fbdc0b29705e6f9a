package nn

import "fmt"

// differs says in what two networks differ that the buffers of a workspace depend on: kernel set, algorithm of
// convolutions, size of the images, and layers. It returns what each has, or nothing.
func (n *Network) differs(other *Network) (own, others string) {
	if n.set != other.set {
		return "kernel set " + n.set.Name, "kernel set " + other.set.Name
	}
	if n.info.Engine.Convolution != other.info.Engine.Convolution {
		return "convolutions " + n.info.Engine.Convolution, "convolutions " + other.info.Engine.Convolution
	}
	return n.differsInShape(other)
}

// differsInShape is differs for the images and the layers alone.
func (n *Network) differsInShape(other *Network) (own, others string) {
	for i := range max(len(n.shape), len(other.shape)) {
		if own, others := at(n.shape, i), at(other.shape, i); own != others {
			return own, others
		}
	}
	return "", ""
}

func at(shape []string, i int) string {
	if i < len(shape) {
		return shape[i]
	}
	return "no further layer"
}

// shapeOf says in words what the network's activations depend on: the images, then layer after layer.
func shapeOf(n *Network) []string {
	shape := []string{fmt.Sprintf("images of %d×%d×%d", n.info.Input[0], n.info.Input[1], n.info.Input[2])}
	for i, l := range n.layers {
		shape = append(shape, fmt.Sprintf("layer %d: %v", i+1, l))
	}
	if f := n.frozen.stages; f > 0 {
		shape = append(shape, fmt.Sprintf("%d frozen stages", f))
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
	return fmt.Sprintf("linear layer of %d outputs", l.out)
}
