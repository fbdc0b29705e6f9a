package experiment

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/learn/learner"
	"ocl/run/build"
)

// TestFreeze: a run with frozen stages keeps what a file gives them, is opened and exported whole, grows by classes,
// and is resumed to the same bits. Its key is another one than that of a run without, which has no word of it.
func TestFreeze(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"er", "gdumb", "icarl"} {
		c := one(name)
		c.Network.Name, c.Network.Hidden = build.MLP, []int{12, 9}
		c.Method = map[string]map[string]any{"gdumb": {"epochs": 2}}
		key := func(stages int) string {
			with := c.Clone()
			with.Network.Freeze = stages
			return Schema().Canonical(with)
		}
		if key(1) == key(2) || key(1) == key(0) || strings.Contains(key(0), "freeze") {
			t.Errorf("the keys are of\n%s\n%s\n%s", key(0), key(1), key(2))
		}
		path := filepath.Join(t.TempDir(), "w.safetensors")
		given := firstWeights(t, path, c)
		c.Network.Init, c.Network.Freeze = path, 1
		model, named, _ := tensorsOf(t, c)
		if n := model.Net.Info().Frozen.Params; n == 0 || !slices.Equal(model.Net.Params()[:n], given.Params()[:n]) {
			t.Errorf("%s: %d parameters are frozen, and they moved", name, n)
		} else if slices.Equal(model.Net.Params()[n:], given.Params()[n:]) {
			t.Errorf("%s: nothing was learned", name)
		}
		for _, p := range given.Info().Named {
			if p.Offset < model.Net.Info().Frozen.Params {
				want := make([]float32, p.Len())
				p.ToTorch(want, given.Params()[p.Offset:][:p.Len()])
				if !slices.Equal(named[p.Name].Floats, want) {
					t.Errorf("%s: the export has another %s than the file", name, p.Name)
				}
			}
		}
		if heir, err := build.NewNetwork(model.Info, model.Config, model.Info.Classes-1); err != nil ||
			heir.Info().Frozen.Params != model.Net.Info().Frozen.Params {
			t.Errorf("%s: the heir: %v", name, err)
		}
		resumes(t, c)
	}
}

// TestLatent: a run that stores activations learns what one with the same frozen stages learns from images but for
// rounding, its memory has no image and less or more bytes, it predicts from images alone, is exported whole, and is
// resumed and continued to the same bits.
func TestLatent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"er", "gdumb", "icarl"} {
		c := one(name)
		c.Network.Name, c.Network.Hidden = build.MLP, []int{12, 9}
		path := filepath.Join(t.TempDir(), "w.safetensors")
		given := firstWeights(t, path, c)
		c.Network.Init, c.Network.Freeze = path, 1
		plain, tensors, _ := tensorsOf(t, c)
		for bits, each := range map[int]int64{config.LatentFloats: 2 * 12, config.LatentCodes: 12 + 8} {
			c := c.Clone()
			c.Replay.Latent, c.Replay.LatentBits = true, bits
			model, named, _ := tensorsOf(t, c)
			n := model.Net.Info().Frozen.Params
			if n == 0 || !slices.Equal(model.Net.Params()[:n], given.Params()[:n]) ||
				slices.Equal(model.Net.Params()[n:], given.Params()[n:]) {
				t.Errorf("%s, %d bits: of %d frozen parameters some moved, or no other did", name, bits, n)
			}
			if len(named) != len(tensors) {
				t.Errorf("%s, %d bits: %d tensors are exported, want %d", name, bits, len(named), len(tensors))
			}
			m := learner.MemoryOf(model.Learner)
			if got := m.Shape(); got != [3]int{12, 1, 1} || m.Len() == 0 || m.Bytes() != int64(m.Len())*(each+4) {
				t.Errorf("%s, %d bits: the memory has %d samples of %v in %d bytes", name, bits, m.Len(), got, m.Bytes())
			}
			if bits == config.LatentFloats {
				distance, length := 0.0, 0.0
				for i, v := range plain.Net.Params()[n:] {
					d := float64(v - model.Net.Params()[n+i])
					distance, length = distance+d*d, length+float64(v)*float64(v)
				}
				if !(distance <= 1e-3*length) {
					t.Errorf("%s: what is learned differs by %v from what is learned from images, of %v", name, distance, length)
				}
			}
			resumes(t, c)
		}
	}
}

// TestFreezeRefuses what cannot be frozen, with what can.
func TestFreezeRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*config.Config){
		"network.freeze: the network resnet18: nn: 6 stages to freeze, and the network has 5: stem, layer1, layer2, layer3, layer4. Freeze at most 5": func(c *config.Config) {
			c.Network.Freeze = 6
		},
		"network.freeze: the network linear: nn: 1 stage to freeze, and the network has none": func(c *config.Config) {
			c.Network.Name, c.Network.Freeze = "linear", 1
		},
		"the network funnel: nn: 4 stages to freeze, and the network has 3: stem, block, fc": func(c *config.Config) {
			c.Network.Name, c.Network.Freeze, c.Data.Size = "funnel", 4, 16
		},
		"replay.latent: no stage of the network is frozen, so its activations change as it learns. Freeze at least one with --freeze": func(c *config.Config) {
			c.Replay.Latent = true
		},
		"replay.latent_bits: 8 is given, but images are stored. Set replay.latent=true": func(c *config.Config) {
			c.Replay.LatentBits = 8
		},
		"replay.latent_bits: 12 is given. Use 16 or 8": func(c *config.Config) {
			c.Network.Freeze, c.Replay.Latent, c.Replay.LatentBits = 1, true, 12
		},
		"replay.augment: images are cropped and flipped, but with replay.latent activations are": func(c *config.Config) {
			c.Network.Freeze, c.Replay.Latent, c.Replay.Augment = 1, true, true
		},
		"replay.latent: nn: the activations behind 1 frozen stage would have the shape of an image": func(c *config.Config) {
			c.Data.Channels, c.Network.Width, c.Network.Freeze, c.Replay.Latent = 3, 3, 1, true
		},
		"-1 is out of range": func(c *config.Config) { c.Network.Freeze = -1 },
	} {
		c := one("er")
		c.Network.Name, c.Network.Width, c.Data.Size = build.ResNet18, 2, 28
		change(&c)
		if _, err := Open(t.Context(), c, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for name, why := range map[string]string{"ncm": "trains no network by gradients",
		"cndpm": "makes networks of its own"} {
		c := one(name)
		c.Network.Freeze, c.Replay.Latent = 1, true
		for _, key := range []string{"network.freeze", "replay.latent"} {
			if err := Schema().CheckGiven(c, key); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %s: %v", name, key, err)
			}
		}
	}
}
