// Package optim updates the parameters of a network along its gradients. It knows nothing of losses. Start at [SGD].
//
// Settings make an optimiser, which has its state and is saved with it:
//
//	opt := optim.SGD{LR: 0.1, Momentum: 0.9}.New()
//	opt.Step(net, ws) // from the gradients that a backward pass has left
//
// [Adam] is the other one. [ClipNorm] and [ClipValue] bound the gradients before a step.
package optim

import (
	"fmt"

	"ocl/checkpoint"
	"ocl/internal/kernel"
	"ocl/internal/largepages"
	"ocl/internal/portable"
	"ocl/nn"
)

// Optimizer makes steps from the gradients of one network. It belongs to one learner, and one goroutine at a time uses
// it.
type Optimizer interface {
	// Step updates the parameters with the workers of ws, or alone where ws is nil, and tells the network; gradients
	// stay as they are. Parameters of inactive outputs ([nn.Network.SetActive]) and of frozen stages
	// ([nn.Network.Freeze]) stay as they are too.
	Step(net *nn.Network, ws *nn.Workspace)
	// LR is the learning rate.
	LR() float64
	// SetLR changes the learning rate from the next step on; a schedule sets it, and it is not part of the state.
	SetLR(lr float64)
	// Fit makes a state that was loaded one of net: it has numbers for each parameter, which are 0 where net has
	// inherited the others ([nn.Network.Inherit]). It is an error where the state is that of another network.
	Fit(net *nn.Network) error
	checkpoint.State
}

// Settings describe an optimiser, such as [SGD] and [Adam]. They are values that nobody changes.
type Settings interface {
	// New returns an optimiser that has made no step, and shares nothing with another one.
	New() Optimizer
}

// SGD describes stochastic gradient descent as PyTorch does it: g ← g + WeightDecay·θ; m ← Momentum·m + g (if Momentum
// is not 0); θ ← θ − LR·m. Weight decay acts on all parameters, batch norm and biases too.
type SGD struct{ LR, WeightDecay, Momentum float64 }

type sgd struct {
	SGD
	m    []float32 // [P], nil without momentum or before the first step
	net  *nn.Network
	kept []float32 // parameters of inactive outputs
}

// IsSGD says whether o is [SGD], whose step without momentum and weight decay is θ − LR·g.
func IsSGD(o Optimizer) bool {
	_, is := o.(*sgd)
	return is
}

// New implements [Settings].
func (c SGD) New() Optimizer { return &sgd{SGD: c} }

func (s *sgd) LR() float64      { return s.SGD.LR }
func (s *sgd) SetLR(lr float64) { s.SGD.LR = lr }

func (s *sgd) Fit(net *nn.Network) error { return fit(net, &s.m) }

// fit makes vectors those of net, which are all empty or have a number for each parameter.
func fit(net *nn.Network, vectors ...*[]float32) (err error) {
	if len(*vectors[0]) == 0 {
		for _, v := range vectors {
			if n := len(*v); n != 0 {
				return fmt.Errorf("optim: the state has %d numbers in one vector and none in another, so it belongs to another configuration. Use the one it was saved with", n)
			}
		}
		return nil
	}
	for _, v := range vectors {
		if *v, err = net.Fit(*v); err != nil {
			return fmt.Errorf("optim: %w", err)
		}
	}
	return nil
}

func (s *sgd) Step(net *nn.Network, ws *nn.Workspace) {
	if s.Momentum != 0 && s.m == nil {
		s.m = largepages.Floats(len(net.Params()))
	}
	s.net, s.kept = net, inactive(s.kept[:0], net)
	net.Grads() // zeros, where they only count as such
	ws.Share(s, len(net.Params())-net.Info().Frozen.Params)
	leave(net, s.kept, s.m)
	net.Changed()
}

// leave undoes a step for inactive outputs and fixed parameters, whose gradient is 0: weight decay has changed their
// parameters, which were kept, and left traces in the vectors [P] of the optimiser, each of which may be nil.
func leave(net *nn.Network, kept []float32, vectors ...[]float32) {
	if len(kept) == 0 {
		return
	}
	setInactive(net, net.Params(), kept)
	for _, v := range vectors {
		if v != nil {
			setInactive(net, v, nil)
		}
	}
}

// inactive appends the parameters that are fixed and those of inactive outputs to dst.
func inactive(dst []float32, net *nn.Network) []float32 {
	inactiveRows(net, net.Params(), func(row []float32) { dst = append(dst, row...) })
	return dst
}

// setInactive sets what inactive appends, in v [P], to values, or to 0 if values is nil.
func setInactive(net *nn.Network, v, values []float32) {
	inactiveRows(net, v, func(row []float32) {
		if values == nil {
			clear(row)
			return
		}
		copy(row, values)
		values = values[len(row):]
	})
}

