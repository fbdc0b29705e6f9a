package backbone

import (
	"fmt"
	"testing"

	"ocl/nn"
)

// BenchmarkFeatures computes features of pictures of 224 pixels with random weights, on two workers: one picture at a
// time, and 32. cli/internal/bench/compare_backbone.py compares it with PyTorch and ONNX Runtime.
func BenchmarkFeatures(b *testing.B) {
	for _, a := range architectures {
		b.Run(a.name, func(b *testing.B) {
			net, err := decode(drawn(a.name, 224, 1000, 1).text(b), nn.DefaultEngine())
			if err != nil {
				b.Fatal(err)
			}
			for _, n := range []int{1, 32} {
				b.Run(fmt.Sprint(n), func(b *testing.B) {
					w := net.NewWorkspace(2, n)
					defer w.Close()
					pixels, dst := photos(n, 224), make([]float32, n*net.Info().Features)
					for b.Loop() {
						if err := w.Features(dst, pixels, n); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		})
	}
}
