package arch

import (
	"cmp"
	"fmt"

	"ocl/internal/origin"
	"ocl/internal/samebits"
	"ocl/nn"
	"ocl/rng"
)

// Info is the entry of a network in the catalogue: what a config calls it, which settings it reads, and how it is made.
type Info struct {
	Name    string
	Summary string // a few words; "" is none

	// Build makes the network of a [Config] with an [nn.Builder], ending with [nn.Builder.Head]. It hands src on to the
	// builder and draws from it in no other way: src is nil where an outline is wanted, which has no parameters. The
	// network takes the images of the Config, has its classes and its head, and computes by its engine.
	Build func(c Config, src *rng.Source) (*nn.Network, error)

	// keys of configs that it reads: network.width, which is Config.NF, and network.hidden, which is Config.Hidden
	Settings  []string
	LeastSide int // smallest side in pixels of the images that it takes; 0 is any
	// Wide is the setting that makes the network large, which messages about memory name; "" is the first of Settings, and
	// the name of the network where there is none.
	Wide string

	origin origin.Origin
	// least is a number of parameters that the network has at least; it takes no memory. nil counts those of the outline.
	least func(c Config) int
}

// Names of the networks of this module.
const (
	NameResNet18 = "resnet18"
	NameMLP      = "mlp"
	NameLinear   = "linear"
)

// The settings that a network may read.
const (
	Width  = "network.width"
	Hidden = "network.hidden"
)

// catalogue lists the networks: those of this module, then those of others in the order of their names.
var catalogue = origin.NewCatalogue(origin.Kind[Info]{What: "network", File: "nn/arch/catalogue.go", OwnFirst: true,
	Of: func(i *Info) (string, *origin.Origin) { return i.Name, &i.origin }, Fault: (*Info).fault},
	Info{Name: NameResNet18, Summary: "reduced", Build: ResNet18, Settings: []string{Width}, LeastSide: LeastSide,
		least: func(c Config) int {
			return 2724*c.NF*c.NF + 8*c.NF*c.Classes // 36+128+512+2048 for the blocks of the four stages, and the head
		}},
	Info{Name: NameMLP, Build: MLP, Settings: []string{Hidden}, least: func(c Config) int {
		least, inputs := 0, c.Channels*c.Height*c.Width
		for _, units := range c.Hidden {
			least += inputs * units
			inputs = units
		}
		return least + inputs*c.Classes
	}},
	Info{Name: NameLinear, Summary: "no hidden layer", Build: Linear, least: func(c Config) int {
		if c.Head.Kind == nn.ProjectionHead {
			return c.Head.Out
		}
		return c.Channels * c.Height * c.Width * c.Classes
	}},
)

// Catalogue lists the networks that there are.
func Catalogue() []Info { return catalogue.All() }

// Lookup finds a network by its name.
func Lookup(name string) (Info, error) {
	info, err := catalogue.Lookup(name)
	if err != nil {
		return Info{}, fmt.Errorf("arch: %w", err)
	}
	return info, nil
}

// Origin is the module that registered the network, and its version; both are "" for those of this module.
func (i Info) Origin() (module, version string) { return i.origin.Module, i.origin.Version }

// WideKey is the key of configs that makes the network large: Wide, or else the first of Settings; "" where there is
// none.
func (i Info) WideKey() string {
	if len(i.Settings) == 0 {
		return ""
	}
	return cmp.Or(i.Wide, i.Settings[0])
}