// inactiveRows calls f with each part of v [P] that belongs to fixed parameters and to inactive outputs.
func inactiveRows(net *nn.Network, v []float32, f func(row []float32)) {
	info := net.Info()
	for _, p := range info.Named {
		if p.Fixed {
			f(v[p.Offset:][:p.Len()])
		}
	}
	if info.Classes == info.Capacity {
		return
	}
	ClassRows(net, v, func(row []float32, _ bool) { f(row[info.Classes:]) })
}

// ClassRows calls f with each part of v [P], a number for each parameter of net, that has a number for each class
// [Capacity]: the weights of one feature, or the biases. A head without an output a class has none.
func ClassRows(net *nn.Network, v []float32, f func(row []float32, bias bool)) {
	for _, p := range net.Info().Named {
		if !p.Classes {
			continue
		}
		for at := p.Offset; at < p.Offset+p.Len(); at += p.Out {
			f(v[at:at+p.Out], p.In == 0)
		}
	}
}

// Vectors are what an optimiser of this package keeps for each parameter [P], its own and no copies; they are empty
// before the first step. The caller may change them between two steps.
func Vectors(o Optimizer) [][]float32 {
	switch o := o.(type) {
	case *sgd:
		return [][]float32{o.m}
	case *adam:
		return [][]float32{o.m, o.v}
	}
	return nil
}

// Do implements [nn.Work], on what is not frozen.
func (s *sgd) Do(lo, hi int) {
	info := s.net.Info()
	lo, hi = lo+info.Frozen.Params, hi+info.Frozen.Params
	k, w, g := kernel.Named(info.Engine.Kernel), s.net.Params()[lo:hi], s.net.Grads()[lo:hi]
	if s.Momentum == 0 {
		k.SGD(w, g, float32(s.SGD.LR), float32(s.WeightDecay))
		return
	}
	k.Momentum(w, g, s.m[lo:hi], float32(s.SGD.LR), float32(s.WeightDecay), float32(s.Momentum))
}

func (s *sgd) parts() checkpoint.Parts { return checkpoint.Parts{checkpoint.List("m", &s.m)} }

func (s *sgd) SaveState(e *checkpoint.Encoder) error { return s.parts().SaveState(e) }
func (s *sgd) LoadState(d *checkpoint.Decoder) error { return s.parts().LoadState(d) }

// Adam describes Adam as PyTorch does it, with β = (0.9, 0.999) and ε = 1e-8 and weight decay added to the gradient.
type Adam struct{ LR, WeightDecay float64 }

const (
	adamBeta1 = 0.9
	adamBeta2 = 0.999
	adamEps   = 1e-8
)

type adam struct {
	Adam
	m, v []float32 // [P]
	t    int64     // steps taken
	net  *nn.Network
	kept []float32 // parameters of inactive outputs
}

// New implements [Settings].
func (c Adam) New() Optimizer { return &adam{Adam: c} }

func (a *adam) LR() float64      { return a.Adam.LR }
func (a *adam) SetLR(lr float64) { a.Adam.LR = lr }

func (a *adam) Fit(net *nn.Network) error { return fit(net, &a.m, &a.v) }

func (a *adam) Step(net *nn.Network, ws *nn.Workspace) {
	if n := len(net.Params()); a.m == nil {
		a.m, a.v = largepages.Floats(n), largepages.Floats(n)
	}
	a.t++
	a.net, a.kept = net, inactive(a.kept[:0], net)
	net.Grads() // zeros, where they only count as such
	ws.Share(a, len(net.Params())-net.Info().Frozen.Params)
	leave(net, a.kept, a.m, a.v)
	net.Changed()
}

// Do implements [nn.Work], on what is not frozen.
func (a *adam) Do(lo, hi int) {
	info := a.net.Info()
	lo, hi = lo+info.Frozen.Params, hi+info.Frozen.Params
	kernel.Named(info.Engine.Kernel).Adam(a.net.Params()[lo:hi], a.net.Grads()[lo:hi], a.m[lo:hi], a.v[lo:hi],
		kernel.AdamStep{
			LR: a.Adam.LR, Decay: a.WeightDecay, Beta1: adamBeta1, Beta2: adamBeta2, Eps: adamEps,
			Correction1: 1 - portable.Pow(adamBeta1, float64(a.t)), Correction2: 1 - portable.Pow(adamBeta2, float64(a.t)),
		})
}

func (a *adam) parts() checkpoint.Parts {
	return checkpoint.Parts{checkpoint.Values("t", &a.t), checkpoint.List("m", &a.m), checkpoint.List("v", &a.v)}
}

func (a *adam) SaveState(e *checkpoint.Encoder) error { return a.parts().SaveState(e) }
func (a *adam) LoadState(d *checkpoint.Decoder) error { return a.parts().LoadState(d) }
