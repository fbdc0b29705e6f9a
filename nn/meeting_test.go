package nn_test

import (
	"math"
	"slices"
	"testing"

	"ocl/nn"
	"ocl/nn/tensor"
)

// TestZeroGrads: after ZeroGrads a step has the bits that it has after Grads were cleared, whatever they held, with one
// batch or two, that run in turn or side by side, and Grads are zeros where no step follows.
func TestZeroGrads(t *testing.T) {
	forEachSet(t, func(t *testing.T) {
		list := networks(t)
		if nn.DefaultEngine().Kernel == "generic" {
			list = list[3:] // plain Go is slow, and the way of the sums is the same
		}
		for _, c := range list {
			for _, batches := range [][]*tensor.Tensor{{c.x}, {c.x, c.x.Rows(0, 2)}} {
				for workers := 1; workers <= 2; workers++ {
					ws := c.net.NewWorkspace(workers)
					defer ws.Close()
					step := func() []float32 {
						if err := c.net.Accumulate(ws, nn.Accumulation{Batches: batches, Loss: objectiveOf}); err != nil {
							t.Fatal(err)
						}
						return slices.Clone(c.net.Grads())
					}
					clear(c.net.Grads())
					want := step()
					for range 3 { // either batch may come first
						for i := range c.net.Grads() {
							c.net.Grads()[i] = float32(math.NaN())
						}
						c.net.ZeroGrads()
						if !sameBits(step(), want) {
							t.Errorf("%s, %d batches, %d workers: other gradients after ZeroGrads", c.name, len(batches), workers)
						}
					}
					c.net.ZeroGrads()
					if i := slices.IndexFunc(c.net.Clone().Grads(), func(g float32) bool { return g != 0 }); i >= 0 {
						t.Errorf("%s: gradient %d is not zero", c.name, i)
					}
				}
			}
		}
	})
}

// ones adds 1 to gradients.
type ones struct{ net *nn.Network }

func (o ones) Do(lo, hi int) {
	for i := range o.net.Grads()[lo:hi] {
		o.net.Grads()[lo+i]++
	}
}

// TestZeroGradsByAllWorkers: work that takes Grads after ZeroGrads finds zeros, and loses nothing that another worker
// wrote. The race detector sees where two of them clear.
func TestZeroGradsByAllWorkers(t *testing.T) {
	net := networks(t)[1].net
	ws := net.NewWorkspace(2)
	defer ws.Close()
	for range 100 {
		net.ZeroGrads()
		ws.Share(ones{net}, len(net.Params()))
		if i := slices.IndexFunc(net.Grads(), func(g float32) bool { return g != 1 }); i >= 0 {
			t.Fatalf("gradient %d is %v, want 1", i, net.Grads()[i])
		}
	}
}
