package nn_test

import (
	"testing"

	"ocl/nn"
	"ocl/nn/tensor"
)

// TestWorkspaceCounts: every kind of pass counts its images, and those beside count into the same sum.
func TestWorkspaceCounts(t *testing.T) {
	for _, c := range networks(t) {
		ws := c.net.NewWorkspace(2)
		defer ws.Close()
		beside, ahead := ws.Beside(), c.net.Clone()
		n := int64(c.x.Dim(0))
		d := tensor.New(c.x.Dim(0), c.net.Info().Outputs)
		samples := make([]float32, c.x.Dim(0)*len(c.net.Params()))
		apart := [][]float32{make([]float32, len(c.net.Params()))}
		for _, pass := range []struct {
			name string
			do   func() error
			want int64 // forward passes of one image
		}{
			{"forward", func() error { c.net.Forward(ws, c.x, nn.Eval); return nil }, n},
			{"gradients of samples", func() error {
				c.net.Forward(ws, c.x, nn.Eval)
				ws.BackwardPerSample(d, samples)
				return nil
			}, 3 * n},
			{"backward", func() error { c.net.Forward(ws, c.x, nn.Eval); ws.Backward(d); return nil }, 3 * n},
			{"predict", func() error { c.net.Predict(ws, c.x); return nil }, n},
			{"features", func() error { c.net.Predict(ws, c.x); return nil }, n},
			{"beside", func() error { ahead.Forward(beside, c.x, nn.BatchOnly); return nil }, n},
			{"probe", func() error { c.net.ForwardPair(ws, ahead, c.x, nn.BatchOnly); return nil }, 2 * n},
			{"accumulate", func() error {
				return c.net.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{c.x, c.x.Rows(0, 1)}, Loss: objectiveOf})
			}, 3 * (n + 1)},
			{"accumulate apart", func() error {
				return c.net.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{c.x, c.x}, Apart: apart, Loss: objectiveOf})
			}, 6 * n},
			{"accumulate together", func() error {
				return c.net.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{c.x, c.x}, Joint: sumOf})
			}, 6 * n},
			{"a step", func() error { ahead.StepFrom(ws, c.net, 0.1); return nil }, 0},
		} {
			before := ws.FLOPs()
			if err := pass.do(); err != nil {
				t.Fatal(err)
			}
			if got := ws.FLOPs() - before; got != pass.want*c.net.Info().FLOPs {
				t.Errorf("%s: %d operations, want %d passes of %d", pass.name, got, pass.want, c.net.Info().FLOPs)
			}
		}
		if beside.FLOPs() != ws.FLOPs() {
			t.Errorf("%d beside, %d in all", beside.FLOPs(), ws.FLOPs())
		}
	}
}
