package build

import (
	"cmp"
	"fmt"

	"ocl/config"
	"ocl/nn"
	"ocl/nn/backbone"
)

// Backbone opens the pretrained network of a config, which must be the one of data.backbone_digest if there is one. It
// computes with the kernels of the config where the machine has them.
func Backbone(c config.Config) (*backbone.Backbone, error) {
	net, err := backbone.Open(c.Data.Backbone, engine(c))
	if err != nil {
		return nil, fmt.Errorf("data.%w", err) // it begins with "backbone: " and the file
	}
	if want := c.Data.BackboneDigest; want != "" && want != net.Digest() {
		return nil, fmt.Errorf("data.backbone: %s: its digest is %s, but that of the run's network is %s. Give the file that the run had",
			c.Data.Backbone, net.Digest(), want)
	}
	return net, nil
}

// engine returns the engine of a pretrained network: the kernels of the config and the default convolutions. It does
// not take the convolutions of the config: in a finished run those are of the network that learned, which often has
// none.
func engine(c config.Config) nn.Engine {
	usual := nn.DefaultEngine()
	e := nn.Engine{Kernel: cmp.Or(c.Engine.Kernel, usual.Kernel), Convolution: usual.Convolution}
	if e.Check() != nil {
		return usual
	}
	return e
}
