package learner

import (
	"context"
	"fmt"
	"math"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/internal/dense"
	"ocl/nn"
)

// SLDA is linear discriminant analysis of a stream (Hayes and Kanan 2020): class means, and one covariance Σ of all
// classes. With N samples x of K classes, n_k of class k, whose sums are s_k and means μ_k,
//
//	S = Σ x·xᵀ − Σ_k s_k·s_kᵀ/n_k      Σ = S/(N−K)
//	Λ = ((1−ε)·Σ + ε·I)⁻¹      y* = argmax_y μ_y·Λ·x − ½·μ_y·Λ·μ_y      ε is Shrinkage
//
// No order of the samples changes these. With Running, Σ is as in the paper, which takes a sample from the mean of
// its moment. For each sample in order, the t-th from 0,
//
//	Σ ← (t·Σ + t/(t+1)·d·dᵀ)/(t+1),  d = x − μ_y      then μ_y moves
//
// The mean of a class without samples is 0 in d, as in the authors' code. Where Shrinkage is 0, Λ = ((S +
// λ·I)/(N−K))⁻¹, and [SLDA.chooseRidge] chooses λ.
//
// x is what the hidden layers of the network make of an image, or its values where there are none.
// Prepare writes the classifier into the linear head of the network. Sums are float64. It draws nothing.
//
// [NewSLDA] makes one; set the fields before the first call.
type SLDA struct {
	Shrinkage float64 // ε, at most 1; 0: chosen from the sums
	Running   bool

	solved
	products moments // Σ x·xᵀ, or with Running N·Σ
}

var (
	_ Open         = (*SLDA)(nil)
	_ ocl.Preparer = (*SLDA)(nil)
)

// NewSLDA makes a learner that uses the network and the workspace alone.
func NewSLDA(net *nn.Network, ws *nn.Workspace) *SLDA {
	l := &SLDA{products: moments{sum: dense.Sym{N: net.Info().FeatureDim}, workers: ws.Workers()}}
	l.solved = solved{name: "slda", net: net, ws: ws, with: l.withProducts}
	return l
}

// Observe implements [ocl.Learner]. It does not predict: Loss is 0 and Correct −1.
func (l *SLDA) Observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	stats := ocl.StepStats{Samples: b.Len(), Correct: -1}
	x, err := l.begin(ctx, b)
	if x == nil {
		return stats, err
	}
	t := float64(l.samples())
	for i, y := range b.Y {
		at, vector := l.vector(y)
		l.counts[at]++
		weight, n, row := math.Sqrt(t/(t+1)), float64(l.counts[at]), l.products.row()
		for j, v := range x.Row(i) {
			if !l.Running {
				row[j] = float64(v)
				vector[j] += float64(v)
				continue
			}
			d := float64(v) - vector[j]
			row[j] = weight * d
			vector[j] += d / n
		}
		t++
	}
	l.flops += 2 * int64(b.Len()) * int64(dense.Size(l.products.sum.N))
	l.keep(b, x)
	return stats, nil
}

// means are the class means [K,H].
func (l *SLDA) means() []float64 {
	m := append([]float64(nil), l.rows...)
	if width := l.products.sum.N; !l.Running {
		for i := range m {
			m[i] /= float64(l.counts[i/width])
		}
	}
	return m
}

// scatter is S, or with Running N·Σ.
func (l *SLDA) scatter(means []float64) *dense.Sym {
	l.products.flush()
	s := l.products.sum.Clone()
	if !l.Running {
		s.Add(l.spread(means, make([]float64, s.N)), -1, l.products.workers)
	}
	return s
}

// spread is the rows √n_k·(μ_k − from), the sum of whose outer products is how class means scatter around a point.
func (l *SLDA) spread(means, from []float64) []float64 {
	rows := make([]float64, len(means))
	for i, v := range means {
		rows[i] = math.Sqrt(float64(l.counts[i/len(from)])) * (v - from[i%len(from)])
	}
	return rows
}

