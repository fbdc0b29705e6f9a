package optim

import (
	"math"

	"ocl/nn"
)

// ClipNorm scales the gradients of a network so that their Euclidean norm, over all parameters together, is at most limit
// (GDumb's clip of 10), and returns the norm before. As PyTorch does it, the factor is limit/(norm + 1e-6) where that is
// less than 1. The sum of squares is in float64.
func ClipNorm(net *nn.Network, limit float64) float64 {
	g := net.Grads()
	var sum [4]float64 // four chains of additions instead of one that waits for itself
	for ; len(g) >= 4; g = g[4:] {
		a, b, c, d := float64(g[0]), float64(g[1]), float64(g[2]), float64(g[3])
		sum[0] += a * a
		sum[1] += b * b
		sum[2] += c * c
		sum[3] += d * d
	}
	for _, v := range g {
		sum[0] += float64(v) * float64(v)
	}
	norm := math.Sqrt((sum[0] + sum[1]) + (sum[2] + sum[3]))
	if scale := limit / (norm + 1e-6); scale < 1 {
		for i := range net.Grads() {
			net.Grads()[i] *= float32(scale)
		}
	}
	return norm
}
