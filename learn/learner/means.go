package learner

import (
	"context"

	"ocl"
	"ocl/checkpoint"
	"ocl/nn"
	"ocl/nn/tensor"
)

// ClassMeans predicts the class whose mean of all samples so far is nearest, without a memory and without training:
//
//	μ_y = (1/n_y) Σ x      y* = argmin_y ‖x − μ_y‖ = argmax_y 2·μ_y·x − ‖μ_y‖²
//
// x is what the hidden layers of Net make of an image, or its values where there are none. With Normalise each x and
// then each mean has the length 1, so that the angle decides; a vector of zeros stays. Prepare writes the classifier
// into the linear head of Net. Sums are float64. It draws nothing.
type ClassMeans struct {
	Net       *nn.Network
	WS        *nn.Workspace
	Normalise bool

	solved
}

var (
	_ Open         = (*ClassMeans)(nil)
	_ ocl.Preparer = (*ClassMeans)(nil)
)

func (l *ClassMeans) prepare() *solved {
	if l.net == nil {
		l.solved = solved{name: "ncm", net: l.Net, ws: l.WS}
		l.show()
	}
	return &l.solved
}

// Observe implements [ocl.Learner]. It does not predict: Loss is 0 and Correct −1.
func (l *ClassMeans) Observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	stats := ocl.StepStats{Samples: b.Len(), Correct: -1}
	x, err := l.prepare().begin(ctx, b)
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
	if err := l.prepare().observed(ctx); err != nil || l.ready {
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

// Predict implements [ocl.Learner].
func (l *ClassMeans) Predict(dst []ocl.Label, x *tensor.Tensor) error {
	return l.prepare().Predict(dst, x)
}

// Decide implements [Open].
func (l *ClassMeans) Decide(dst []ocl.Label, o nn.Outputs) error { return l.prepare().Decide(dst, o) }

// Parts implements [Open].
func (l *ClassMeans) Parts() Parts { return l.prepare().Parts() }

// Cost implements [ocl.Learner].
func (l *ClassMeans) Cost() ocl.Cost { return l.prepare().Cost() }

// SaveState implements [ocl.State].
func (l *ClassMeans) SaveState(e *checkpoint.Encoder) error { return l.prepare().parts().SaveState(e) }

// LoadState implements [ocl.State].
func (l *ClassMeans) LoadState(d *checkpoint.Decoder) error { return l.prepare().parts().LoadState(d) }
