package learner

import (
	"math"

	"ocl"
	"ocl/checkpoint"
	"ocl/nn"
	"ocl/rng"
)

// RanDumb is [SLDA] on random Fourier features of the values of an image (Prabhu et al. 2024, RanDumb: A Simple
// Approach that Questions the Efficacy of Continual Representation Learning). The network has one hidden layer that
// never changes, with a cosine behind it:
//
//	h = cos(x·W + b)      W ~ N(0, 2γ), b ~ U(0, 2π)
//
// 2/D·h(x)·h(y) comes near exp(−γ·‖x−y‖²) with many features (Rahimi and Recht 2007). The factor is left out, as an
// analysis does not depend on it. W and b are drawn from the source "randumb/projection" of Seed, and Seed and Gamma
// are saved.
//
// [NewRanDumb] makes one; set the fields before the first call.
type RanDumb struct {
	Gamma float64 // γ, above 0
	Seed  uint64

	SLDA
	seed  int64 // that the features were drawn from
	gamma float64
}

var (
	_ Open         = (*RanDumb)(nil)
	_ ocl.Preparer = (*RanDumb)(nil)
	_ Unlearning   = (*RanDumb)(nil)
	_ Reclassing   = (*RanDumb)(nil)
	_ Calibrated   = (*RanDumb)(nil)
)

// NewRanDumb makes a learner that uses the network and the workspace alone. The first layer of the network is that of
// the features.
func NewRanDumb(net *nn.Network, ws *nn.Workspace) *RanDumb {
	l := &RanDumb{SLDA: *NewSLDA(net, ws)}
	l.solved = solved{name: "randumb", net: net, ws: ws, with: l.withFeatures, start: func() {
		l.seed, l.gamma = int64(l.Seed), l.Gamma
		l.draw()
	}}
	return l
}

// draw draws the hidden layer.
func (l *RanDumb) draw() {
	layer, params := l.net.Info().Layers[0], l.net.Params()
	src, deviation := rng.New(uint64(l.seed), "randumb/projection"), math.Sqrt(2*l.gamma)
	for i := range layer.Weight.Len() {
		params[layer.Weight.Offset+i] = float32(deviation * src.NormFloat64())
	}
	for i := range layer.Bias.Len() {
		params[layer.Bias.Offset+i] = float32(2 * math.Pi * src.Float64())
	}
	l.net.Changed()
}

// withFeatures is the whole state, given that of the sums.
func (l *RanDumb) withFeatures(sums checkpoint.Parts) checkpoint.Parts {
	seed, gamma := l.seed, l.gamma
	return append(checkpoint.Parts{checkpoint.Values("features", &l.seed, &l.gamma), checkpoint.Then(func() error {
		if l.seed != seed || l.gamma != gamma {
			l.draw()
		}
		return nil
	})}, l.withProducts(sums)...)
}
