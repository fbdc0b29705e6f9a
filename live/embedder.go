package live

import (
	"fmt"

	"ocl"
	"ocl/config"
	"ocl/data/embed"
	"ocl/internal/cause"
	"ocl/nn/arch"
	"ocl/nn/backbone"
	"ocl/nn/onnx"
	"ocl/run/build"
)

// inputs says which images a trainer gets, and which of their numbers its learner gets.
type inputs struct {
	image    [3]int // C, H, W
	features int    // D, the numbers of an embedding, where a pretrained network makes embeddings of the images; 0 is none
}

// stream describes the stream of the learner: embeddings, or the images themselves.
func (i inputs) stream(c config.Config, classes int) ocl.StreamInfo {
	s := ocl.StreamInfo{Name: c.Data.Name, Channels: i.image[0], Height: i.image[1], Width: i.image[2], Classes: classes,
		Batch: c.Stream.Batch}
	if i.features > 0 {
		s.Channels, s.Height, s.Width, s.Embeddings, s.Of = i.features, 1, 1, true, i.image
	} else {
		s.Pixels = ocl.NewPixelValues(s.Channels, c.Stream.Mean, c.Stream.Std)
	}
	return s
}

// shape is the shape [C,H,W] of one input of the learner.
func (i inputs) shape() [3]int {
	if i.features > 0 {
		return [3]int{i.features, 1, 1}
	}
	return i.image
}

// bytes is the size of an image, uint8 [C,H,W], in bytes.
func (i inputs) bytes() int { return i.image[0] * i.image[1] * i.image[2] }

// embeddedAtOnce is how many images go through the pretrained network together: few, because the maps of one of them
// take much memory.
const embeddedAtOnce = 4

// embedder is a pretrained network that does not learn, and makes the embeddings that the learner gets. Each goroutine
// has a desk of its own.
type embedder struct {
	net   *backbone.Backbone
	maker *embed.Maker
}

// frozenFile is the pretrained network of a file, which one trainer hands to the next one.
type frozenFile struct {
	file string
	net  *backbone.Backbone
}

// newEmbedder returns the embedder of a network for images of a shape [C,H,W]. An error wraps ErrBound if the network
// takes more memory than there is for one batch and AtOnce predictions.
func newEmbedder(net *backbone.Backbone, image [3]int, p Process) (*embedder, error) {
	maker, err := embed.New(net, image)
	if err != nil {
		return nil, err
	}
	if err := maker.CheckMemory(p.AtOnce+1, 1, embeddedAtOnce); err != nil { // one more learns
		return nil, fmt.Errorf("%w: %w. Use a smaller network, or fewer predictions AtOnce", ErrBound, err)
	}
	return &embedder{net, maker}, nil
}

// openBackbone opens the pretrained network that a config names by its digest, from the file of Process.Backbone. An
// error wraps ErrBackbone if there is no file, or another network in it.
func openBackbone(c config.Config, p Process) (*backbone.Backbone, error) {
	if p.Backbone == "" {
		return nil, fmt.Errorf("%w: the learner knows embeddings of the network %s. Say where the file of that network is, in the option Backbone",
			ErrBackbone, c.Data.BackboneDigest)
	}
	if o := p.opened; o.net != nil && o.file == p.Backbone && o.net.Digest() == c.Data.BackboneDigest {
		return o.net, nil
	}
	c.Data.Backbone = p.Backbone
	net, err := build.Backbone(c)
	if err != nil {
		return nil, cause.As(inFields(err), ErrBackbone)
	}
	return net, nil
}

// embedderOf returns the embedder of a state or of a run, whose config has the digest of the network; nil if its
// learner gets the images themselves. An error wraps ErrBackbone if the option Backbone does not fit.
func embedderOf(c config.Config, i inputs, p Process) (*embedder, error) {
	switch {
	case i.features == 0 && p.Backbone != "":
		return nil, fmt.Errorf("%w: the learner has learned without one. Leave out the option Backbone", ErrBackbone)
	case i.features == 0:
		return nil, nil
	}
	net, err := openBackbone(c, p)
	if err != nil {
		return nil, err
	}
	if d := net.Info().Features; d != i.features {
		return nil, fmt.Errorf("the pretrained network makes embeddings of %d numbers, and the learner takes %d. Use a file that ocl wrote",
			d, i.features)
	}
	return newEmbedder(net, i.image, p)
}

// withBackbone opens the pretrained network of the options, and writes its digest into c. The path of its file stays an
// option of the process. A config with the default network gets a linear one.
func withBackbone(c *config.Config, p Process) (*backbone.Backbone, error) {
	net, err := openBackbone(*c, p)
	if err != nil {
		return nil, err
	}
	c.Data.BackboneDigest = net.Digest()
	if c.Network.Name == config.Default().Network.Name { // the one for images, that nobody has chosen
		c.Network.Name = arch.NameLinear
	}
	return net, nil
}

// frozen is the network as the front of an exported classifier, nil without one. file is the path that it was read
// from. It fails if the file cannot be read again.
func (e *embedder) frozen(image [3]int, file string) (*onnx.Frozen, error) {
	if e == nil {
		return nil, nil
	}
	layers, err := e.net.Layers(file)
	return &onnx.Frozen{Net: e.net, Layers: layers, Of: image}, err
}

// newDesk returns a desk for the embeddings of one goroutine, which closes it; nil without a network.
func (e *embedder) newDesk() *embed.Desk {
	if e == nil {
		return nil
	}
	return e.maker.Desk(1, embeddedAtOnce)
}
