package nn

import (
	"ocl/nn/internal/workers"
	"ocl/nn/tensor"
)

// sideBySide runs two networks of one shape on the same images. No backward pass follows, so layers share buffers:
// fifty images need as much memory as the activations of four of them.
type sideBySide struct {
	nets   [2]*Network
	modes  [2]Mode
	passes [2]*pass
	teams  [2]*workers.Team
	packs  packs // weights of the second network; those of the first are the workspace's
	x      *tensor.Tensor
}

// ForwardPair returns the logits [B,K] of the images x [B,C,H,W] by n in mode m, and by other, a network of the same
// shape, in BatchOnly mode. Mode m is BatchOnly, or Train if the running statistics of n are to move. The two passes
// run at the same time if there are two workers; that gives the same bits. The results belong to the workspace and are
// valid until its next use. Backward must not follow.
func (n *Network) ForwardPair(ws *Workspace, other *Network, x *tensor.Tensor, m Mode) (own, others *tensor.Tensor) {
	n.check(x)
	ws.mustOwn("ForwardPair")
	ws.mustLearn("ForwardPair")
	ws.mustFit(n)
	ws.mustFit(other)
	ws.last = nil
	p := &ws.pair
	if p.passes[0] == nil || p.passes[0].n < x.Dim(0) {
		for i, packs := range []*packs{ws.packs, &p.packs} {
			if p.teams[i] == nil {
				p.teams[i] = ws.team.Another(ws.team.Size() / 2)
			}
			p.passes[i] = newPass(n, p.teams[i], x.Dim(0), 1, packs)
		}
	}
	ws.count(n, 2*x.Dim(0))
	p.nets, p.modes, p.x = [2]*Network{n, other}, [2]Mode{m, BatchOnly}, x
	ws.team.Run(p, 2)
	p.nets, p.x = [2]*Network{}, nil
	return p.passes[0].logits, p.passes[1].logits
}

func (p *sideBySide) DoChunk(_, i int) { p.passes[i].forward(p.nets[i], p.x, p.modes[i]) }

func (p *sideBySide) close() {
	for _, team := range p.teams {
		if team != nil {
			team.Close()
		}
	}
}

// descent is the arguments of one StepFrom.
type descent struct {
	dst, src *Network
	lr       float32
}

// Do implements [Work].
func (d *descent) Do(lo, hi int) {
	w := d.dst.params[lo:hi]
	copy(w, d.src.params[lo:hi])
	d.dst.set.SGD(w, d.src.grads[lo:hi], d.lr, 0)
}

// StepFrom sets the parameters of n to θ − lr·g, where θ and g are the parameters and gradients of src, a network of
// its shape, which stays as it is, and the number of active classes to that of src. Running statistics and gradients of
// n stay as they are too.
func (n *Network) StepFrom(ws *Workspace, src *Network, lr float64) {
	ws.mustFit(n)
	ws.mustFit(src)
	src.Grads() // zeros, where they only count as such
	ws.descending = descent{n, src, float32(lr)}
	ws.Share(&ws.descending, len(n.params))
	ws.descending = descent{}
	n.active = src.active
	n.Changed()
}
