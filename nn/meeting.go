package nn

import (
	"runtime"
	"sync/atomic"

	"ocl/internal/largepages"
)

// meeting adds up the gradients of two batches whose sum begins with zeros ([Network.ZeroGrads]), those of the weights
// of a convolution as soon as both have them: the batch that comes first writes to the gradients of the network, and
// the other one adds its own, which its worker still has in its caches. No batch needs a vector of all gradients then,
// which somebody would have to clear and to add up. The sum of two has the same bits in either order.
//
// What others than convolutions add is little, and is summed and added up as without a meeting ([pass.loose]).
type meeting struct {
	net  *Network
	came []atomic.Int32 // of each convolution of a pass: one of the constants below
}

const (
	nobody  = iota // came yet
	writing        // the first does
	written
)

// meet makes two passes meet, or one that runs two batches in turn. It returns false where a sum has other terms.
func (n *Network) meet(ws *Workspace, a *Accumulation, first, second *pass) bool {
	if n.zeroed == 0 || len(a.Batches) != 2 || a.Apart != nil || first.frozen > 0 {
		n.Grads()
		return false
	}
	n.zeroed = 0
	m := &ws.meeting
	m.net = n
	if len(m.came) != len(first.convs) {
		m.came = make([]atomic.Int32, len(first.convs))
	}
	for i := range m.came {
		m.came[i].Store(nobody)
	}
	for _, p := range [...]*pass{first, second} {
		p.meeting = m
		if p.own == nil {
			p.own = largepages.Floats(p.largest())
		}
	}
	first.clearLoose(n.grads)
	return true
}

// part ends a meeting.
func part(first, second *pass) { first.meeting, second.meeting = nil, nil }

// largest is the size of the largest gradient of a convolution.
func (p *pass) largest() (most int) {
	for i := range p.convs {
		most = max(most, p.convs[i].ref.size)
	}
	return most
}

// loose visits the gradients that do not meet, of so many. Convolutions are in the order of their parameters.
func (p *pass) loose(all int, visit func(lo, hi int)) {
	at := 0
	for i := range p.convs {
		if r := p.convs[i].ref; !r.shared {
			visit(at, r.at)
			at = r.at + r.size
		}
	}
	visit(at, all)
}

func (p *pass) clearLoose(v []float32) { p.loose(len(v), func(lo, hi int) { clear(v[lo:hi]) }) }

func (p *pass) addLoose(y, x []float32) {
	p.loose(len(y), func(lo, hi int) { p.set.Axpy(y[lo:hi], x[lo:hi], 1) })
}

// meetAt runs gradient, which adds the gradient of a convolution's weights, on zeros, and leaves the sum of both
// batches in the network.
func (p *pass) meetAt(r convRef, gradient func(dst []float32)) {
	i := 0
	for p.convs[i].ref.at != r.at {
		i++
	}
	came, dst := &p.meeting.came[i], r.of(p.meeting.net.grads)
	if came.CompareAndSwap(nobody, writing) {
		defer came.Store(written) // after a panic too: the other batch waits for it
		clear(dst)
		gradient(dst)
		return
	}
	own := p.own[:r.size]
	clear(own)
	gradient(own)
	for i := 1; came.Load() != written; i++ {
		if i%1024 == 0 { // the first may wait for a processor
			runtime.Gosched()
		}
	}
	p.set.Axpy(dst, own, 1)
}
