package wired_test

import (
	"fmt"
	"math"
	"testing"

	"ocl/internal/goldentest"
	"ocl/nn"
	"ocl/nn/internal/wired"
	"ocl/nn/tensor"
	"ocl/rng"
)

// TestGolden holds the layers of a Wiring, with their gradients, to PyTorch.
func TestGolden(t *testing.T) {
	var list []goldentest.Layer
	goldentest.Read(t, "testdata/layers.json", &list)
	if len(list) != 18 {
		t.Fatalf("%d cases, want 6 layers at 3 sizes", len(list))
	}
	for _, c := range list {
		t.Run(fmt.Sprint(c.Layer, c.Size), func(t *testing.T) {
			got := map[string][]float32{}
			if c.Layer == "latent" || c.Layer == "softmax" {
				t.Skip("tested in package arch")
			}
			layerGoldenOf(t, got, c.Layer, c.Size)
			c.Check(t, got)
		})
	}
}

// objectiveGradient is that of Σ sin(1.3·i + 0.2)·y_i.
func objectiveGradient(i int) float32 { return float32(math.Sin(1.3*float64(i) + 0.2)) }

// layerGoldenOf runs a layer that has parameters.
func layerGoldenOf(t *testing.T, got map[string][]float32, layer string, size int) {
	var c layerCase
	images, fan := 2, 0.0
	switch layer {
	case "transposed":
		c, fan = layerCase{c: 36, h: size / 4, w: size / 4, weights: func(b *nn.Builder) []wired.Weights {
			return []wired.Weights{wired.Transposed(b, "up", 36, 9)}
		}, wire: func(s *wired.Section, w []wired.Weights, in *wired.Map) *wired.Map {
			return s.Transposed(w[0], in, true)
		}}, 36*16
	case "pool":
		c, fan = cases[2], 27
		c.h, c.w = size, size
	case "norm":
		c = layerCase{c: 4, h: size, w: size, weights: func(b *nn.Builder) []wired.Weights {
			return []wired.Weights{wired.Conv(b, "conv", 4, 3, 5, false), wired.Conv(b, "short", 4, 1, 5, false)}
		}, wire: func(s *wired.Section, w []wired.Weights, in *wired.Map) *wired.Map {
			return s.InstanceNorm(s.Conv(w[0], in, 2, false), s.InstanceNorm(s.Conv(w[1], in, 2, false), nil, false), true)
		}}
	case "likelihood":
		likelihoodGolden(t, got, size)
		return
	}
	net, w, s, in, out := c.build(t, nn.Engine{}, images, 2, false)
	fillGolden(net, fan)
	x := tensor.New(images, c.c, c.h, c.w)
	copy(x.Data, goldentest.Signed(100, x.Len(), 1))
	in.Load(x)
	w.Forward(images)
	y := values(out, images)
	got["out0"] = append([]float32(nil), y.Data...)
	for i := range y.Data {
		y.Data[i] = objectiveGradient(i)
	}
	for i := range images {
		out.WriteGradient(y.Row(i), i)
	}
	clear(net.Grads())
	s.Backward()
	dx := x.Clone()
	for i := range images {
		in.ReadGradient(dx.Row(i), i)
	}
	got["input_grad0"] = dx.Data
	gradsGolden(got, net)
}

// fillGolden sets the parameters; a fan of 0 means that of each.
func fillGolden(net *nn.Network, fan float64) {
	for i, p := range net.Info().Named {
		f := fan
		if f == 0 {
			f = float64(p.In * p.Taps)
		}
		p.FromTorch(net.Params()[p.Offset:][:p.Len()], goldentest.Signed(i, p.Len(), 1/math.Sqrt(f)))
	}
	net.Changed()
}

func gradsGolden(got map[string][]float32, net *nn.Network) {
	for i, p := range net.Info().Named {
		v := make([]float32, p.Len())
		p.ToTorch(v, net.Grads()[p.Offset:][:p.Len()])
		got[fmt.Sprint("grad", i)] = v
	}
}

func likelihoodGolden(t *testing.T, got map[string][]float32, size int) {
	b, err := nn.NewBuilder(8, size/2, size/2, nn.Engine{}, rng.New(1, "golden"))
	if err != nil {
		t.Fatal(err)
	}
	weights := wired.Transposed(b, "up", 8, 3)
	net := must(b.Build())
	fillGolden(net, 8)
	ws := net.NewWorkspace(2)
	defer ws.Close()
	w := wired.New(ws, net.Info().Engine, 3)
	in := w.Input(8, size/2, size/2, true)
	s := w.Section(net, true)
	k := s.PixelErrors(weights, in)
	x, targets := tensor.New(3, 8, size/2, size/2), tensor.New(2, 3, size, size)
	copy(x.Data, goldentest.Signed(100, x.Len(), 1))
	for i, v := range goldentest.Signed(102, targets.Len(), 1) {
		targets.Data[i] = (v + 1) / 2
	}
	in.Load(x)
	k.Targets(targets)
	copy(k.Of, []int32{0, 1, 1})
	w.Forward(3)
	decoded := tensor.New(3, 3, size, size)
	for row := range 3 {
		const precision = 1 / (2 + 1e-8) // of a log-variance of 0
		values := float64(3 * size * size)
		got["out0"] = append(got["out0"], float32((k.Sum[row]+0.001*values)*precision+0.5*math.Log(2*math.Pi)*values))
		k.Slope[row] = 2 * precision * objectiveGradient(row)
		k.Image(decoded.Row(row), row)
	}
	got["out1"] = decoded.Data
	clear(net.Grads())
	s.Backward()
	dx := x.Clone()
	for i := range 3 {
		in.ReadGradient(dx.Row(i), i)
	}
	got["input_grad0"] = dx.Data
	gradsGolden(got, net)
}
