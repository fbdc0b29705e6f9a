package nn_test

import (
	"fmt"
	"slices"
	"testing"

	"ocl/nn"
	"ocl/nn/arch"
	"ocl/rng"
)

// TestPartsAreTheBatch: passes that take a batch in parts give the bits of those that take it whole, also where
// convolutions write to borders: at odd widths, and at 42 pixels without Winograd's algorithm.
func TestPartsAreTheBatch(t *testing.T) {
	for _, kernel := range nn.Kernels() {
		for _, c := range []struct {
			h, w        int
			convolution string
		}{{33, 33, "table"}, {35, 37, "table"}, {32, 32, "table"}, {42, 42, "direct"}} {
			if kernel == "generic" {
				continue // slow
			}
			t.Run(fmt.Sprintf("%s/%d×%d/%s", kernel, c.h, c.w, c.convolution), func(t *testing.T) {
				net, err := arch.ResNet18(arch.Config{Channels: 3, Height: c.h, Width: c.w, Classes: 7, NF: 20,
					Engine: nn.Engine{Kernel: kernel, Convolution: c.convolution}}, rng.New(1, "net"))
				if err != nil {
					t.Fatal(err)
				}
				ahead := net.Clone()
				for i := range ahead.Params() {
					ahead.Params()[i] *= 0.9
				}
				ahead.Changed()
				x := images(12, 3, c.h, c.w, 1) // more than two parts
				for _, workers := range []int{1, 3} {
					ws := net.NewWorkspace(workers)
					defer ws.Close()
					want := map[string][]float32{}
					for what, m := range map[string]nn.Mode{"Eval": nn.Eval, "BatchOnly": nn.BatchOnly} {
						want[what] = slices.Clone(net.Forward(ws, x, m).Data)
						want[what+" ahead"] = slices.Clone(ahead.Forward(ws, x, m).Data)
					}
					if got := net.Predict(ws, x).Logits.Data; !slices.Equal(got, want["Eval"]) {
						t.Errorf("%d workers: Predict differs from Forward in Eval mode", workers)
					}
					own, others := net.ForwardPair(ws, ahead, x, nn.BatchOnly)
					if !slices.Equal(own.Data, want["BatchOnly"]) || !slices.Equal(others.Data, want["BatchOnly ahead"]) {
						t.Errorf("%d workers: ForwardPair differs from Forward in BatchOnly mode", workers)
					}
				}
			})
		}
	}
}
