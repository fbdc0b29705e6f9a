package nn

import (
	"fmt"

	"ocl/internal/largepages"
	"ocl/nn/internal/workers"
	"ocl/nn/tensor"
)

// Accumulation is the work of one [Network.Accumulate]: batches, each [B,C,H,W], and either Loss or Joint.
type Accumulation struct {
	Batches []*tensor.Tensor
	// Loss writes the gradient of the mean loss of one batch to d [B,K], given its logits [B,K]. It is called for several
	// batches at the same time. It must not use the workspace, nor one beside it: that panics.
	Loss func(batch int, logits, d *tensor.Tensor) error
	// Joint writes the gradient of one loss over all batches, such as one that compares two views of the same images:
	// that of the outputs of batch i to d[i], given outputs[i]. Both are [B_i,Outputs], and d begins as zeros. It is
	// called once, in one goroutine, and must not use the workspace either. All batches keep their activations until
	// then, which takes so much more memory.
	Joint func(outputs, d []*tensor.Tensor) error
	// Apart, if it is not nil, gets the gradient of batch i > 0 of Loss in Apart[i-1] [P], which is not added to Grads.
	Apart [][]float32
}

// lane runs one batch of Accumulate. It has its own activations and gradients.
type lane struct {
	team *workers.Team // its own while other lanes run other batches; that of the workspace where lanes run in turn
	pass *pass
	sum  []float32 // gradient of the batch [P]; nil for the first, which adds to the network's
	err  error
}

// accumulation is the arguments of one Accumulate; a chunk is a batch.
type accumulation struct {
	Accumulation
	net *Network
	ws  *Workspace
}

// Accumulate runs a forward pass in Train mode and a backward pass for each batch with the present parameters. It adds
// the gradients of their losses to Grads in the order of the batches; from the second batch on each gradient is summed
// separately first. It updates the running statistics in the same order. Batches run at the same time if there are
// workers for it. This is faster than one after the other with all workers, and gives the same bits. Where a joint loss
// is a sum over the batches, they are those of the losses one by one. Without a batch nothing happens. Backward must
// not follow.
//
// An error of the loss is returned. Grads and running statistics are then undefined, but for a joint loss, after which
// they are as they were. It panics if a gradient has another shape than the outputs.
func (n *Network) Accumulate(ws *Workspace, a Accumulation) error {
	if (a.Loss == nil) == (a.Joint == nil) || a.Joint != nil && a.Apart != nil {
		panic("nn: Accumulate: one of Loss, with or without Apart, and Joint is needed")
	}
	if a.Apart != nil && len(a.Apart) != max(0, len(a.Batches)-1) {
		panic(fmt.Sprintf("nn: Accumulate: room for %d gradients apart. Give room for one for each of %d batches but the first",
			len(a.Apart), len(a.Batches)))
	}
	for i, p := range a.Apart {
		if len(p) != len(n.params) {
			panic(fmt.Sprintf("nn: Accumulate: gradient %d apart has %d values instead of %d", i+1, len(p), len(n.params)))
		}
	}
	ws.mustOwn("Accumulate")
	ws.mustLearn("Accumulate")
	ws.mustFit(n)
	images, most := 0, 0
	for _, x := range a.Batches {
		n.check(x)
		images, most = images+x.Dim(0), max(most, x.Dim(0))
	}
	ws.last = nil
	switch {
	case len(a.Batches) == 0:
		return nil
	case a.Joint != nil:
		return n.accumulateTogether(ws, a, images, most)
	}
	ws.count(n, images)
	ws.countBackward(n, images)
	if ws.inTurn(len(a.Batches)) {
		return n.accumulateInTurn(ws, a, most)
	}
	ws.makeLanes(n, len(a.Batches), most)
	first := ws.lanes[0].pass
	first.pack(ws.team, ws.profile, n, false)
	first.pack(ws.team, ws.profile, n, true)
	ws.accumulate = accumulation{a, n, ws}
	second := ws.lanes[len(ws.lanes)-1].pass
	meets := n.meet(ws, &a, first, second)
	defer part(first, second)
	ws.team.Run(&ws.accumulate, len(a.Batches))
	ws.accumulate = accumulation{}
	for i := range a.Batches {
		if l := ws.lanes[i]; l.err != nil {
			return l.err
		}
	}
	for i := range a.Batches {
		l := ws.lanes[i]
		l.pass.move()
		switch {
		case meets && i > 0:
			l.pass.addLoose(n.grads, l.sum)
		case i > 0 && a.Apart == nil:
			ws.AddScaled(n.grads, l.sum, 1)
		}
	}
	return nil
}

