package arch_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ocl/nn"
	"ocl/nn/arch"
	"ocl/rng"
)

// layers makes a network by what is put between its first call and its head.
func layers(put func(b *nn.Builder) error) func(arch.Config, *rng.Source) (*nn.Network, error) {
	return func(c arch.Config, src *rng.Source) (*nn.Network, error) {
		b, err := nn.NewBuilder(c.Channels, c.Height, c.Width, c.Engine, src)
		if err == nil {
			err = put(b)
		}
		if err == nil {
			err = b.Head("linear", c.Head, c.Classes)
		}
		if err != nil {
			return nil, err
		}
		return b.Build()
	}
}

// hidden is a network of a hidden layer.
var hidden = layers(func(b *nn.Builder) error { b.Linear("fc", 3, true); return nil })

// TestRegister: a registered network is made like those of this module, with any head, as an outline too.
func TestRegister(t *testing.T) {
	arch.Restore(t)
	arch.Register(arch.Info{Name: "zeta", Build: hidden})
	arch.Register(arch.Info{Name: "alpha", Build: hidden, Settings: []string{arch.Hidden, arch.Width}, Wide: arch.Width})
	var names []string
	for _, i := range arch.Catalogue() {
		names = append(names, i.Name)
	}
	if !slices.Equal(names, []string{"resnet18", "mlp", "linear", "alpha", "zeta"}) {
		t.Errorf("the networks are %q", names)
	}
	alpha, err := arch.Lookup("alpha")
	if err != nil || alpha.WideKey() != arch.Width {
		t.Errorf("alpha is large by %q (%v)", alpha.WideKey(), err)
	}
	for _, head := range []nn.Head{{}, {Kind: nn.LinearHead}, {Kind: nn.CosineHead}, {Kind: nn.ProjectionHead, Out: 5}} {
		c := arch.Config{Channels: 1, Height: 2, Width: 2, Classes: 4, Head: head}
		net, err := alpha.New(c, rng.New(1, "net"))
		if err != nil {
			t.Errorf("%v: %v", head, err)
			continue
		}
		if n, err := alpha.LeastParameters(c); err != nil || n != len(net.Params()) {
			t.Errorf("%v: %d parameters are said (%v), and there are %d", head, n, err, len(net.Params()))
		}
	}
	if _, err := arch.Lookup("alfa"); err == nil ||
		!strings.Contains(err.Error(), `unknown network "alfa". Use resnet18, mlp, linear, alpha or zeta`) {
		t.Errorf("an unknown network: %v", err)
	}
}

func TestRegisterRefuses(t *testing.T) {
	arch.Restore(t)
	good := arch.Info{Name: "tiny", Build: hidden, Settings: []string{arch.Width}}
	arch.Register(good)
	for want, change := range map[string]func(*arch.Info){
		"there is no name":                 func(i *arch.Info) { i.Name = "" },
		`"a b" cannot be a name`:           func(i *arch.Info) { i.Name = "a b" },
		"has 41 letters":                   func(i *arch.Info) { i.Name = strings.Repeat("x", 41) },
		"there is no Build":                func(i *arch.Info) { i.Name, i.Build = "x", nil },
		"the smallest side -1 is negative": func(i *arch.Info) { i.Name, i.LeastSide = "x", -1 },
		`Settings has "network.name"`: func(i *arch.Info) {
			i.Name, i.Settings = "x",
				[]string{"network.name"}
		},
		`Settings has "network.width"`: func(i *arch.Info) {
			i.Name, i.Settings = "x",
				[]string{arch.Width, arch.Width}
		},
		`Wide is "network.hidden"`: func(i *arch.Info) {
			i.Name, i.Wide = "x", arch.Hidden
		},
		"the name Tiny is taken":                                     func(i *arch.Info) { i.Name = "Tiny" },
		"registered at nn/arch/catalogue.go":                         func(i *arch.Info) { i.Name = "ResNet18" },
		"the name tiny is taken by the network tiny, registered at ": func(*arch.Info) {},
	} {
		i := good
		change(&i)
		got := func() (text string) {
			defer func() { text = fmt.Sprint(recover()) }()
			arch.Register(i)
			return ""
		}()
		if !strings.Contains(got, want) || !strings.Contains(got, "arch: Register at ") ||
			!strings.Contains(got, "register_test.go:") {
			t.Errorf("panic %q, want %q", got, want)
		}
	}
}

