package experiment

import (
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/weights"
	"ocl/rng"
	"ocl/run/build"
)

// funnel is a network with every kind of layer: a stem, a block, a pooling and a hidden layer of as many units as maps.
func funnel(c arch.Config, src *rng.Source) (*nn.Network, error) {
	b, err := nn.NewBuilder(c.Channels, c.Height, c.Width, c.Engine, src)
	if err != nil {
		return nil, err
	}
	b.Stem("stem", "norm", c.NF)
	b.Block("block", 2*c.NF, 2)
	if err := b.AvgPool(2); err != nil {
		return nil, err
	}
	b.Linear("fc", 3*c.NF, true)
	if err := b.Head("out", c.Head, c.Classes); err != nil {
		return nil, err
	}
	return b.Build()
}

// A name is registered once, and a test can run more than once.
func init() {
	arch.Register(arch.Info{Name: "funnel", Summary: "of a test", Build: funnel, Settings: []string{arch.Width},
		LeastSide: 14})
}

// TestRegisteredNetwork: a registered network learns, is opened and exported with its settings, grows by classes, and
// is resumed to the same bits. A setting that it does not read makes no other key.
func TestRegisteredNetwork(t *testing.T) {
	c := one("er")
	c.Data.Size, c.Network.Name, c.Network.Width = 16, "funnel", 3
	c.Classifiers = []string{config.ClassifierHead, config.ClassifierNCM}
	key := func(change func(*config.Config)) string {
		with := c.Clone()
		change(&with)
		return Schema().Canonical(Schema().Runs(with)[0])
	}
	if own := key(func(*config.Config) {}); own != key(func(c *config.Config) { c.Network.Hidden = []int{9} }) ||
		own == key(func(c *config.Config) { c.Network.Width = 4 }) {
		t.Errorf("the key is %s", own)
	}
	wrong := c.Clone()
	wrong.Network.Hidden = []int{9}
	if err := Schema().CheckGiven(wrong, arch.Hidden); err == nil ||
		!strings.Contains(err.Error(), "funnel does not use it. Use --network mlp, or") {
		t.Errorf("hidden layers of a network without: %v", err)
	}
	wrong.Data.Size = 13
	if err := Schema().Validate(wrong); err == nil ||
		!strings.Contains(err.Error(), "too small for funnel, which needs images of at least 14 pixels") {
		t.Errorf("images that are too small: %v", err)
	}
	if text := build.WideKey(c); text != "network.width (3)" {
		t.Errorf("it is large by %s", text)
	}

	model, named, metadata := tensorsOf(t, c)
	if _, hidden := metadata["hidden"]; metadata["architecture"] != "funnel" || metadata["width"] != "3" || hidden {
		t.Errorf("the metadata are %v", metadata)
	}
	if w := named["out.weight"]; !slices.Equal(w.Shape, []int{model.Info.Classes, 9}) ||
		named[weights.Means].Shape[1] != 9 {
		t.Errorf("a head of %v and class means of %v, want 9 features", w.Shape, named[weights.Means].Shape)
	}
	rules, err := model.Rules(t.Context())
	if err != nil || len(rules) != 2 {
		t.Errorf("rules %v: %v", rules, err)
	}
	if heir, err := build.NewNetwork(model.Info, c, model.Info.Classes-1); err != nil ||
		heir.Info().Inherited != model.Info.Classes-1 {
		t.Errorf("the heir: %v", err)
	}
	resumes(t, c)
}
