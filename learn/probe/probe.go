// Package probe finds out what features are worth: it fits a multinomial logistic regression to those of labelled
// samples, and classifies others by it. It draws nothing, and knows nothing of the network that made the features.
// Start at [Fit].
package probe

import (
	"context"
	"fmt"
	"math"
	"slices"

	"ocl"
	"ocl/learn/loss"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// Probe is a logistic regression that was fitted. One goroutine at a time uses it.
type Probe struct {
	Iterations int  // of the fit
	Converged  bool // no entry of the gradient was larger than Tolerance at its end

	net         *nn.Network
	ws          *nn.Workspace
	mean, scale []float64 // [D]
	rows        *tensor.Tensor
}

// Where a fit ends: at gradients of which no entry is larger than Tolerance, as in scikit-learn, or after
// MostIterations.
const (
	Tolerance      = 1e-4
	MostIterations = 500
)

// Fit finds the classifier
//
//	argmin_{W,b} −1/n·Σ_i ln softmax(W·z_i + b)_{y_i} + 1/(2n)·‖W‖²      z_i = (x_i − μ)/σ
//
// of features x [n,D] with labels y in [0, classes). μ and σ are the means and deviations of the features; one without
// deviation is 0 in z. The penalty is that of scikit-learn with C = 1, which Soutif-Cormerais et al. (2023) probe with.
// The minimum is found by limited-memory BFGS from W = 0 (Nocedal 1980), in about 6·n·D·classes operations for each of
// its iterations. Any number of workers, at least 1, gives the same bits. Close frees what the probe holds. The error
// wraps that of ctx when it ends. It panics for no samples.
func Fit(ctx context.Context, x *tensor.Tensor, y []ocl.Label, classes int, e nn.Engine, workers int) (*Probe, error) {
	n, d := x.Dim(0), x.RowLen()
	if n == 0 || len(y) != n {
		panic(fmt.Sprintf("probe: %d samples with %d labels; want the same number, at least 1", n, len(y)))
	}
	net, err := arch.Linear(arch.Config{Channels: d, Height: 1, Width: 1, Classes: classes, Engine: e}, rng.New(0, "probe"))
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	p := &Probe{net: net, ws: net.NewWorkspace(workers), rows: tensor.New(min(n, chunk), d, 1, 1)}
	p.standardise(x)
	f := &objective{Probe: p, x: x, y: y, decay: 1 / float64(n), penalised: make([]bool, len(net.Params()))}
	for _, of := range net.Info().Named {
		for i := range of.Len() {
			f.penalised[of.Offset+i] = of.In > 0
		}
	}
	if err := p.minimise(ctx, f); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close frees the workers. The probe is not used afterwards.
func (p *Probe) Close() { p.ws.Close() }

// Classify writes the class of the largest logit for each row of features [B,D] to dst, len(dst) == B; the lowest of
// several.
func (p *Probe) Classify(dst []ocl.Label, x *tensor.Tensor) {
	for lo := 0; lo < len(dst); lo += chunk {
		hi := min(lo+chunk, len(dst))
		logits := p.net.Predict(p.ws, p.standard(x, lo, hi)).Logits
		for i := range hi - lo {
			best := 0
			for k, v := range logits.Row(i) {
				if v > logits.Row(i)[best] {
					best = k
				}
			}
			dst[lo+i] = ocl.Label(best)
		}
	}
}

// chunk is the number of rows that go through the regression at once.
const chunk = 500

// standardise finds the means of features and the inverse of their deviations.
func (p *Probe) standardise(x *tensor.Tensor) {
	n, d := float64(x.Dim(0)), x.RowLen()
	p.mean, p.scale = make([]float64, d), make([]float64, d)
	for i := range x.Dim(0) {
		for j, v := range x.Row(i) {
			p.mean[j] += float64(v)
		}
	}
	for j := range p.mean {
		p.mean[j] /= n
	}
	for i := range x.Dim(0) {
		for j, v := range x.Row(i) {
			off := float64(v) - p.mean[j]
			p.scale[j] += float64(off * off)
		}
	}
	for j, v := range p.scale {
		if p.scale[j] = 0; v > 0 {
			p.scale[j] = 1 / math.Sqrt(v/n)
		}
	}
}

// standard are rows [lo, hi) of features, standardised.
func (p *Probe) standard(x *tensor.Tensor, lo, hi int) *tensor.Tensor {
	p.rows.Resize(hi-lo, x.RowLen(), 1, 1)
	for i := range hi - lo {
		row := p.rows.Row(i)
		for j, v := range x.Row(lo + i) {
			row[j] = float32((float64(v) - p.mean[j]) * p.scale[j])
		}
	}
	return p.rows
}

// objective is what the fit makes small, as a function of the parameters of the network.
type objective struct {
	*Probe
	x         *tensor.Tensor
	y         []ocl.Label
	decay     float64
	penalised []bool // [P]: a weight, and no bias
	d         tensor.Tensor
}

// at returns the value at parameters w [P], which are float32 numbers, and writes the gradient to g [P].
func (f *objective) at(ctx context.Context, g, w []float64) (float64, error) {
	params, grads := f.net.Params(), f.net.Grads()
	for i, v := range w {
		params[i] = float32(v)
	}
	f.net.Changed()
	clear(grads)
	n, sum := len(f.y), 0.0
	for lo := 0; lo < n; lo += chunk {
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("probe: %w", err)
		}
		hi := min(lo+chunk, n)
		logits := f.net.Forward(f.ws, f.standard(f.x, lo, hi), nn.Train)
		if f.d.Shape == nil {
			f.d = *tensor.New(logits.Shape...)
		}
		f.d.Resize(logits.Shape...)
		mean, err := loss.CrossEntropy{}.Eval(&f.d, loss.Input{Logits: logits, Y: f.y[lo:hi]})
		if err != nil {
			return 0, fmt.Errorf("probe: %w", err)
		}
		share := float64(hi-lo) / float64(n)
		sum += float64(mean * share)
		for i := range f.d.Data {
			f.d.Data[i] *= float32(share)
		}
		f.ws.Backward(&f.d)
	}
	for i, v := range w {
		if g[i] = float64(grads[i]); f.penalised[i] {
			g[i] += float64(f.decay * v)
			sum += float64(f.decay / 2 * float64(v*v))
		}
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return 0, fmt.Errorf("probe: the features are no finite numbers: %w", ocl.ErrDiverged)
	}
	return sum, nil
}

// history is the number of steps that limited-memory BFGS remembers, armijo the share of the expected fall that a step
// must bring, and halvings the times that a step is halved at most.
const (
	history  = 10
	armijo   = 1e-4
	halvings = 20
)

// step is a step of the past: the change of the parameters, and that of the gradient.
type step struct {
	s, y []float64
	sy   float64
}

// minimise makes the network's parameters those of the least value, from 0. It is not that of gonum, whose products and
// sums compilers fuse on some machines, which then have other bits, and which does not know parameters of float32.
func (p *Probe) minimise(ctx context.Context, f *objective) error {
	size := len(p.net.Params())
	w, g, next, slope := make([]float64, size), make([]float64, size), make([]float64, size), make([]float64, size)
	value, err := f.at(ctx, g, w)
	if err != nil {
		return err
	}
	var past []step
	for ; p.Iterations < MostIterations; p.Iterations++ {
		if p.Converged = largest(g) <= Tolerance; p.Converged {
			break
		}
		down, length := direction(g, past), 1.0
		if len(past) == 0 {
			length = min(1, 1/math.Sqrt(dot(g, g)))
		}
		expected, found := dot(g, down), false
		for range halvings {
			for i := range next {
				next[i] = float64(float32(w[i] + float64(length*down[i])))
			}
			v, err := f.at(ctx, slope, next)
			if err != nil {
				return err
			}
			if found = v <= value+float64(armijo*length*expected); found {
				value = v
				break
			}
			length /= 2
		}
		if !found { // the value is as small as its rounding lets it become
			_, err := f.at(ctx, g, w)
			return err
		}
		one := step{s: make([]float64, size), y: make([]float64, size)}
		for i := range next {
			one.s[i], one.y[i] = next[i]-w[i], slope[i]-g[i]
		}
		if one.sy = dot(one.s, one.y); one.sy > 0 {
			if past = append(past, one); len(past) > history {
				past = past[1:]
			}
		}
		copy(w, next)
		copy(g, slope)
	}
	return nil
}

// direction is −H·g, with the inverse Hessian H that the past steps tell of.
func direction(g []float64, past []step) []float64 {
	q, a := make([]float64, len(g)), make([]float64, len(past))
	for i, v := range g {
		q[i] = -v
	}
	for i, p := range slices.Backward(past) {
		a[i] = dot(p.s, q) / p.sy
		axpy(q, -a[i], p.y)
	}
	if n := len(past); n > 0 {
		last := past[n-1]
		scale := last.sy / dot(last.y, last.y)
		for i := range q {
			q[i] *= scale
		}
	}
	for i, p := range past {
		axpy(q, a[i]-dot(p.y, q)/p.sy, p.s)
	}
	return q
}

func dot(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += float64(v * y[i])
	}
	return sum
}

func axpy(dst []float64, a float64, x []float64) {
	for i, v := range x {
		dst[i] += float64(a * v)
	}
}

func largest(v []float64) (most float64) {
	for _, x := range v {
		most = max(most, math.Abs(x))
	}
	return most
}
