package nn

import (
	"fmt"

	"ocl/nn/internal/workers"
	"ocl/nn/tensor"
)

// LossFunc writes the gradient of the mean loss of one batch of [Network.Accumulate] to d [B,K], given its logits
// [B,K]. It is called for several batches at the same time. It must not use the workspace, nor one beside it: that
// panics.
type LossFunc func(batch int, logits, d *tensor.Tensor) error

// lane runs one batch of Accumulate or AccumulateTogether. It has its own activations and gradients.
type lane struct {
	team *workers.Team // its own while other lanes run other batches; that of the workspace where lanes run in turn
	pass *pass
	sum  []float32 // gradient of the batch [P]; nil for the first, which adds to the network's
	err  error
}

// accumulation is the arguments of one Accumulate; a chunk is a batch.
type accumulation struct {
	net     *Network
	ws      *Workspace
	batches []*tensor.Tensor
	parts   [][]float32 // of AccumulateApart
	loss    LossFunc
}

// Accumulate runs a forward pass in Train mode and a backward pass for each batch [B,C,H,W] with the present
// parameters. It adds the gradients of their losses to Grads in the order of the batches; from the second batch on
// each gradient is summed separately first. It updates the running statistics in the same order. Batches run at the
// same time if there are workers for it. This is faster than one after the other with all workers, and gives the same
// bits. Backward must not follow. An error of loss is returned; Grads and running statistics are then undefined.
func (n *Network) Accumulate(ws *Workspace, batches []*tensor.Tensor, loss LossFunc) error {
	return n.accumulate(ws, batches, nil, loss)
}

// AccumulateApart is [Network.Accumulate] without its last additions: the gradient of batch i > 0 is written to
// parts[i-1] [P] instead.
func (n *Network) AccumulateApart(ws *Workspace, batches []*tensor.Tensor, parts [][]float32, loss LossFunc) error {
	if len(parts) != max(0, len(batches)-1) {
		panic(fmt.Sprintf("nn: AccumulateApart: room for %d gradients. Give room for one for each of %d batches but the first",
			len(parts), len(batches)))
	}
	for i, p := range parts {
		if len(p) != len(n.params) {
			panic(fmt.Sprintf("nn: AccumulateApart: %d values for gradient %d instead of %d", len(p), i, len(n.params)))
		}
	}
	return n.accumulate(ws, batches, parts, loss)
}

func (n *Network) accumulate(ws *Workspace, batches []*tensor.Tensor, parts [][]float32, loss LossFunc) error {
	ws.own("Accumulate")
	ws.learns("Accumulate")
	ws.belong(n)
	most := 0
	for _, x := range batches {
		n.check(x)
		most = max(most, x.Dim(0))
		ws.count(n, x.Dim(0))
		ws.countBackward(n, x.Dim(0))
	}
	ws.last = nil
	if len(batches) == 0 {
		return nil
	}
	if ws.inTurn(len(batches)) {
		return n.accumulateInTurn(ws, batches, parts, loss, most)
	}
	ws.makeLanes(n, len(batches), most)
	first := ws.lanes[0].pass
	first.pack(ws.team, ws.profile, n, false)
	first.pack(ws.team, ws.profile, n, true)
	ws.accumulate = accumulation{n, ws, batches, parts, loss}
	ws.team.Run(&ws.accumulate, len(batches))
	ws.accumulate = accumulation{}
	for i := range batches {
		if l := ws.lanes[i]; l.err != nil {
			return l.err
		}
	}
	for i := range batches {
		l := ws.lanes[i]
		l.pass.move()
		if i > 0 && parts == nil {
			ws.AddScaled(n.grads, l.sum, 1)
		}
	}
	return nil
}

func (n *Network) accumulateInTurn(ws *Workspace, batches []*tensor.Tensor, parts [][]float32, loss LossFunc,
	most int) error {
	p := ws.trainFor(n, most)
	for i, x := range batches {
		dst := n.grads
		switch {
		case i == 0:
		case parts != nil:
			dst = parts[i-1]
		default:
			if len(ws.sum) != len(n.grads) {
				ws.sum = make([]float32, len(n.grads))
			}
			dst = ws.sum
		}
		if err := p.accumulate(n, x, i, loss, dst); err != nil {
			return err
		}
		if i > 0 && parts == nil {
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
		if a.parts != nil {
			dst = a.parts[batch-1]
		}
	}
	l.err = l.pass.accumulate(a.net, a.batches[batch], batch, a.loss, dst)
}

// accumulate adds the gradient of the first batch to dst, and writes that of a later one there.
func (p *pass) accumulate(net *Network, x *tensor.Tensor, batch int, loss LossFunc, dst []float32) error {
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
	if batch > 0 {
		clear(dst)
	}
	p.dst, p.samples = dst, nil
	p.backward(d)
	return nil
}

// lossTask calls the loss as work of the team, so that one that uses the workspace panics on one worker too.
type lossTask struct {
	loss      LossFunc
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
				l.sum = make([]float32, len(net.params))
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
