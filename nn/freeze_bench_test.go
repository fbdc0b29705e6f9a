package nn_test

import (
	"fmt"
	"testing"

	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// BenchmarkFrozenStep is a pass of ten incoming and one of ten replayed images through the survey's network with frozen
// stages.
func BenchmarkFrozenStep(b *testing.B) {
	for stages := range 6 {
		b.Run(fmt.Sprint(stages), func(b *testing.B) {
			net, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 100, NF: 20}, rng.New(1, "net"))
			if err != nil {
				b.Fatal(err)
			}
			if err := net.Freeze(stages, false); err != nil {
				b.Fatal(err)
			}
			ws := net.NewWorkspace(2)
			defer ws.Close()
			batches := []*tensor.Tensor{images(10, 3, 32, 32, 1), images(10, 3, 32, 32, 2)}
			loss := func(_ int, l, d *tensor.Tensor) error { objective(l, d); return nil }
			for b.Loop() {
				clear(net.Grads())
				if err := net.Accumulate(ws, nn.Accumulation{Batches: batches, Loss: loss}); err != nil {
					b.Fatal(err)
				}
				net.Changed()
			}
		})
	}
}
