package live

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
)

// pretrained is the file of a network that has learned ten drawings, whose embeddings have 16 numbers.
func pretrained(t testing.TB, seed string) string {
	t.Helper()
	tr := trainer(t, Options{Method: "er", Memory: 10, Size: 8,
		Set: []string{"network.name=mlp", "network.hidden=16", "seed=" + seed}})
	teach(t, tr, 0, 10)
	var text bytes.Buffer
	if _, err := tr.Export(&text, Safetensors); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "net.safetensors")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// teach lets a trainer observe noise of two classes, and publishes it.
func teach(t testing.TB, tr *Trainer, from, n int) {
	t.Helper()
	for k := range 2 {
		if _, err := tr.AddClass([]string{"cat", "dog"}[k]); err != nil {
			t.Fatal(err)
		}
	}
	for i := from; i < from+n; i++ {
		if _, err := tr.Observe(t.Context(), append(noise(2*i), noise(2*i+1)...), []ocl.Label{0, 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tr.Publish(t.Context(), int64(from+n)); err != nil {
		t.Fatal(err)
	}
}

// noise is an image of 3×8×8 whose left half is brighter, or its right half where i is odd.
func noise(i int) []byte {
	pixels := make([]byte, 3*8*8)
	for k := range pixels {
		pixels[k] = byte((k*31+i*97)%64 + (k/4+i)%2*190)
	}
	return pixels
}

// TestBackbone: a trainer of images learns the embeddings that a pretrained network makes of them. Its state knows the
// network by its digest, so the file may lie elsewhere later, and another network is refused.
func TestBackbone(t *testing.T) {
	t.Parallel()
	file := pretrained(t, "1")
	for _, method := range []string{"er", "er+ncm", "slda", "ranpac", "ncm", "icarl"} {
		tr := trainer(t, Options{Method: method, Memory: 20,
			Set: map[string][]string{"ranpac": {"method.ranpac.projection=20"}}[method], Process: Process{Backbone: file}})
		if c, h, w := tr.Shape(); c != 3 || h != 8 || w != 8 {
			t.Fatalf("%s: images of %d×%d×%d", method, c, h, w)
		}
		teach(t, tr, 0, 20)
		answer, err := tr.Predict(2, [][]byte{noise(100), noise(101), noise(102), noise(103), noise(104)})
		if err != nil {
			t.Fatal(err)
		}
		for i, g := range answer.Guesses {
			if want := []string{"cat", "dog"}[i%2]; g[0].Name != want {
				t.Errorf("%s: image %d is %s, want %s", method, i, g[0].Name, want)
			}
		}
		for _, format := range []string{Safetensors, ONNX} {
			var text bytes.Buffer
			if _, err := tr.Export(&text, format); err != nil ||
				bytes.Contains(text.Bytes(), []byte("backbone_digest")) != (format == ONNX) {
				t.Errorf("%s as %s: %v", method, format, err)
			}
		}
		state := checkpoint.NewContainer()
		if err := tr.SaveState(state.Encoder()); err != nil {
			t.Fatal(err)
		}
		moved := filepath.Join(t.TempDir(), "moved.safetensors")
		text, err := os.ReadFile(file)
		if err = errors.Join(err, os.WriteFile(moved, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		again, err := ReadTrainer(state.Decoder(), func(p *Process) { p.Backbone = moved })
		if err != nil {
			t.Fatal(err)
		}
		teach(t, tr, 20, 5)
		teach(t, again, 20, 5)
		sameDigest(t, method, tr, again)
		if c := again.Config(); c.Data.Backbone != moved || c.Data.BackboneDigest == "" {
			t.Errorf("%s: config %+v", method, c.Data)
		}
		if err := errors.Join(again.Close(), os.Remove(moved)); err != nil {
			t.Fatal(err)
		}
		if third, err := ReadTrainer(state.Decoder(), func(p *Process) { *p = again.Process() }); err != nil {
			t.Errorf("%s: with the network that is open: %v", method, err)
		} else if err := third.Close(); err != nil {
			t.Error(err)
		}
		for name, path := range map[string]string{"": "Say where the file",
			pretrained(t, "2"): "Give the file that the run had", "absent": "absent"} {
			_, err := ReadTrainer(state.Decoder(), func(p *Process) { p.Backbone = name })
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: with the network %q: %v", method, name, err)
			}
		}
	}
}

func sameDigest(t testing.TB, what string, a, b *Trainer) {
	t.Helper()
	x, err := a.Digest()
	y, other := b.Digest()
	if err = errors.Join(err, other); err != nil || x != y {
		t.Errorf("%s: digests %s and %s, %v", what, x, y, err)
	}
}

// TestBackboneRefuses: what cannot be with a pretrained network is an error that names the option.
func TestBackboneRefuses(t *testing.T) {
	t.Parallel()
	file := pretrained(t, "1")
	for _, c := range []struct {
		want string
		o    Options
	}{
		{"absent", Options{Process: Process{Backbone: "absent"}}},
		{"replay.augment", Options{Set: []string{"replay.augment=true"}, Process: Process{Backbone: file}}},
		{"stream.mean", Options{Set: []string{"stream.mean=[1,1,1]", "stream.std=[1,1,1]"},
			Process: Process{Backbone: file}}},
	} {
		_, err := NewTrainer(c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "--") ||
			strings.Contains(err.Error(), "data.backbone") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	plain := trainer(t, Options{Size: 8, Set: []string{"network.name=mlp"}})
	state := checkpoint.NewContainer()
	if err := plain.SaveState(state.Encoder()); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTrainer(state.Decoder(), func(p *Process) { p.Backbone = file }); err == nil ||
		!strings.Contains(err.Error(), "has learned without one") {
		t.Error(err)
	}
}

// TestRunOnBackboneGoesOn: a run with a pretrained network continues from its folder, and a saved learner of it finds
// the network.
func TestRunOnBackboneGoesOn(t *testing.T) {
	t.Setenv("OCL_CACHE", t.TempDir()) // a machine without a home has no other
	file := pretrained(t, "1")
	for _, method := range []string{"er", "slda", "ranpac"} {
		folder := run(t, method, func(c *config.Config) {
			c.Network, c.Data.Backbone = config.Default().Network, file
			c.Method = map[string]map[string]any{"ranpac": {"projection": 20}}
		})
		l, err := Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		learn(t, l, 0, 25, 3)
		flush(t, l)
		path := filepath.Join(t.TempDir(), "saved")
		if err := l.Save(path); err != nil {
			t.Fatal(err)
		}
		again, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		sameState(t, method, l, again)
		if !slices.Equal(l.Classes(), again.Classes()) {
			t.Errorf("classes %q and %q", l.Classes(), again.Classes())
		}
		closed(t, l)
		closed(t, again)
	}
}
