package learner

import (
	"context"

	"ocl"
	"ocl/nn"
)

// ClassMeans predicts the class whose mean of all samples so far is nearest, without a memory and without training:
//
//	μ_y = (1/n_y) Σ x      y* = argmin_y ‖x − μ_y‖ = argmax_y 2·μ_y·x − ‖μ_y‖²
//
// x is what the hidden layers of the network make of an image, or its values where there are none. With Normalise each
// x and then each mean has the length 1, so that the angle decides; a vector of zeros stays. Prepare writes the
// classifier into the linear head of the network. Sums are float64. It draws nothing.
//
// [NewClassMeans] makes one; set the field before the first call.
type ClassMeans struct {
	Normalise bool

	solved
}

var (
	_ Open         = (*ClassMeans)(nil)
	_ ocl.Preparer = (*ClassMeans)(nil)
)

// NewClassMeans makes a learner that uses the network and the workspace alone.
func NewClassMeans(net *nn.Network, ws *nn.Workspace) *ClassMeans {
	return &ClassMeans{solved: solved{name: "ncm", net: net, ws: ws}}
}

// Observe implements [ocl.Learner]. It does not predict: Loss is 0 and Correct −1.
func (l *ClassMeans) Observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	stats := ocl.StepStats{Samples: b.Len(), Correct: -1}
	x, err := l.begin(ctx, b)
	if x == nil {
		return stats, err
	}
	for i, y := range b.Y {
		scale := l.scale(x.Row(i))
		at, sum := l.vector(y)
		for j, v := range x.Row(i) {
			sum[j] += float64(float64(v) * scale)
		}
		l.counts[at]++
	}
	l.flops += 2 * int64(len(x.Data))
	l.keep(b, x)
	return stats, nil
}

// scale is the factor of a sample in the sums.
func (l *ClassMeans) scale(x []float32) float64 {
	if n := length(x); l.Normalise && n > 0 {
		return 1 / n
	}
	return 1
}

// Prepare implements [ocl.Preparer].
func (l *ClassMeans) Prepare(ctx context.Context) error {
	if err := l.observed(ctx); err != nil || l.ready {
		return err
	}
	width := l.net.Info().FeatureDim
	weights, biases := make([]float64, len(l.rows)), make([]float64, len(l.labels))
	for i := range l.labels {
		sum, w := l.rows[i*width:][:width], weights[i*width:][:width]
		scale := 1 / float64(l.counts[i])
		if n := length(sum); l.Normalise && n > 0 {
			scale = 1 / n
		}
		for j, v := range sum {
			mean := float64(v * scale)
			if w[j] = mean; !l.Normalise {
				w[j] = 2 * mean
				biases[i] -= float64(mean * mean)
			}
		}
	}
	return l.finish(weights, biases)
}
