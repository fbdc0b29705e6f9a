package nn

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"ocl/checkpoint"
	"ocl/internal/kernel"
	"ocl/nn/internal/workers"
	"ocl/nn/tensor"
)

// Network is a network's description, parameters, gradients and running statistics. Activations are in a [Workspace],
// so that a network can serve readers while a copy is trained. What runs a network is a method of it, and takes the
// workspace; what goes on from the last Forward in a workspace is a method of the workspace.
type Network struct {
	set     *kernel.Set
	info    Info // but for Classes, Outputs and Version, which Info fills in
	active  int  // classes; 0 means all, see SetActive
	trunk   int  // layers before the head
	stages  []stage
	frozen  frozen
	latent  *latent // nil: the network learns from images
	layers  []layer
	shape   []string // see shapeOf
	initial []initial

	params, grads []float32
	zeroed        uint32 // 1: grads count as zeros, whatever they hold
	running       []float32
	version       uint64
}

var versions atomic.Uint64

// Params is the flat vector of all parameters [P], at the places that Info.Named says. Whoever writes to it calls
// Changed.
func (n *Network) Params() []float32 { return n.params }

// Grads is the flat vector of the gradients [P] of Params, at the same places. After ZeroGrads the first call clears it,
// also where several goroutines call at once, as the work of [Workspace.Share] may. So take it after ZeroGrads: a slice
// that an earlier call gave holds what was there before, and what is written to it first is lost.
func (n *Network) Grads() []float32 {
	if atomic.LoadUint32(&n.zeroed) != 0 {
		clearing.Lock()
		defer clearing.Unlock()
		if n.zeroed != 0 {
			clear(n.grads)
			atomic.StoreUint32(&n.zeroed, 0)
		}
	}
	return n.grads
}

// clearing is held by who clears the gradients of a network, whichever it is: a network is copied.
var clearing sync.Mutex

// ZeroGrads makes Grads zeros. Accumulate of two batches is faster after it than after clear(n.Grads()), as it does not
// need the zeros in memory; the bits are the same. Only one goroutine may call it.
func (n *Network) ZeroGrads() { n.zeroed = 1 }

// Running is the flat vector of all running means and variances of batch norm, at the places that Info.Statistics says.
func (n *Network) Running() []float32 { return n.running }

// Changed must be called after Params were written to: packed weights are then packed again before their next use.
func (n *Network) Changed() { n.version = versions.Add(1) }

// Clone is a deep copy: it shares nothing that changes with n.
func (n *Network) Clone() *Network {
	c := *n
	c.params, c.grads, c.running = slices.Clone(n.params), slices.Clone(n.grads), slices.Clone(n.running)
	return &c
}

// CopyFrom sets parameters, running statistics and the number of active classes to those of src, a network of the same
// shape.
//
// It also cuts a network to the outputs that are in use: where src has the same shape but for further outputs, n takes
// the first outputs of src, and all of n's are active. It panics where src is of another shape.
func (n *Network) CopyFrom(src *Network) {
	own, others := differInParts(n.shape, src.shape)
	if own != "" && !n.isCutOf(src) {
		panic(fmt.Sprintf("nn: CopyFrom: a network with %s, got one with %s. Copy from a network of the same shape, or one with more outputs",
			own, others))
	}
	copy(n.running, src.running)
	if own == "" {
		copy(n.params, src.params)
		n.active, n.version = src.active, src.version
		return
	}
	for i, p := range n.info.Named {
		q := src.info.Named[i]
		for row := range p.Len() / p.Out {
			copy(n.params[p.Offset+row*p.Out:][:p.Out], src.params[q.Offset+row*q.Out:])
		}
	}
	n.active = 0
	n.Changed()
}

// isCutOf says whether n is src with fewer outputs.
func (n *Network) isCutOf(src *Network) bool {
	return n.trunk == src.trunk && slices.Equal(n.shape[:1+n.trunk], src.shape[:1+n.trunk]) &&
		len(n.layers) == len(src.layers) && len(n.layers) > n.trunk &&
		n.info.Head == src.info.Head && n.info.Capacity < src.info.Capacity
}