func (n *Network) accumulateInTurn(ws *Workspace, a Accumulation, most int) error {
	p := ws.trainFor(n, most)
	meets := n.meet(ws, &a, p, p)
	defer part(p, p)
	for i, x := range a.Batches {
		dst := n.grads
		switch {
		case i == 0:
		case a.Apart != nil:
			dst = a.Apart[i-1]
		default:
			if len(ws.sum) != len(n.grads) {
				ws.sum = largepages.Floats(len(n.grads))
			}
			dst = ws.sum
		}
		switch {
		case meets && i > 0:
			p.clearLoose(dst)
		case i > 0:
			clear(dst)
		}
		if err := p.accumulate(n, x, i, a.Loss, dst); err != nil {
			return err
		}
		switch {
		case meets && i > 0:
			p.addLoose(n.grads, ws.sum)
		case i > 0 && a.Apart == nil:
			ws.AddScaled(n.grads, ws.sum, 1)
		}
	}
	return nil
}

// DoChunk runs one batch in its lane.
func (a *accumulation) DoChunk(_, batch int) {
	l := a.ws.lanes[batch]
	dst := a.net.grads
	if batch > 0 {
		dst = l.sum
		if a.Apart != nil {
			dst = a.Apart[batch-1]
		}
		if l.pass.meeting != nil {
			l.pass.clearLoose(dst)
		} else {
			clear(dst)
		}
	}
	l.err = l.pass.accumulate(a.net, a.Batches[batch], batch, a.Loss, dst)
}

// accumulate adds the gradient of a batch to dst.
func (p *pass) accumulate(net *Network, x *tensor.Tensor, batch int,
	loss func(batch int, logits, d *tensor.Tensor) error,
	dst []float32) error {
	logits := p.forward(net, x, Train)
	d := p.dout
	d.Resize(logits.Shape...)
	p.loss = lossTask{loss, batch, logits, d, nil}
	p.team.Run(&p.loss, 1)
	err := p.loss.err
	p.loss = lossTask{}
	if err != nil {
		return err
	}
	p.dst, p.samples = dst, nil
	p.backward(d)
	return nil
}

// lossTask calls the loss as work of the team, so that one that uses the workspace panics on one worker too.
type lossTask struct {
	loss      func(batch int, logits, d *tensor.Tensor) error
	batch     int
	logits, d *tensor.Tensor
	err       error
}

// DoChunk implements [workers.Task].
func (l *lossTask) DoChunk(int, int) { l.err = l.loss(l.batch, l.logits, l.d) }

// inTurn says that so many batches are better run one after the other by all workers than at the same time.
func (ws *Workspace) inTurn(batches int) bool { return batches == 1 || ws.team.Size() < batches }

// makeLanes makes n lanes for batches of up to most images and shares the workers out, unless the lanes run in turn.
func (ws *Workspace) makeLanes(net *Network, n, most int) {
	if len(ws.lanes) != n {
		ws.closeLanes()
		ws.train = nil // of a first step without memory: lanes take its place
		for i := range n {
			l := &lane{team: ws.team}
			if !ws.inTurn(n) {
				l.team = ws.team.Another(ws.team.Size() / n)
			}
			if i > 0 {
				l.sum = largepages.Floats(len(net.params))
			}
			ws.lanes = append(ws.lanes, l)
		}
	}
	for _, l := range ws.lanes {
		if l.pass == nil || l.pass.n < most {
			profile := ws.laneProfile(l)
			if l.pass != nil {
				profile = l.pass.profile
			}
			l.pass = newPass(net, l.team, most, 0, ws.packs)
			l.pass.deferred, l.pass.profile = true, profile
		}
	}
}

// laneProfile is a new profile for a lane, or nil if nothing is recorded.
func (ws *Workspace) laneProfile(l *lane) *profile {
	if l.team == ws.team {
		return ws.profile.beside(1)
	}
	return ws.profile.beside(len(ws.lanes))
}

func (ws *Workspace) closeLanes() {
	for _, l := range ws.lanes {
		if l.team != ws.team {
			l.team.Close()
		}
	}
	ws.lanes = nil
}
