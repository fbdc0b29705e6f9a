//go:build unix

package nn_test

import (
	"testing"

	"ocl/internal/pages"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/tensor"
)

// TestInputsAtPages: what a caller gives to a network, images, gradients and room for results, is not read or written
// beyond its ends.
func TestInputsAtPages(t *testing.T) {
	forEachSet(t, func(t *testing.T) {
		list := networks(t)
		if nn.DefaultEngine().Kernel == "generic" {
			list = list[3:] // plain Go checks bounds anyway
		}
		for _, c := range list {
			for _, e := range pages.Edges {
				floats := func(n int) []float32 { return pages.Floats(t, n, e) }
				like := func(x *tensor.Tensor) *tensor.Tensor {
					y := tensor.Of(floats(x.Len()), x.Shape...)
					copy(y.Data, x.Data)
					return y
				}
				ws := c.net.NewWorkspace(1) // a fault is caught in the goroutine that asks for it
				defer ws.Close()
				ahead, p, b := c.net.Clone(), len(c.net.Params()), c.x.Dim(0)
				x, one := like(c.x), like(c.x.Rows(0, 1))
				d := like(tensor.New(b, c.net.Info().Outputs))
				samples, part := floats(b*p), floats(p)
				vectors := floats(2 * p)
				cosines := make([]float64, 2*b)
				for _, step := range []struct {
					what string
					do   func() error
				}{
					{"Forward", func() error { c.net.Forward(ws, x, nn.Train); return nil }},
					{"Backward", func() error { ws.Backward(d); return nil }},
					{"Forward, one image", func() error { c.net.Forward(ws, one, nn.BatchOnly); return nil }},
					{"Forward to evaluate", func() error { c.net.Forward(ws, x, nn.Eval); return nil }},
					{"BackwardPerSample", func() error { ws.BackwardPerSample(d, samples); return nil }},
					{"Predict", func() error { c.net.Predict(ws, x); return nil }},
					{"Predict, one image", func() error { c.net.Predict(ws, one); return nil }},
					{"Accumulate", func() error {
						return c.net.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{x, one}, Loss: objectiveOf})
					}},
					{"Accumulate apart", func() error {
						return c.net.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{x, one}, Apart: [][]float32{part},
							Loss: objectiveOf})
					}},
					{"ForwardPair", func() error { c.net.ForwardPair(ws, ahead, x, nn.BatchOnly); return nil }},
					{"StepFrom", func() error { ahead.StepFrom(ws, c.net, 0.1); return nil }},
					{"Step", func() error { optim.Adam{LR: 1e-3}.New().Step(c.net, ws); return nil }},
					{"Dot", func() error { ws.Dot(part, samples[:p:p]); return nil }},
					{"AddScaled", func() error { ws.AddScaled(part, vectors[p:], 0.5); return nil }},
					{"Cosines", func() error { ws.Cosines(cosines, vectors, samples, p); return nil }},
					{"HeadRow", func() error {
						if c.net.Info().Head.PerClass() {
							nn.HeadRow(c.net, floats(c.net.Info().FeatureDim), 0)
						}
						return nil
					}},
				} {
					if err := pages.Fault(func() {
						if err := step.do(); err != nil {
							t.Error(err)
						}
					}); err != nil {
						t.Errorf("%s, %v: %s: %v", c.name, e, step.what, err)
					}
				}
			}
		}
	})
}