// parts is the state: parameters, running statistics and, where SetActive was called, the number of active classes.
func (n *Network) parts() checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.Via(n.Params, func(saved []float32) error { return n.take(n.params, saved) },
			func(v *[]float32) checkpoint.Part { return checkpoint.List("params", v) }),
		checkpoint.Numbers("running", n.running),
		n.activePart(),
	}
}

// SaveState implements [checkpoint.State].
func (n *Network) SaveState(e *checkpoint.Encoder) error { return n.parts().SaveState(e) }

// LoadState implements [checkpoint.State].
func (n *Network) LoadState(d *checkpoint.Decoder) error {
	defer n.Changed()
	return n.parts().LoadState(d)
}

// Workspace holds the activations and gradients of passes through networks of one shape, kernel set and algorithm of
// convolutions. The network that made it says which; for a workspace from Beside, the first network that uses
// it. With another network it panics. Only one goroutine may use it at a time. A task or loss that it runs
// must not use it; that panics too. It has its own workers, and Close ends them.
type Workspace struct {
	team    *workers.Team
	set     *kernel.Set // for work on vectors
	work    *work
	packs   *packs
	meeting meeting
	below   below    // of a latent network
	made    *Network // that made it; nil: the first one that comes
	shape   shape    // that made had at the first use, which all that follows is for; zero before
	beside  bool     // another workspace has the workers
	training
	predicting
	vectors
}

// training is the part of a workspace that learns.
type training struct {
	train      *pass
	last       *pass     // of the last Forward; nil after Accumulate
	lanes      []*lane   // of Accumulate
	sum        []float32 // gradient of one batch of Accumulate
	accumulate accumulation
	together   together
	pair       sideBySide
	profile    *profile
}

// predicting is the part that predicts.
type predicting struct {
	eval    []*pass // one a worker
	few     *pass   // of all workers, for batches that do not give each of them images of its own
	reader  bool    // see Readers
	out     Outputs
	predict predictTask
}

// vectors is the arguments of the work on flat vectors that is going on.
type vectors struct {
	share      shared
	summed     summed
	dot        dot
	add        scaledAddition
	scale      scaling
	descending descent
	cosines    cosines
}

// NewWorkspace returns a workspace with so many workers; results do not depend on it.
func (n *Network) NewWorkspace(size int) *Workspace { return NewNiceWorkspace(n, size, 0) }

// NewNiceWorkspace is [Network.NewWorkspace] with workers that give way to other threads of the process: on Linux their
// threads have a niceness, 1 to 19; 0 is none, and elsewhere it is ignored. The goroutine that uses the workspace is
// one of its workers, and keeps its own.
func NewNiceWorkspace(n *Network, size, nice int) *Workspace {
	return &Workspace{team: workers.NewNice(size, nice), set: n.set, made: n, work: &work{}, packs: &packs{}}
}

// Beside returns a workspace that uses the workers of ws for passes of another network, such as a teacher, between
// the passes of ws. Each of the two keeps its own activations and packed weights. Closing ws ends it. It panics if it
// is closed itself, or used for Accumulate or ForwardPair, which start workers. Its passes count into the FLOPs of
// ws.
func (ws *Workspace) Beside() *Workspace {
	return &Workspace{team: ws.team, set: ws.set, work: ws.work, packs: &packs{}, beside: true}
}

// work counts the passes of a workspace and of those beside it.
type work struct{ flops int64 }

// count adds a pass of so many images forward through n, or of so many activations.
func (ws *Workspace) count(n *Network, images int) {
	flops := n.info.FLOPs
	if n.latent != nil {
		flops -= n.frozen.flops
	}
	ws.work.flops += int64(images) * flops
}

// countBackward adds a backward pass, which is worth two forward passes through the layers that learn.
func (ws *Workspace) countBackward(n *Network, images int) {
	ws.work.flops += 2 * int64(images) * (n.info.FLOPs - n.frozen.flops)
}