// New makes the network of a config by Build, or its outline where src is nil. What the Build of another module returns
// is checked: a network that is not the one of the config is an error that names it.
func (i Info) New(c Config, src *rng.Source) (*nn.Network, error) {
	if i.least != nil { // of this module
		return i.Build(c, src)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Height < i.LeastSide || c.Width < i.LeastSide {
		return nil, fmt.Errorf("arch: %s: images of %d×%d are smaller than %d×%d. Use larger images, or another network (--network)",
			i.Name, c.Height, c.Width, i.LeastSide, i.LeastSide)
	}
	net, err := i.Build(c, src)
	if err == nil {
		err = i.fits(net, c, src)
	}
	if err != nil {
		return nil, fmt.Errorf("arch: the network %s: %w", i.Name, err)
	}
	return net, nil
}

// LeastParameters is a number of parameters that the network of a config has at least. It takes little memory, however
// large the network is.
func (i Info) LeastParameters(c Config) (int, error) {
	if i.least != nil {
		return i.least(c), nil
	}
	net, err := i.New(c, nil)
	if err != nil {
		return 0, err
	}
	return net.Footprint().Params(), nil
}

// fits says what is wrong with a network that a registered Build has made of a config.
func (i Info) fits(net *nn.Network, c Config, src *rng.Source) error {
	if net == nil {
		return fmt.Errorf("its Build returned no network and no error. Return one of them")
	}
	if in := net.Info().Input; in != [3]int{c.Channels, c.Height, c.Width} {
		return fmt.Errorf("its Build returned a network for images of %d×%d×%d, and they are %d×%d×%d. Begin with nn.NewBuilder(c.Channels, c.Height, c.Width, …)",
			in[0], in[1], in[2], c.Channels, c.Height, c.Width)
	}
	head, want := net.Info().Head, cmp.Or(c.Head.Kind, nn.LinearHead)
	if head.Kind != want || head.Out != c.Head.Out {
		return fmt.Errorf("its Build returned a network with a %s head, and a %s head is wanted. End with Head(name, c.Head, c.Classes) of the builder",
			head.Kind, want)
	}
	if net.Info().Capacity != c.Classes {
		return fmt.Errorf("its Build returned a network for %d classes, and there are %d. End with Head(name, c.Head, c.Classes) of the builder",
			net.Info().Capacity, c.Classes)
	}
	if (src == nil) != (len(net.Params()) == 0) {
		return fmt.Errorf("its Build gave the builder another source of random numbers than src. Begin with nn.NewBuilder(…, src), also where src is nil")
	}
	if want := samebits.Among(nn.Kernels(), c.Engine.Kernel); want != "" && net.Info().Engine.Kernel != want {
		return fmt.Errorf("its Build returned a network for the %s kernels, and the %s kernels are wanted. Begin with nn.NewBuilder(…, c.Engine, src)",
			net.Info().Engine.Kernel, want)
	}
	seen := map[string]bool{}
	for _, p := range net.Info().Named {
		if p.Name == "" || seen[p.Name] {
			return fmt.Errorf("its Build gave two layers the name %q, or one no name. Give each layer a name of its own", p.Name)
		}
		seen[p.Name] = true
	}
	return ordered(net)
}

// ordered says what is wrong with the order of layers: images go into a stem with its blocks and a pooling, are
// flattened, or neither, then into linear layers, and what the head reads has been pooled, flattened or has gone
// through a ReLU or a cosine.
func ordered(net *nn.Network) error {
	layers := net.Info().Layers
	maps, features := false, false // what the next layer gets
	for at, l := range layers {
		if l.Head {
			if last := layers[len(layers)-1]; last.ReLU {
				return fmt.Errorf("the last layer has a ReLU, and so is no head. End with Head(name, c.Head, c.Classes) of the builder")
			}
			if !features {
				return fmt.Errorf("the head does not read features. Let a pooling, a linear layer with a ReLU or a cosine, or Flatten come before the head")
			}
			return nil
		}
		switch l.Kind {
		case nn.StemLayer:
			if at > 0 {
				return fmt.Errorf("layer %d is a stem, which takes images. Begin with it, and use blocks after it", at+1)
			}
		case nn.FlattenLayer: // which is first, as the builder sees to
		default:
			if !maps && l.Kind != nn.LinearLayer {
				return fmt.Errorf("layer %d is a block or a pooling, and there is no map before it. Begin with a stem, and pool once, before linear layers",
					at+1)
			}
			if maps && l.Kind == nn.LinearLayer {
				return fmt.Errorf("layer %d is a linear layer on a map. Pool before it", at+1)
			}
		}
		maps = l.Kind == nn.StemLayer || l.Kind == nn.BlockLayer
		features = l.Kind == nn.PoolLayer || l.Kind == nn.FlattenLayer || l.Kind == nn.LinearLayer && (l.ReLU || l.Wave)
	}
	return fmt.Errorf("there is no head. End with Head(name, c.Head, c.Classes) of the builder")
}
