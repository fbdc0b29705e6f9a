package learner

import (
	"context"
	"fmt"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/internal/dense"
	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/rng"
)

// RanPAC is ridge regression to one-hot labels on features h (McDonnell et al. 2023). The network has one hidden layer,
// whose weights W are drawn from N(0,1) and whose biases are 0, so h = ReLU(x·W); without a hidden layer h = x. With λ
// = Ridge,
//
//	G = Σ h·hᵀ,  Q = Σ h·yᵀ      weights = (G + λ·I)⁻¹·Q
//
// Recursive computes the same weights with every batch H, row by row a sample, in pieces of at most 64 rows (Woodbury):
//
//	P ← P − P·Hᵀ·(I + H·P·Hᵀ)⁻¹·H·P,  weights ← weights + P·Hᵀ·(Y − H·weights)      P = I/λ at first
//
// Prepare writes the weights into the linear head of the network. Sums are float64. W is drawn from the source
// "ranpac/projection" of Seed, and Seed is saved.
//
// [NewRanPAC] makes one; set the fields before the first call.
type RanPAC struct {
	Ridge     float64 // λ, above 0
	Recursive bool
	Seed      uint64

	solved
	gram moments // G, or with Recursive P
	seed int64   // that the projection was drawn from
}

var (
	_ Open         = (*RanPAC)(nil)
	_ ocl.Preparer = (*RanPAC)(nil)
)

// NewRanPAC makes a learner that uses the network and the workspace alone.
func NewRanPAC(net *nn.Network, ws *nn.Workspace) *RanPAC {
	l := &RanPAC{gram: moments{sum: dense.Sym{N: net.Info().FeatureDim}, workers: ws.Workers()}}
	l.solved = solved{name: "ranpac", net: net, ws: ws, with: l.withGram, start: func() {
		l.seed = int64(l.Seed)
		l.project()
	}}
	return l
}

// project draws the hidden layer, if there is one.
func (l *RanPAC) project() {
	layers := l.net.Info().Layers
	if layers[0].Kind == nn.FlattenLayer {
		return
	}
	src, w, b := rng.New(uint64(l.seed), "ranpac/projection"), layers[0].Weight, layers[0].Bias
	for i := range w.Len() {
		l.net.Params()[w.Offset+i] = float32(src.NormFloat64())
	}
	clear(l.net.Params()[b.Offset:][:b.Len()])
	l.net.Changed()
}

// Observe implements [ocl.Learner]. It does not predict: Loss is 0 and Correct −1.
func (l *RanPAC) Observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	stats := ocl.StepStats{Samples: b.Len(), Correct: -1}
	h, err := l.begin(ctx, b)
	if h == nil {
		return stats, err
	}
	for i, y := range b.Y {
		at, sum := l.vector(y)
		l.counts[at]++
		if l.Recursive {
			continue // its vectors are the weights
		}
		row := l.gram.row()
		for j, v := range h.Row(i) {
			row[j] = float64(v)
			sum[j] += float64(v)
		}
	}
	products := int64(b.Len()) * int64(dense.Size(l.gram.sum.N))
	l.flops += 2 * products
	if l.Recursive {
		l.flops += 4 * products
		for from := 0; from < b.Len(); from += held {
			to := min(from+held, b.Len())
			if err := l.recurse(h.Rows(from, to), b.Y[from:to]); err != nil {
				return stats, err
			}
		}
	}
	l.keep(b, h)
	return stats, nil
}

// recurse learns some rows by the formula of Woodbury. With S = I + H·P·Hᵀ = UᵀU and A = H·P it is P ← P − Zᵀ·Z, Z =
// U⁻ᵀ·A, and weights ← weights + Aᵀ·S⁻¹·(Y − H·weights).
func (l *RanPAC) recurse(x *tensor.Tensor, labels []ocl.Label) error {
	p, n, k := &l.gram.sum, x.Dim(0), len(l.labels)
	m := p.N
	if p.Data == nil {
		p.Data = make([]float64, dense.Size(m))
		p.Scale(1, 1/l.Ridge)
	}
	h, a := make([]float64, n*m), make([]float64, n*m)
	for i, v := range x.Data {
		h[i] = float64(v)
	}
	p.Times(a, h, l.gram.workers)
	s := &dense.Sym{N: n, Data: make([]float64, dense.Size(n))}
	s.Scale(1, 1)
	for i := range n {
		row := s.Row(i)
		for j := i; j < n; j++ {
			row[j-i] += dense.Dot(h[i*m:][:m], a[j*m:][:m])
		}
	}
	if err := s.Cholesky(context.Background(), 1); err != nil {
		return l.noFactor(s, fmt.Errorf("%w: %w", ocl.ErrDiverged, err), "Use a larger method.ranpac.ridge, or solver sums")
	}
	errs := make([]float64, k*n) // [K,n]: Y − H·weights, class by class
	for c, y := range l.labels {
		for i := range n {
			errs[c*n+i] = -dense.Dot(h[i*m:][:m], l.rows[c*m:][:m])
			if labels[i] == y {
				errs[c*n+i]++
			}
		}
	}
	s.Solve(errs, 1)
	for c := range k {
		for i := range n {
			dense.Axpy(l.rows[c*m:][:m], a[i*m:][:m], errs[c*n+i])
		}
	}
	columns := dense.Transposed(a, m) // [m,n]
	s.Forward(columns, l.gram.workers)
	p.Add(dense.Transposed(columns, n), -1, l.gram.workers)
	return nil
}

// Prepare implements [ocl.Preparer].
func (l *RanPAC) Prepare(ctx context.Context) error {
	if err := l.observed(ctx); err != nil || l.ready {
		return err
	}
	weights := append([]float64(nil), l.rows...)
	if !l.Recursive {
		a, err := l.factorise(ctx)
		if err != nil {
			return err
		}
		a.Solve(weights, l.gram.workers)
	}
	return l.finish(weights, make([]float64, len(l.labels)))
}

// factorise returns the Cholesky factor of G + λ·I.
func (l *RanPAC) factorise(ctx context.Context) (*dense.Sym, error) {
	if l.factor != nil {
		return l.factor, nil
	}
	l.gram.flush()
	a := l.gram.sum.Clone()
	a.Scale(1, l.Ridge)
	if err := a.Cholesky(ctx, l.gram.workers); err != nil {
		return nil, l.noFactor(a, err, "Use a larger method.ranpac.ridge")
	}
	if a.N <= whitest {
		l.factor = a
	}
	return a, nil
}

// withGram is the whole state, given that of the sums.
func (l *RanPAC) withGram(sums checkpoint.Parts) checkpoint.Parts {
	if !l.Recursive {
		l.gram.flush()
	}
	drawn := l.seed
	return append(checkpoint.Parts{checkpoint.Values("projection", &l.seed), checkpoint.Then(func() error {
		if l.seed != drawn {
			l.project()
		}
		return nil
	})}, append(sums, l.gram.part(&l.solved))...)
}