// FLOPs is the number of floating-point operations of all passes so far through the workspace and those beside it,
// counted as [Info] counts them. The work between two calls is the difference.
func (ws *Workspace) FLOPs() int64 { return ws.work.flops }

// Count adds operations to FLOPs, of work that others did by Run.
func (ws *Workspace) Count(flops int64) { ws.work.flops += flops }

// Workers is the number of workers.
func (ws *Workspace) Workers() int { return ws.team.Size() }

// Close ends the workers. The workspace and those beside it cannot be used any more: that panics. Closing twice is
// harmless.
func (ws *Workspace) Close() {
	ws.mustOwn("Close")
	if ws.reader && ws.below.ws != nil { // it has workers of its own
		ws.below.ws.Close()
	}
	ws.team.Close() // first: it refuses while the workers are at work
	ws.closeLanes()
	ws.pair.close()
}

// EnableProfile makes the workspace record the time of each layer's work in Forward, Backward and Accumulate from now
// on. Predict and ForwardPair are not recorded.
func (ws *Workspace) EnableProfile() {
	ws.profile = newProfile(1)
	if ws.train != nil {
		ws.train.profile = ws.profile
	}
	for _, l := range ws.lanes {
		l.pass.profile = ws.laneProfile(l)
	}
}

// Profile is the time recorded since EnableProfile, in the order of a pass. If batches run at the same time, each
// counts in part, so all times add up to that of the whole.
func (ws *Workspace) Profile() []LayerTime {
	all := newProfile(1)
	if ws.profile == nil {
		return nil
	}
	all.add(ws.profile)
	for _, l := range ws.lanes {
		all.add(l.pass.profile)
	}
	return all.times
}

// Work is work on each of a range of elements, independent of the others.
type Work interface {
	Do(lo, hi int) // on elements [lo, hi)
}

// Task is work in independent chunks, which any worker does in any order.
type Task interface {
	DoChunk(worker, chunk int) // worker is in [0, Workers)
}

// Run does all chunks of a task with the workers and returns when they are done. It panics where the workers are at
// work already, and where a chunk panics.
func (ws *Workspace) Run(t Task, chunks int) { ws.team.Run(t, chunks) }

// shareSpan is the elements of a part of Share: enough that taking it costs nothing, few enough for every worker to
// have some.
const shareSpan = 1 << 14

// Share does w on n elements with all workers. A nil workspace does it in the caller's goroutine.
func (ws *Workspace) Share(w Work, n int) {
	if ws == nil {
		w.Do(0, n)
		return
	}
	ws.team.CheckIdle()
	ws.share = shared{w, n}
	ws.team.Run(&ws.share, (n+shareSpan-1)/shareSpan)
	ws.share = shared{}
}

// shared is the arguments of one Share.
type shared struct {
	work Work
	n    int
}

func (s *shared) DoChunk(_, chunk int) { s.work.Do(chunk*shareSpan, min((chunk+1)*shareSpan, s.n)) }

// Forward returns the logits [B,K] of the images x [B,C,H,W], or the outputs [B,Outputs] of a projection. They belong
// to the workspace and hold until its next use.
func (n *Network) Forward(ws *Workspace, x *tensor.Tensor, m Mode) *tensor.Tensor {
	n.check(x)
	p := ws.trainFor(n, x.Dim(0))
	ws.count(n, x.Dim(0))
	ws.last = nil // until the pass is done
	logits := p.forward(n, x, m)
	ws.last = p
	return logits
}

// mustFit panics where the workspace is closed, and where it was made for a network whose activations lie otherwise or
// whose weights are packed otherwise: another one, or the same one before a Freeze.
func (ws *Workspace) mustFit(n *Network) {
	if ws.team.Closed() {
		panic("nn: the workspace was closed. Make another one with NewWorkspace")
	}
	ws.team.CheckIdle()
	if ws.shape.set == nil {
		if ws.made == nil {
			ws.made = n
		}
		ws.shape, ws.set = ws.made.shapeNow(), ws.made.set
	}
	if own, others := ws.shape.differs(n.shapeNow()); own != "" {
		panic(fmt.Sprintf("nn: the workspace was made for a network with %s, got one with %s. Use a workspace of its own for each",
			own, others))
	}
}