// TestNetworksAreChecked: a network that is not the one of the config is an error that names it, not a panic later.
func TestNetworksAreChecked(t *testing.T) {
	arch.Restore(t)
	var build func(arch.Config, *rng.Source) (*nn.Network, error)
	arch.Register(arch.Info{Name: "broken", LeastSide: 6,
		Build: func(c arch.Config, src *rng.Source) (*nn.Network, error) { return build(c, src) }})
	broken, err := arch.Lookup("broken")
	if err != nil {
		t.Fatal(err)
	}
	size := arch.Config{Channels: 1, Height: 8, Width: 14, Classes: 4, Head: nn.Head{Kind: nn.CosineHead}}
	changed := func(change func(*arch.Config)) func(arch.Config, *rng.Source) (*nn.Network, error) {
		return func(c arch.Config, src *rng.Source) (*nn.Network, error) {
			change(&c)
			return hidden(c, src)
		}
	}
	headless := func(relu bool) func(c arch.Config, src *rng.Source) (*nn.Network, error) {
		return func(c arch.Config, src *rng.Source) (*nn.Network, error) {
			b, err := nn.NewBuilder(c.Channels, c.Height, c.Width, c.Engine, src)
			if err != nil {
				return nil, err
			}
			b.Linear("fc", c.Classes, true)
			b.Linear("out", c.Classes, relu)
			return b.Build()
		}
	}
	for want, f := range map[string]func(arch.Config, *rng.Source) (*nn.Network, error){
		"the network broken: it is Sunday": func(arch.Config, *rng.Source) (*nn.Network,
			error) {
			return nil, errors.New("it is Sunday")
		},
		"returned no network and no error": func(arch.Config, *rng.Source) (*nn.Network,
			error) {
			return nil, nil
		},
		"for images of 3×8×14, and they are 1×8×14":       changed(func(c *arch.Config) { c.Channels = 3 }),
		"for 5 classes, and there are 4":                  changed(func(c *arch.Config) { c.Classes = 5 }),
		"with a linear head, and a cosine head is wanted": changed(func(c *arch.Config) { c.Head = nn.Head{} }),
		"a projection head, and a cosine head is wanted": changed(func(c *arch.Config) {
			c.Head = nn.Head{Kind: nn.ProjectionHead,
				Out: 4}
		}),
		"gave the builder another source of random numbers": func(c arch.Config, _ *rng.Source) (*nn.Network,
			error) {
			return hidden(c, nil)
		},
		`gave two layers the name "a.weight"`: layers(func(b *nn.Builder) error {
			b.Linear("a", 3,
				true)
			b.Linear("a", 3, true)
			return nil
		}),
		"layer 2 is a stem": layers(func(b *nn.Builder) error {
			b.Stem("a", "b",
				2)
			b.Stem("c", "d", 2)
			return b.AvgPool(2)
		}),
		"layer 1 is a block or a pooling": layers(func(b *nn.Builder) error {
			b.Block("a", 1,
				1)
			return b.AvgPool(2)
		}),
		"layer 3 is a block or a pooling": layers(func(b *nn.Builder) error {
			b.Stem("a", "b",
				2)
			return errors.Join(b.AvgPool(2), b.AvgPool(1))
		}),
		"layer 2 is a linear layer on a map": layers(func(b *nn.Builder) error {
			b.Stem("a", "b",
				2)
			b.Linear("c", 3, true)
			return nil
		}),
		"the head does not read features. Let a pooling": layers(func(b *nn.Builder) error {
			b.Linear("a", 3,
				true)
			b.Linear("b", 3, false)
			return nil
		}),
		"smaller than 9×9. Use larger images": layers(func(b *nn.Builder) error {
			b.Stem("a", "b",
				2)
			return b.AvgPool(9)
		}),
		"the network broken: nn: a cosine head on a network witho": layers(func(*nn.Builder) error { return nil }),
	} {
		build = f
		if net, err := broken.New(size, rng.New(1, "net")); err == nil || net != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	build = headless(true)
	linear := size
	linear.Head = nn.Head{}
	if _, err := broken.New(linear, rng.New(1, "net")); err == nil ||
		!strings.Contains(err.Error(), "the last layer has a ReLU") {
		t.Errorf("a head with a ReLU: %v", err)
	}
	build = headless(false)
	if _, err := broken.New(linear, rng.New(1, "net")); err != nil {
		t.Errorf("a linear layer as the head: %v", err)
	}
	build = func(c arch.Config, src *rng.Source) (*nn.Network, error) { return hidden(c, rng.New(2, "own")) }
	if _, err := broken.New(size, nil); err == nil || !strings.Contains(err.Error(), "also where src is nil") {
		t.Errorf("an outline with parameters: %v", err)
	}
	build = changed(func(c *arch.Config) { c.Engine = nn.Engine{} })
	other := size
	for _, kernel := range nn.Kernels() {
		if kernel != nn.DefaultEngine().Kernel {
			other.Engine.Kernel = kernel
		}
	}
	if _, err := broken.New(other, rng.New(1, "net")); other.Engine.Kernel != "" &&
		(err == nil || !strings.Contains(err.Error(), "kernels are wanted")) {
		t.Errorf("another engine: %v", err)
	}
	build = layers(func(b *nn.Builder) error { b.Stem("a", "b", 2); return b.AvgPool(2) })
	narrow := size
	narrow.Width = 13
	if _, err := broken.New(narrow, nil); err == nil ||
		!strings.Contains(err.Error(), "a stem on images that are 13 pixels wide. Use images of at least 14") {
		t.Errorf("a stem on narrow images: %v", err)
	}
	small := size
	small.Width = 5
	if _, err := broken.New(small, nil); err == nil ||
		!strings.Contains(err.Error(), "arch: broken: images of 8×5 are smaller than 6×6") {
		t.Errorf("small images: %v", err)
	}
}
