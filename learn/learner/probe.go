package learner

import (
	"errors"
	"slices"

	"ocl"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/tensor"
)

// probe answers the questions of the retriever and the updater of a Replay about its network. It changes no parameter,
// and no running statistic but by [LookAhead.Moves]. Its buffers are made when they are first needed.
type probe struct {
	r          *Replay
	incoming   bool    // Net.Grads are the gradient of the incoming batch alone
	candidates nn.Mode // mode of the network's pass over the candidates that Interference gets

	ahead    *nn.Network // θ^v
	now      []float64   // losses at θ
	view     tensor.Tensor
	d        tensor.Tensor // gradient of logits
	in, refs []float32     // gradients [·,P]
	cosines  []float64     // with the references in refs
}

var _ memory.Probe = (*probe)(nil)

// gradientsAtOnce is the number of groups whose gradients are computed at once and kept beside those of the incoming
// batch: a gradient of the survey's network takes 4.4 MB.
const gradientsAtOnce = 10

// Interference implements [memory.Probe]: the losses at θ and at θ^v are found in one forward pass each.
func (p *probe) Interference(dst []float64, b ocl.Batch) error {
	if !p.incoming {
		return errors.New("the retriever needs the gradient of the incoming batch, which is not known yet. " +
			"Use the stepper LookAhead, which runs the incoming batch first")
	}
	if !optim.IsSGD(p.r.Opt) {
		return errors.New("learner: a look-ahead is a step of SGD, and this optimiser steps otherwise. Use optim.SGD")
	}
	net, ws := p.r.Net, p.r.WS
	if p.ahead == nil {
		p.ahead = net.Clone()
	}
	p.ahead.StepFrom(ws, net, p.r.Opt.LR())
	now, then := net.ForwardPair(ws, p.ahead, b.X, p.candidates)
	p.now = slices.Grow(p.now[:0], len(dst))[:len(dst)]
	if err := (loss.CrossEntropy{}).Rows(p.now, loss.Input{Logits: now, Y: b.Y}); err != nil {
		return err
	}
	if err := (loss.CrossEntropy{}).Rows(dst, loss.Input{Logits: then, Y: b.Y}); err != nil {
		return err
	}
	for i, l := range p.now {
		dst[i] -= l
	}
	return nil
}

// Cosines implements [memory.Probe]. One backward pass computes the gradients of ten single samples. Groups of several
// rows overwrite the network's gradients, which nobody needs any more: an updater runs after the step.
func (p *probe) Cosines(dst []float64, a, b memory.Groups) error {
	size, na, nb := len(p.r.Net.Params()), a.Count(), b.Count()
	p.in = p.in[:0]
	for lo := 0; lo < na; lo += gradientsAtOnce {
		if err := p.gradients(&p.in, a, lo, min(lo+gradientsAtOnce, na)); err != nil {
			return err
		}
	}
	for lo := 0; lo < nb; lo += gradientsAtOnce {
		hi := min(lo+gradientsAtOnce, nb)
		p.refs = p.refs[:0]
		if err := p.gradients(&p.refs, b, lo, hi); err != nil {
			return err
		}
		p.cosines = slices.Grow(p.cosines[:0], na*(hi-lo))[:na*(hi-lo)]
		p.r.WS.Cosines(p.cosines, p.in, p.refs, size)
		for i := range na {
			copy(dst[i*nb+lo:i*nb+hi], p.cosines[i*(hi-lo):])
		}
	}
	return nil
}

// Features implements [memory.Probe].
func (p *probe) Features(dst *tensor.Tensor, b ocl.Batch) error {
	features := p.r.Net.Predict(p.r.WS, b.X).Features
	dst.Resize(features.Shape...)
	copy(dst.Data, features.Data)
	return nil
}

// gradients appends the gradients of groups [lo, hi) to dst, all scaled by the same factor (that of a mean over all
// rows), which does not matter for cosines.
func (p *probe) gradients(dst *[]float32, g memory.Groups, lo, hi int) error {
	if g.Size > 1 {
		for ; lo < hi; lo++ {
			if err := p.forward(g.Batch, lo*g.Size, (lo+1)*g.Size); err != nil {
				return err
			}
			clear(p.r.Net.Grads())
			p.r.WS.Backward(&p.d)
			*dst = append(*dst, p.r.Net.Grads()...)
		}
		return nil
	}
	if err := p.forward(g.Batch, lo, hi); err != nil {
		return err
	}
	n, size := len(*dst), (hi-lo)*len(p.r.Net.Params())
	*dst = slices.Grow(*dst, size)[:n+size]
	p.r.WS.BackwardPerSample(&p.d, (*dst)[n:])
	return nil
}

// forward runs rows [lo, hi) of b in evaluation mode and sets d to the gradient of their mean loss.
func (p *probe) forward(b ocl.Batch, lo, hi int) error {
	p.view.SetRows(b.X, lo, hi)
	logits := p.r.Net.Forward(p.r.WS, &p.view, nn.Eval)
	p.view.Data = nil // it belongs to the caller
	p.d.Resize(logits.Shape...)
	_, err := loss.CrossEntropy{}.Eval(&p.d, loss.Input{Logits: logits, Y: b.Y[lo:hi]})
	return err
}
