package nn

import (
	"ocl/internal/kernel"
	"ocl/nn/internal/workers"
	"ocl/nn/tensor"
)

// predictTask predicts parts of a batch, each worker with buffers of its own that fit its cache.
type predictTask struct {
	net  *Network
	ws   *Workspace
	x    *tensor.Tensor
	part int
	out  Outputs
	view []tensor.Tensor // one a worker
}

func (t *predictTask) DoChunk(worker, chunk int) {
	lo := chunk * t.part
	hi := min(lo+t.part, t.x.Dim(0))
	v := &t.view[worker]
	v.SetRows(t.x, lo, hi)
	t.infer(t.ws.eval[worker], v, lo)
}

// infer predicts x, which is the batch from image lo on.
func (t *predictTask) infer(p *pass, x *tensor.Tensor, lo int) {
	logits := p.infer(t.net, x)
	if k := t.out.Logits.Dim(1); k > 0 { // none of frozen stages alone
		copy(t.out.Logits.Data[lo*k:], logits.Data)
	}
	for img := range x.Dim(0) {
		copy(t.out.Features.Row(lo+img), p.features[img*p.featureLayout.PixelStride:])
	}
}

// Outputs are what a network makes of B images: logits [B,K], or the outputs of a projection, and features φ(x) [B,D].
type Outputs struct{ Logits, Features *tensor.Tensor }

// Predict returns the outputs of any number of images x [B,C,H,W] by the running statistics. Those of an image do not
// depend on the others. It changes nothing but the workspace, to which the result belongs.
func (n *Network) Predict(ws *Workspace, x *tensor.Tensor) Outputs {
	x = n.entering(ws, x)
	b := x.Dim(0)
	ws.count(n, b)
	t := &ws.predict
	t.net, t.ws, t.x = n, ws, x
	t.out = Outputs{resized(&ws.out.Logits, b, n.outputs()), resized(&ws.out.Features, b, n.info.FeatureDim)}
	if size := n.predictPart(); ws.team.Size() > 1 && b <= size {
		if ws.few == nil {
			ws.few = newPass(n, ws.team, size, 1, ws.packs)
		}
		ws.ready(ws.few)
		t.infer(ws.few, x, 0)
	} else {
		ws.makeEval(n)
		ws.ready(ws.eval...)
		t.part = min(ws.eval[0].channelLastN, roundUp((b+ws.team.Size()-1)/ws.team.Size(), size)) // some for every worker
		ws.team.Run(t, (b+t.part-1)/t.part)
	}
	t.x, t.out = nil, Outputs{}
	return ws.out
}

// resized is t, or a new tensor, with the shape [b,columns] and any content.
func resized(t **tensor.Tensor, b, columns int) *tensor.Tensor {
	if *t == nil {
		*t = &tensor.Tensor{}
	}
	(*t).Resize(b, columns)
	return *t
}

// entering is x as passes take it: a latent network makes activations of images. It panics where x or the workspace are
// not for n, before anything of the workspace changes.
func (n *Network) entering(ws *Workspace, x *tensor.Tensor) *tensor.Tensor {
	if n.latent != nil && len(x.Shape) == 4 && [3]int(x.Shape[1:]) == n.info.Input {
		return n.Activations(ws, x)
	}
	n.check(x)
	ws.mustFit(n)
	return x
}

// makeEval makes a pass for each worker.
func (ws *Workspace) makeEval(n *Network) {
	if ws.eval != nil {
		return
	}
	for range ws.team.Size() {
		ws.eval = append(ws.eval, newPass(n, workers.New(1), n.predictPart(), channelLastParts, ws.packs))
	}
	ws.predict.view = make([]tensor.Tensor, ws.team.Size())
}

// ready packs the weights and settles the batch norms of passes, which then predict with t.net.
func (ws *Workspace) ready(passes ...*pass) {
	n := ws.predict.net
	if ws.reader && ws.packs.forward != n.version {
		panic("nn: the network was changed after Readers. Make new readers of it")
	}
	passes[0].pack(ws.team, nil, n, false)
	for _, p := range passes {
		p.settle(n)
	}
}

// Readers returns count workspaces, each with so many workers, for goroutines that predict with n at the same time.
// They share the packed weights, which are packed here, and so take less memory and room in caches than workspaces of
// their own. They only predict. After Changed they panic. Each of them has to be closed.
func (n *Network) Readers(count, size int) []*Workspace {
	shared := &packs{}
	var frozen *Network
	var below []*Workspace
	if n.latent != nil {
		frozen = n.frozenPart()
		below = frozen.Readers(count, size)
	}
	all := make([]*Workspace, count)
	for i := range all {
		ws := n.NewWorkspace(size)
		ws.packs, ws.reader = shared, true
		ws.mustFit(n)
		ws.makeEval(n)
		if frozen != nil {
			ws.below.net, ws.below.ws, ws.below.version = frozen, below[i], n.version
		}
		if i == 0 {
			ws.eval[0].pack(ws.team, nil, n, false)
		}
		all[i] = ws
	}
	return all
}

// channelLastParts is how many parts of a batch the channel-last layers predict at once: half of the weights are
// theirs.
const channelLastParts = 4

// predictPart is the number of images that the layers in planes predict at once: a multiple of the position tile where
// maps are small, few enough for the second-level cache.
func (n *Network) predictPart() int {
	switch px := n.inputLayout(1).Pixels(); {
	case px <= 48*48:
		return kernel.ChannelLastTile
	case px <= 96*96:
		return 2
	}
	return 1
}
