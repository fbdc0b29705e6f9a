package experiment

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/config"
	"ocl/data"
	"ocl/nn"
	"ocl/nn/arch"
)

// TestChoicesAreThoseThatThereAre: package config, which is a leaf, names the engines and the readers of some keys once
// more. A new one, or one that is gone, is told here.
func TestChoicesAreThoseThatThereAre(t *testing.T) {
	glyphs, err := data.Lookup("glyphs")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{
		"data.domains": glyphs.Domains, "engine.kernel": nn.AllKernels(), "engine.convolution": nn.Convolutions(),
	}
	for _, k := range config.Keys() {
		if names, ok := known[k.Name]; ok {
			want, got := slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(k.Choices))
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: the choices in config/keys.go are others than there are:\n%s", k.Name, d)
			}
			delete(known, k.Name)
		}
	}
	if len(known) > 0 {
		t.Errorf("there are no keys %v", known)
	}
	for _, k := range config.Keys() {
		if !strings.HasPrefix(k.Name, "network.") || k.ReadBy == "" {
			continue
		}
		if info, err := arch.Lookup(k.ReadBy); err != nil || !slices.Contains(info.Settings, k.Name) {
			t.Errorf("%s is read by %s, which does not say so (%v)", k.Name, k.ReadBy, err)
		}
	}
	if _, err := arch.Lookup(config.Default().Network.Name); err != nil {
		t.Error(err)
	}
}
