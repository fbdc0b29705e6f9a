// Package arch holds the networks of the survey, the reduced ResNet-18 and a multi-layer perceptron, a head alone, and
// the catalogue from which configs choose. It knows only how layers follow each other. Another module adds a network of
// its own with [Register]:
//
//	build := func(c arch.Config, src *rng.Source) (*nn.Network, error) {
//		b, err := nn.NewBuilder(c.Channels, c.Height, c.Width, c.Engine, src)
//		if err != nil {
//			return nil, err
//		}
//		b.Linear("hidden", 16*c.NF, true)
//		if err := b.Head("linear", c.Head, c.Classes); err != nil {
//			return nil, err
//		}
//		return b.Build()
//	}
//	arch.Register(arch.Info{Name: "shallow", Settings: []string{arch.Width}, Build: build})
package arch

import (
	"fmt"

	"ocl/nn"
	"ocl/rng"
)

// Config sizes a network and says how it computes. NF is the width of ResNet18, Hidden the hidden layers of MLP, which
// have cosines in place of ReLUs if Waves is set.
type Config struct {
	Channels, Height, Width int
	Classes                 int
	NF                      int
	Hidden                  []int
	Waves                   bool
	Head                    nn.Head // the zero value is linear
	Engine                  nn.Engine
}

func (c Config) check() error {
	if c.Channels < 1 || c.Height < 1 || c.Width < 1 || c.Classes < 1 {
		return fmt.Errorf("arch: images of %d×%d×%d and %d classes. Use at least 1 of each", c.Channels, c.Height, c.Width,
			c.Classes)
	}
	return nil
}

const (
	stages   = 4 // of ResNet18; each but the first halves the sides of the map, rounding up
	poolSide = 4 // of its average pooling

	// LeastSide is the smallest side in pixels of the images that ResNet18 takes: its last map is poolSide wide.
	LeastSide = (poolSide-1)<<(stages-1) + 1
)

// ResNet18 is the reduced ResNet-18 of the survey (§exp_setup): a 3×3 stem of NF channels without
// max-pooling, four stages of two basic blocks with NF, 2·NF, 4·NF and 8·NF channels, 4×4 average pooling and a
// head over all classes. Features have 8·NF·⌊h/4⌋·⌊w/4⌋ values for a last map of h×w. Images with a side below
// [LeastSide] are an error. It draws from src.
func ResNet18(c Config, src *rng.Source) (*nn.Network, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.NF < 1 {
		return nil, fmt.Errorf("arch: resnet18: width %d is too small. Use at least 1", c.NF)
	}
	b, err := nn.NewBuilder(c.Channels, c.Height, c.Width, c.Engine, src)
	if err != nil {
		return nil, err
	}
	b.Stem("conv1", "bn1", c.NF)
	b.Stage("stem")
	for stage := range stages {
		for block := range 2 {
			stride := 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			b.Block(fmt.Sprintf("layer%d.%d", stage+1, block), c.NF<<stage, stride)
		}
		b.Stage(fmt.Sprintf("layer%d", stage+1))
	}
	if b.AvgPool(poolSide) != nil { // in terms of the images rather than of the last map
		return nil, fmt.Errorf("arch: resnet18: images of %d×%d are smaller than %d×%d. Use larger images, or an MLP (--network mlp)",
			c.Height, c.Width, LeastSide, LeastSide)
	}
	if err := b.Head("linear", c.Head, c.Classes); err != nil {
		return nil, err
	}
	return b.Build()
}

// MLP is a perceptron with the given hidden layers, each followed by a ReLU or a cosine, and a head. It draws from
// src.
func MLP(c Config, src *rng.Source) (*nn.Network, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if len(c.Hidden) == 0 {
		return nil, fmt.Errorf("arch: mlp: there is no hidden layer. Give at least one, such as 400")
	}
	b, err := nn.NewBuilder(c.Channels, c.Height, c.Width, c.Engine, src)
	if err != nil {
		return nil, err
	}
	for i, h := range c.Hidden {
		if h < 1 {
			return nil, fmt.Errorf("arch: mlp: hidden layer %d has %d units. Use at least 1", i+1, h)
		}
		if name := fmt.Sprintf("hidden.%d", i); c.Waves {
			b.Waves(name, h)
		} else {
			b.Linear(name, h, true)
		}
	}
	if err := b.Head("linear", c.Head, c.Classes); err != nil {
		return nil, err
	}
	return b.Build()
}

// Linear is a head on the values of the images, without a hidden layer. It draws from src.
func Linear(c Config, src *rng.Source) (*nn.Network, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	b, err := nn.NewBuilder(c.Channels, c.Height, c.Width, c.Engine, src)
	if err != nil {
		return nil, err
	}
	if err := b.Flatten(); err != nil {
		return nil, err
	}
	if err := b.Head("linear", c.Head, c.Classes); err != nil {
		return nil, err
	}
	return b.Build()
}