// chooseRidge chooses λ. It is at least that of the oracle approximating shrinkage (Chen, Wiesel, Eldar and Hero 2010),
// which is near the best estimate of a Gaussian's covariance, with C = S/ν, ν = N−K:
//
//	ρ = ((1−2/D)·tr C² + tr² C) / ((ν+1−2/D)·(tr C² − tr² C/D))      λ = ρ/(1−ρ)·tr S/D
//
// Telling classes apart often wants more. Of the doubles of that λ, cross-validation takes one: that of the ridge
// regression Ŷ to one-hot labels Y around their means, whose discriminant directions are those of the analysis with S +
// λ·I. A prediction of a sample that the regression was not given is (ŷ − h·y)/(1−h) for its leverage h. With the mean
// leverage for each, as in generalised cross-validation (Golub, Heath and Wahba 1979), and Y·Y for Σ y·y over samples
// and classes, it is the λ for which these predictions correlate most with the labels, whatever their scale, on which
// the analysis does not depend:
//
//	r = (Ŷ·Y − h·Y·Y) / √((Ŷ·Ŷ − 2h·Ŷ·Y + h²·Y·Y)·Y·Y)      h = (1 + D − λ·tr (T+λ·I)⁻¹)/N
//	Y·Y = Σ_k n_k·(1 − n_k/N)      Ŷ·Y = Σ_k q_kᵀ·(T+λ·I)⁻¹·q_k      Ŷ·Ŷ = Ŷ·Y − λ·Σ_k ‖(T+λ·I)⁻¹·q_k‖²
//
// T = S + Σ_k n_k·(μ_k−μ)(μ_k−μ)ᵀ is the scatter around the mean μ of all, and q_k = n_k·(μ_k−μ).
func (l *SLDA) chooseRidge(ctx context.Context, s *dense.Sym, means []float64) (float64, error) {
	n, width, workers := float64(l.samples()), s.N, l.products.workers
	mean := make([]float64, width)
	for i, v := range means {
		mean[i%width] += float64(float64(l.counts[i/width])*v) / n
	}
	between := l.spread(means, mean)
	t := s.Clone()
	t.Add(between, 1, workers)
	q, labels := between, 0.0 // Y·Y
	for k, count := range l.counts {
		for j := range width {
			q[k*width+j] *= math.Sqrt(float64(count))
		}
		labels += float64(float64(count) * (1 - float64(count)/n))
	}
	all := t.Trace() / float64(width)
	least, most := oracle(s, n-float64(len(l.counts))), 128*all
	// far above the rounding of the sums, which is all that S has of one sample a class
	least = max(least, math.Ldexp(l.products.sum.Trace(), -40))
	if !(all > 0) || !(least < most) {
		return max(most, 1), nil // all samples, or all of a class, are alike: nothing says how they spread
	}
	tri, err := t.Tridiagonalise(ctx, q, workers)
	if err != nil {
		return 0, err
	}
	best, ridge, v := math.Inf(-1), least, make([]float64, len(q))
	for lambda := least; lambda <= most; lambda *= 2 {
		copy(v, q)
		tri.Solve(v, lambda, workers)
		leverage := (1 + float64(width) - float64(lambda*tri.InverseTrace(lambda))) / n
		both := dense.Dot(q, v)
		product := both - float64(leverage*labels)
		square := both - float64(lambda*dense.Dot(v, v)) - float64(2*leverage*both) + float64(leverage*leverage*labels)
		if r := product * math.Abs(product) / square; r > best { // the signed square, but for a factor that all have
			best, ridge = r, lambda
		}
	}
	return ridge, nil
}

// oracle is λ of the oracle approximating shrinkage of S with so many degrees of freedom, or infinite where the best is
// the identity alone.
func oracle(s *dense.Sym, freedom float64) float64 {
	d, trace, square := float64(s.N), s.Trace(), s.Square()
	excess := square - float64(trace*trace)/d
	if !(freedom > 0) || !(excess > 0) {
		return math.Inf(1)
	}
	rho := (float64((1-2/d)*square) + float64(trace*trace)) / ((freedom + 1 - 2/d) * excess)
	if rho >= 1 {
		return math.Inf(1)
	}
	return rho / (1 - rho) * trace / d
}

// Prepare implements [ocl.Preparer].
func (l *SLDA) Prepare(ctx context.Context) error {
	if err := l.observed(ctx); err != nil || l.ready {
		return err
	}
	l.ridge = 0
	a, err := l.factorise(ctx)
	if err != nil {
		return err
	}
	means, width := l.means(), a.N
	weights, biases := append([]float64(nil), means...), make([]float64, len(l.labels))
	a.Solve(weights, l.products.workers)
	for i := range biases {
		for j, mean := range means[i*width:][:width] {
			biases[i] -= float64(mean*weights[i*width+j]) / 2
		}
	}
	return l.finish(weights, biases)
}

// freedom is N−K, or with Running N.
func (l *SLDA) freedom() float64 {
	n := float64(l.samples())
	if l.Running {
		return n
	}
	return max(1, n-float64(len(l.labels)))
}

// factorise returns the Cholesky factor of Λ⁻¹. If the ridge is not known yet, it chooses one.
func (l *SLDA) factorise(ctx context.Context) (*dense.Sym, error) {
	if l.factor != nil {
		return l.factor, nil
	}
	means := l.means()
	a, freedom := l.scatter(means), l.freedom()
	if l.Shrinkage > 0 {
		a.Scale((1-l.Shrinkage)/freedom, l.Shrinkage)
	} else {
		if l.ridge == 0 {
			var err error
			if l.ridge, err = l.chooseRidge(ctx, a, means); err != nil {
				return nil, fmt.Errorf("learner: %s: %w", l.name, err)
			}
		}
		a.Scale(1/freedom, l.ridge/freedom)
	}
	if err := a.Cholesky(ctx, l.products.workers); err != nil {
		return nil, l.noFactor(a, err, fmt.Sprintf("Use a larger method.%s.shrinkage", l.name))
	}
	if a.N <= whitest {
		l.factor = a
	}
	return a, nil
}

// withProducts is the whole state, given that of the sums.
func (l *SLDA) withProducts(sums checkpoint.Parts) checkpoint.Parts {
	l.products.flush()
	pooled, form := !l.Running, int64(1)
	return append(sums, l.products.part(&l.solved),
		checkpoint.Either(&pooled, "pooled", checkpoint.Parts{checkpoint.Values("pooled", &form)}, nil),
		checkpoint.Then(func() error {
			switch {
			case pooled && l.Running:
				return fmt.Errorf("learner: slda: the state has sums for method.slda.covariance=pooled. Use that value")
			case !pooled && !l.Running:
				l.pool()
			}
			return nil
		}))
}

// pool makes of means and N·Σ, as states of Running and of versions before 0.2.0 have them, the sums that have these as
// means and as S.
func (l *SLDA) pool() {
	if means := l.rows; len(means) > 0 {
		l.products.sum.Add(l.spread(means, make([]float64, l.products.sum.N)), 1, l.products.workers)
		for i := range means {
			means[i] *= float64(l.counts[i/l.products.sum.N])
		}
	}
}
