package nn

import "ocl/nn/tensor"

// JointLoss writes the gradient of one loss over several passes of [Network.AccumulateTogether]: that of the outputs of
// pass i to d[i], given outputs[i]. Both are [B_i, Outputs], and d begins as zeros. It is called once, in one
// goroutine. It must not use the workspace, nor one beside it: that panics.
type JointLoss func(outputs, d []*tensor.Tensor) error

// together is the arguments of one AccumulateTogether; a chunk is a pass forward or back.
type together struct {
	net        *Network
	ws         *Workspace
	batches    []*tensor.Tensor
	back       bool
	loss       JointLoss
	outputs, d []*tensor.Tensor
	err        error
}

// AccumulateTogether does what [Network.Accumulate] does for a loss that needs the outputs of all batches at once, such
// as one that compares two views of the same images. First each batch [B,C,H,W] runs forward in Train mode, normalised
// by its own statistics. Then loss is called once. Then each batch runs back, and its gradient is added to Grads.
// Gradients are added and running statistics move in the order of the batches. The bits do not depend on the number of
// workers, and where the loss is a sum over the batches they are those of Accumulate. All batches keep their
// activations until the end, which takes so much more memory. Without a batch nothing happens. Backward must not
// follow.
//
// An error of loss is returned; Grads and running statistics are then as they were. It panics if a gradient has another
// shape than the outputs.
func (n *Network) AccumulateTogether(ws *Workspace, batches []*tensor.Tensor, loss JointLoss) error {
	ws.own("AccumulateTogether")
	ws.learns("AccumulateTogether")
	ws.belong(n)
	images, most := 0, 0
	for _, x := range batches {
		n.check(x)
		images, most = images+x.Dim(0), max(most, x.Dim(0))
	}
	ws.last = nil
	if len(batches) == 0 {
		return nil
	}
	ws.makeLanes(n, len(batches), most)
	t := &ws.together
	t.net, t.ws, t.batches, t.loss = n, ws, batches, loss
	defer t.forget()
	first := ws.lanes[0].pass
	first.pack(ws.team, ws.profile, n, false)
	ws.count(n, images)
	t.run(false)
	t.gather()
	ws.team.Run((*jointLoss)(t), 1)
	if t.err != nil {
		return t.err
	}
	for i, d := range t.d {
		d.CheckShape("gradient of the outputs", t.outputs[i].Shape...)
	}
	first.pack(ws.team, ws.profile, n, true)
	ws.countBackward(n, images)
	t.run(true)
	for i, l := range ws.lanes {
		l.pass.move()
		if i > 0 {
			ws.AddScaled(n.grads, l.sum, 1)
		}
	}
	return nil
}

// run does all passes in one direction: at the same time where each has workers of its own, and else one after the
// other.
func (t *together) run(back bool) {
	t.back = back
	if lanes := t.ws.lanes; lanes[0].team != t.ws.team {
		t.ws.team.Run(t, len(lanes))
		return
	}
	for i := range t.batches {
		t.DoChunk(0, i)
	}
}

// DoChunk implements [workers.Task].
func (t *together) DoChunk(_, i int) {
	l := t.ws.lanes[i]
	if !t.back {
		l.pass.forward(t.net, t.batches[i], Train)
		return
	}
	l.pass.dst, l.pass.samples = t.net.grads, nil
	if i > 0 {
		clear(l.sum)
		l.pass.dst = l.sum
	}
	l.pass.backward(t.d[i])
}

// gather collects the outputs of all passes, and zeros for their gradients.
func (t *together) gather() {
	t.outputs, t.d = t.outputs[:0], t.d[:0]
	for _, l := range t.ws.lanes {
		p := l.pass
		d := p.dout
		d.Resize(p.logits.Shape...)
		clear(d.Data)
		t.outputs, t.d = append(t.outputs, p.logits), append(t.d, d)
	}
}

// forget drops what belongs to the caller.
func (t *together) forget() { t.net, t.batches, t.loss, t.err = nil, nil, nil, nil }

// jointLoss calls the loss as work of the team, so that one that uses the workspace panics.
type jointLoss together

// DoChunk implements [workers.Task].
func (l *jointLoss) DoChunk(int, int) { l.err = l.loss(l.outputs, l.d) }
