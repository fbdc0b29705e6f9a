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

// inputs are the images of a trainer, and what its learner takes of them.
type inputs struct {
	image    [3]int // C, H, W
	features int    // D, the numbers of an embedding, where a pretrained network makes embeddings of the images; 0 is none
}

// stream is what the learner is told of its stream.
func (i inputs) stream(c config.Config, classes int) ocl.StreamInfo {
	s := ocl.StreamInfo{Name: c.Data.Name, Channels: i.image[0], Height: i.image[1], Width: i.image[2], Classes: classes, Batch: c.Stream.Batch}
	if i.features > 0 {
		s.Channels, s.Height, s.Width, s.Embeddings, s.Of = i.features, 1, 1, true, i.image
	} else {
		s.Pixels = ocl.NewPixelValues(s.Channels, c.Stream.Mean, c.Stream.Std)
	}
	return s
}

// shape is that of what the learner takes: C, H, W.
func (i inputs) shape() [3]int {
	if i.features > 0 {
		return [3]int{i.features, 1, 1}
	}
	return i.image
}

// bytes are those of an image, uint8 [C,H,W].
func (i inputs) bytes() int { return i.image[0] * i.image[1] * i.image[2] }

// embeddedAtOnce is how many images go through a pretrained network together: few, as one of them has large maps.
const embeddedAtOnce = 4

// eyes are a pretrained network that does not learn, in front of a learner of embeddings.
type eyes struct {
	net   *backbone.Backbone
	maker *embed.Maker
}

// frozenFile is the pretrained network of a file, which one trainer hands to the next one.
type frozenFile struct {
	file string
	net  *backbone.Backbone
}

// newEyes are those of a config with data.backbone, for images of a shape.
func newEyes(net *backbone.Backbone, image [3]int, p Process) (*eyes, error) {
	maker, err := embed.New(net, image)
	if err != nil {
		return nil, err
	}
	if err := maker.CheckMemory(p.AtOnce+1, 1, embeddedAtOnce); err != nil { // one more learns
		return nil, fmt.Errorf("%w: %w. Use a smaller network, or fewer predictions AtOnce", ErrBound, err)
	}
	return &eyes{net, maker}, nil
}

// openBackbone opens the pretrained network of a config, which is in the file of the options of the process.
func openBackbone(c config.Config, p Process) (*backbone.Backbone, error) {
	if p.Backbone == "" {
		return nil, fmt.Errorf("%w: the learner knows embeddings of the network %s. Say where the file of that network is, in the option Backbone", ErrBackbone, c.Data.BackboneDigest)
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

// eyesOf are the eyes of a state or run, which knows the digest of its network; nil where its learner takes the images themselves.
func eyesOf(c config.Config, i inputs, p Process) (*eyes, error) {
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
		return nil, fmt.Errorf("the pretrained network makes embeddings of %d numbers, and the learner takes %d. Use a file that ocl wrote", d, i.features)
	}
	return newEyes(net, i.image, p)
}

// withBackbone opens the pretrained network of the options, and gives a config what it has of it. The config names the network by its digest: where the file is,
// is an option of the process.
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

// frozen is the network as an exported classifier has it in front of its own; nil is none. file is where it was read from.
func (e *eyes) frozen(image [3]int, file string) (*onnx.Frozen, error) {
	if e == nil {
		return nil, nil
	}
	layers, err := e.net.Layers(file)
	return &onnx.Frozen{Net: e.net, Layers: layers, Of: image}, err
}

// desk is what one goroutine makes embeddings with; nil where there is nothing to make.
func (e *eyes) desk() *embed.Desk {
	if e == nil {
		return nil
	}
	return e.maker.Desk(1, embeddedAtOnce)
}
