package optim

import (
	"math"

	"ocl/nn"
)

// ClipNorm scales the gradients of a network so that their Euclidean norm, over all parameters together, is at most
// limit (GDumb's clip of 10), and returns the norm before. As PyTorch does it, the factor is limit/(norm + 1e-6) where
// that is less than 1. The sum of squares is in float64, by one goroutine. The workers of ws share the scaling.
func ClipNorm(net *nn.Network, ws *nn.Workspace, limit float64) float64 {
	norm := math.Sqrt(squares(net.Grads()))
	if scale := limit / (norm + 1e-6); scale < 1 {
		ws.Scale(net.Grads(), float32(scale))
	}
	return norm
}

// squares is Σ v², in four chains of additions instead of one that waits for itself. They are four variables: as an
// array they would go through memory, three times as slow.
func squares(g []float32) float64 {
	var s0, s1, s2, s3 float64
	for ; len(g) >= 4; g = g[4:] {
		a, b, c, d := float64(g[0]), float64(g[1]), float64(g[2]), float64(g[3])
		s0 += a * a
		s1 += b * b
		s2 += c * c
		s3 += d * d
	}
	for _, v := range g {
		s0 += float64(v) * float64(v)
	}
	return (s0 + s1) + (s2 + s3)
}

// ClipValue adds decay times each parameter to its gradient, and then bounds the gradient by limit either way (CN-DPM's
// ±0.5), with the workers of ws. Gradients of inactive outputs and of frozen stages are 0. A gradient that is not a
// number stays as it is.
func ClipValue(net *nn.Network, ws *nn.Workspace, decay, limit float64) {
	learns := net.Info().Frozen.Params
	ws.Share(valueClip{net.Params()[learns:], net.Grads()[learns:], float32(decay), float32(limit)},
		len(net.Params())-learns)
	setInactive(net, net.Grads(), nil)
}

// valueClip is the arguments of ClipValue.
type valueClip struct {
	params, grads []float32
	decay, limit  float32
}

// Do implements [nn.Work].
func (c valueClip) Do(lo, hi int) {
	params, grads := c.params[lo:hi], c.grads[lo:hi]
	for i, g := range grads {
		g += float32(c.decay * params[i])
		if g > c.limit {
			g = c.limit
		}
		if g < -c.limit {
			g = -c.limit
		}
		grads[i] = g
	}
}
