package nn

import "ocl/nn/tensor"

// together is the arguments of one Accumulate with a joint loss; a chunk is a pass forward or back.
type together struct {
	accumulation
	back       bool
	outputs, d []*tensor.Tensor
	err        error
}

// accumulateTogether runs all batches forward, each normalised by its own statistics, then calls the joint loss, and
// then runs all back.
func (n *Network) accumulateTogether(ws *Workspace, a Accumulation, images, most int) error {
	ws.makeLanes(n, len(a.Batches), most)
	t := &ws.together
	t.accumulation = accumulation{a, n, ws}
	defer t.forget()
	first := ws.lanes[0].pass
	first.pack(ws.team, ws.profile, n, false)
	ws.count(n, images)
	n.Grads() // zeros, where they only count as such
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
	for i := range t.Batches {
		t.DoChunk(0, i)
	}
}

// DoChunk implements [workers.Task].
func (t *together) DoChunk(_, i int) {
	l := t.ws.lanes[i]
	if !t.back {
		l.pass.forward(t.net, t.Batches[i], Train)
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
func (t *together) forget() { t.accumulation, t.err = accumulation{}, nil }

// jointLoss calls the loss as work of the team, so that one that uses the workspace panics.
type jointLoss together

// DoChunk implements [workers.Task].
func (l *jointLoss) DoChunk(int, int) { l.err = l.Joint(l.outputs, l.d) }
