package nn_test

import (
	"math"
	"testing"

	"ocl/internal/goldentest"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// headsGolden is a case of testdata/heads.json, which heads.py made with PyTorch.
type headsGolden struct {
	Head  string
	Steps []struct {
		Loss      float64
		Outputs   []float64
		Gradients []namedValues
	}
	Last []namedValues
}

type namedValues struct {
	Name   string
	Values []float64
}

// TestHeadsGolden holds cosine and projection heads to PyTorch through some steps of SGD.
func TestHeadsGolden(t *testing.T) {
	var cases []headsGolden
	goldentest.Read(t, "testdata/heads.json", &cases)
	if len(cases) != 2 {
		t.Fatalf("%d cases, want 2", len(cases))
	}
	forEachSet(t, func(t *testing.T) {
		for _, c := range cases {
			head := nn.Head{Kind: c.Head}
			if c.Head == nn.ProjectionHead {
				head.Out = 9
			}
			net := must(arch.MLP(arch.Config{Channels: 2, Height: 3, Width: 5, Classes: 6, Hidden: []int{13}, Head: head},
				rng.New(1, "net")))
			ws := net.NewWorkspace(2)
			defer ws.Close()
			startHeads(net)
			opt := optim.SGD{LR: 0.1}.New()
			compare := func(what string, got []float32, want []float64) {
				t.Helper()
				if len(got) != len(want) {
					t.Fatalf("%s: %s: %d values, want %d", c.Head, what, len(got), len(want))
				}
				for i, v := range got {
					// dozens of roundings of values near 1, some steps over
					if !(math.Abs(float64(v)-want[i]) <= 2e-6*(1+math.Abs(want[i]))) {
						t.Fatalf("%s: %s: value %d is %v, want %v", c.Head, what, i, v, want[i])
					}
				}
			}
			named := func(what string, vector []float32, want []namedValues) {
				t.Helper()
				list := net.Info().Named
				if len(list) != len(want) {
					t.Fatalf("%s: %d parameters, want %d", c.Head, len(list), len(want))
				}
				for i, p := range list {
					if p.Name != want[i].Name {
						t.Fatalf("%s: parameter %d is %s, want %s", c.Head, i, p.Name, want[i].Name)
					}
					v := make([]float32, p.Len())
					p.ToTorch(v, vector[p.Offset:][:p.Len()])
					compare(what+" of "+p.Name, v, want[i].Values)
				}
			}
			for s, want := range c.Steps {
				x := tensor.New(4, 2, 3, 5)
				for i := range x.Data {
					x.Data[i] = float32(goldentest.Uniform(1000+s, i))
				}
				z := net.Forward(ws, x, nn.Train)
				compare("outputs", z.Data, want.Outputs)
				d, loss := tensor.New(z.Shape...), 0.0
				for i, v := range z.Data {
					w := math.Sin(1.3*float64(i) + 0.2)
					loss += (w*float64(v) + float64(v)*float64(v)/2) / 4
					d.Data[i] = float32((w + float64(v)) / 4)
				}
				compare("loss", []float32{float32(loss)}, []float64{want.Loss})
				clear(net.Grads())
				ws.Backward(d)
				named("gradient", net.Grads(), want.Gradients)
				opt.Step(net, ws)
			}
			named("last value", net.Params(), c.Last)
		}
	})
}

// startHeads sets the first parameters, as testdata/README.md says.
func startHeads(net *nn.Network) {
	fan := 0
	for t, p := range net.Info().Named {
		if p.In > 0 { // else a bias of the same inputs
			fan = p.In
		}
		v := make([]float32, p.Len())
		for i := range v {
			v[i] = float32((2*goldentest.Uniform(t, i) - 1) / math.Sqrt(float64(fan)))
		}
		if p.Name == "linear.sigma" {
			v[0] = 1.5
		}
		p.FromTorch(net.Params()[p.Offset:][:p.Len()], v)
	}
	net.Changed()
}