// mustOwn panics if the workspace uses the workers of another one.
func (ws *Workspace) mustOwn(what string) {
	if ws.beside {
		panic(fmt.Sprintf("nn: %s: the workspace is beside another one. Use that one", what))
	}
}

// mustLearn panics if the workspace shares packed weights with others and so must not change them.
func (ws *Workspace) mustLearn(what string) {
	if ws.reader {
		panic(fmt.Sprintf("nn: %s: the workspace is one of Readers, which predict only. Use one of NewWorkspace", what))
	}
}

// lastForward is the pass that a backward pass follows.
func (ws *Workspace) lastForward() *pass {
	if ws.last == nil {
		panic("nn: Backward and Features follow a Forward in the same workspace, with no Accumulate between")
	}
	return ws.last
}

// trainFor is the pass that a backward pass can follow, with room for so many images.
func (ws *Workspace) trainFor(n *Network, images int) *pass {
	ws.mustFit(n)
	ws.mustLearn("Forward")
	if ws.train == nil || ws.train.n < images {
		ws.train = newPass(n, ws.team, images, 0, ws.packs)
		ws.train.profile = ws.profile
	}
	return ws.train
}

// check panics unless x is what the network learns from: images, or the activations of its frozen stages.
func (n *Network) check(x *tensor.Tensor) {
	if n.latent == nil {
		n.checkImages(x)
		return
	}
	g := n.frozen.out
	n.checkInput("activations of frozen stages", x, g.C, g.H, g.W)
}

func (n *Network) checkImages(x *tensor.Tensor) {
	n.checkInput("network input", x, n.info.Input[0], n.info.Input[1], n.info.Input[2])
}

func (n *Network) checkInput(what string, x *tensor.Tensor, c, h, w int) {
	if len(n.layers) == 0 {
		panic("nn: the layers of this network are no chain. Run it by package arch, which made it")
	}
	x.CheckShape(what, -1, c, h, w)
	if x.Dim(0) == 0 {
		panic("nn: an empty batch")
	}
}

// Features returns the features [B,D] of the last Forward. They belong to the workspace.
func (ws *Workspace) Features() *tensor.Tensor {
	p := ws.lastForward()
	f := p.featureOut
	f.Resize(p.images, p.net.info.FeatureDim)
	for img := range p.images {
		copy(f.Row(img), p.features[img*p.featureLayout.PixelStride:])
	}
	return f
}

// Backward adds the gradients of the last Forward to Grads of its network, given the gradient of its logits [B,K]. It
// writes over the activations: one Backward or BackwardPerSample follows a Forward, and another one panics. Features
// stay.
func (ws *Workspace) Backward(dlogits *tensor.Tensor) {
	ws.backward(dlogits, ws.lastForward().net.Grads(), nil)
}

// BackwardPerSample writes to dst [B,P] the gradient of each sample's loss alone, given the gradients of the logits
// [B,K] of the last Forward. This must have been in Eval mode: batch statistics tie samples together. Grads stay as
// they are.
func (ws *Workspace) BackwardPerSample(dlogits *tensor.Tensor, dst []float32) {
	p := ws.lastForward()
	if p.mode != Eval {
		panic("nn: per-sample gradients need a forward pass in Eval mode")
	}
	if want := dlogits.Dim(0) * len(p.net.params); len(dst) != want {
		panic(fmt.Sprintf("nn: BackwardPerSample: room for %d values instead of %d", len(dst), want))
	}
	clear(dst)
	ws.backward(dlogits, nil, dst)
}

func (ws *Workspace) backward(d *tensor.Tensor, dst, samples []float32) {
	p := ws.lastForward()
	ws.mustFit(p.net)
	if p.spent {
		panic("nn: one Backward follows a Forward, because it writes over the activations. Call Forward again")
	}
	d.CheckShape("gradient of the logits", p.images, p.net.outputs())
	ws.countBackward(p.net, p.images)
	p.dst, p.samples = dst, samples
	p.backward(d)
}
