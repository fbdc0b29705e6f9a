package backbone

import (
	"testing"

	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/safetensors"
	"ocl/nn/weights"
	"ocl/rng"
)

// FuzzDecode: no file makes the decoder panic or take much more memory than it has bytes, and what it takes computes.
func FuzzDecode(f *testing.F) {
	net, err := arch.MLP(arch.Config{Channels: 3, Height: 4, Width: 4, Classes: 2, Hidden: []int{3}},
		rng.New(3, "network/init"))
	if err != nil {
		f.Fatal(err)
	}
	own := map[string]string{keyExport: "1", keyArchitecture: arch.NameMLP, "shape": "[3,4,4]", "classes": "2",
		"hidden": "[3]", keyMean: "[0.5,0.5,0.5]", keyStd: "[0.5,0.25,1]"}
	f.Add(content{tensors: weights.Of(net), metadata: own}.text(f))
	f.Add(content{tensors: weights.Of(net), metadata: map[string]string{keyVersion: version,
		keyArchitecture: "efficientnet-lite0", keySide: "32", keyMean: "[0,0,0]", keyStd: "[1,1,1]"}}.text(f))
	for i, name := range []string{"dinov2-vits14", "dinov2-vits14-reg4", "clip-vitb32"} {
		// Whole networks are too large to be changed bit by bit: all names, and few numbers.
		r := reading{scheme: schemes[i], feature: featureClass, gelu: geluErf, positions: positionsPlain, stored: 1}
		c := content{metadata: map[string]string{keyVersion: version, keyArchitecture: name, keySide: "224",
			keyMean: "[0,0,0]", keyStd: "[1,1,1]", keyTrainedOn: "x", keyLicence: "x", keyFeature: r.feature, keyGELU: r.gelu,
			keyPositions: r.positions}}
		for _, t := range lookUp(name).layOut(usualSide, r).tensors() {
			c.tensors = append(c.tensors, safetensors.Tensor{Name: t.Name, Shape: []int{1}, Floats: []float32{1}})
		}
		f.Add(c.text(f))
		c.metadata = nil
		f.Add(c.text(f))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := decode(text, nn.DefaultEngine())
		if err != nil || b.Info().Side > 64 {
			return
		}
		w := b.NewWorkspace(1, 1)
		defer w.Close()
		_ = w.Features(make([]float32, b.Info().Features), photos(1, b.Info().Side), 1)
	})
}
