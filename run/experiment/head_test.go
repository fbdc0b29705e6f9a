package experiment

import (
	"strings"
	"testing"

	"ocl/config"
	"ocl/nn"
	"ocl/nn/weights"
	"ocl/run/build"
)

// TestCosineHead: a run with a cosine head learns, is opened and exported with that head, grows by classes, and is
// resumed to the same bits. Its key is another one than that of a linear head, which is that of a config without the
// key.
func TestCosineHead(t *testing.T) {
	t.Parallel()
	c := one("er")
	key := func(head string) string {
		with := c.Clone()
		with.Network.Head = head
		return Schema().Canonical(with)
	}
	if key("") != key(config.HeadLinear) || key("") == key(config.HeadCosine) || strings.Contains(key(""), "head") {
		t.Errorf("the keys are of\n%s\n%s\n%s", key(""), key(config.HeadLinear), key(config.HeadCosine))
	}
	c.Network.Head = config.HeadCosine
	c.Classifiers = []string{config.ClassifierHead, config.ClassifierNCM}
	model, named, metadata := tensorsOf(t, c)
	if head := model.Net.Info().Head; head.Kind != nn.CosineHead || metadata["head"] != nn.CosineHead {
		t.Errorf("the head is %v, and %q in the metadata", head, metadata["head"])
	}
	sigma, there := named["linear.sigma"]
	if _, bias := named["linear.bias"]; !there || bias || len(sigma.Floats) != 1 || sigma.Floats[0] == 1 ||
		named[weights.Means].Floats == nil {
		t.Errorf("scale %v, a bias: %v, %d tensors; want a scale that has learned, no bias, and class means", sigma.Floats,
			bias, len(named))
	}
	rules, err := model.Rules(t.Context())
	if err != nil || len(rules) != 2 || rules[0].Classes != nil || rules[1].Classes == nil {
		t.Errorf("rules %v: %v", rules, err)
	}
	heir, err := build.NewNetwork(model.Info, c, model.Info.Classes-1)
	if err != nil || heir.Info().Head.Kind != nn.CosineHead || heir.Info().Inherited != model.Info.Classes-1 {
		t.Errorf("the heir: %v", err)
	}
	resumes(t, c)
	c.Network.Head = "euclid"
	if err := Schema().Validate(c); err == nil || !strings.Contains(err.Error(), "network.head") {
		t.Errorf("an unknown head: %v", err)
	}
}
