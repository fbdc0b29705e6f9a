package learner

import (
	"context"
	"math"

	"ocl"
	"ocl/checkpoint"
	"ocl/internal/dense"
	"ocl/nn"
	"ocl/tensor"
)

// SLDA is streaming linear discriminant analysis (Hayes and Kanan 2020): class means, and one covariance of all classes. For each sample in order,
// the t-th from 0,
//
//	Σ ← (t·Σ + t/(t+1)·d·dᵀ)/(t+1),  d = x − μ_y      then μ_y moves
//	Λ = ((1−ε)·Σ + ε·I)⁻¹      y* = argmax_y μ_y·Λ·x − ½·μ_y·Λ·μ_y
//
// The mean of a class without samples is 0 in d, as in the authors' code. x is what the hidden layers of Net make of an image, or its values where there are none.
// Prepare writes the classifier into the linear head of Net. Sums are float64. It draws nothing.
type SLDA struct {
	Net       *nn.Network
	WS        *nn.Workspace
	Shrinkage float64 // ε, above 0 and at most 1

	solved
	cov moments // t·Σ
}

var (
	_ Open         = (*SLDA)(nil)
	_ ocl.Preparer = (*SLDA)(nil)
)

func (l *SLDA) prepare() *solved {
	if l.net == nil {
		l.solved = solved{name: "slda", net: l.Net, ws: l.WS}
		l.cov = moments{sum: dense.Sym{N: l.Net.FeatureDim()}, workers: l.WS.Workers()}
		l.show()
	}
	return &l.solved
}

// Observe implements [ocl.Learner]. It does not predict: Loss is 0 and Correct −1.
func (l *SLDA) Observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	stats := ocl.StepStats{Samples: b.Len(), Correct: -1}
	x, err := l.prepare().begin(ctx, b)
	if x == nil {
		return stats, err
	}
	t := float64(l.samples())
	for i, y := range b.Y {
		at, mean := l.vector(y)
		l.counts[at]++
		weight, n, row := math.Sqrt(t/(t+1)), float64(l.counts[at]), l.cov.row()
		for j, v := range x.Row(i) {
			d := float64(v) - mean[j]
			row[j] = weight * d
			mean[j] += d / n
		}
		t++
	}
	l.flops += 2 * int64(b.Len()) * int64(dense.Size(l.cov.sum.N))
	return stats, nil
}

// Prepare implements [ocl.Preparer].
func (l *SLDA) Prepare(ctx context.Context) error {
	if err := l.prepare().observed(ctx); err != nil || l.ready {
		return err
	}
	l.cov.flush()
	a := l.cov.sum.Clone()
	a.Scale((1-l.Shrinkage)/float64(l.samples()), l.Shrinkage)
	if err := a.Cholesky(ctx, l.cov.workers); err != nil {
		return l.factor(a, err, "Use a larger method.slda.shrinkage")
	}
	width := a.N
	weights, biases := append([]float64(nil), l.rows...), make([]float64, len(l.labels))
	a.Solve(weights, l.cov.workers)
	for i := range biases {
		for j, mean := range l.rows[i*width:][:width] {
			biases[i] -= float64(mean*weights[i*width+j]) / 2
		}
	}
	return l.finish(weights, biases)
}

// Predict implements [ocl.Learner].
func (l *SLDA) Predict(dst []ocl.Label, x *tensor.Tensor) error { return l.prepare().Predict(dst, x) }

// Decide implements [Open].
func (l *SLDA) Decide(dst []ocl.Label, o nn.Outputs) error { return l.prepare().Decide(dst, o) }

// Parts implements [Open].
func (l *SLDA) Parts() Parts { return l.prepare().Parts() }

// Cost implements [ocl.Learner].
func (l *SLDA) Cost() ocl.Cost { return l.prepare().Cost() }

// SaveState implements [ocl.State].
func (l *SLDA) SaveState(e *checkpoint.Encoder) error { return l.all().SaveState(e) }

// LoadState implements [ocl.State].
func (l *SLDA) LoadState(d *checkpoint.Decoder) error { return l.all().LoadState(d) }

func (l *SLDA) all() checkpoint.Parts {
	s := l.prepare()
	l.cov.flush()
	return append(s.parts(), l.cov.part(s))
}
