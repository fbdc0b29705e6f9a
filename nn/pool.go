package nn

import (
	"sync"
	"sync/atomic"
)

// task is work that can be done in independent chunks, by any worker in any order: chunks write to different places and
// no sum is split over them, so that the result does not depend on the number of workers.
type task interface {
	do(worker, chunk int)
}

// spins is how often an idle worker looks for work before it sleeps: longer than the gaps between the layers of a pass,
// shorter than those between steps.
const spins = 20000

// pool runs tasks on a fixed number of workers, the caller being worker 0. No goroutine starts and nothing is
// allocated while it runs.
type pool struct {
	workers int
	epoch   atomic.Uint64 // odd while closing
	shares  []share       // of the chunks, one a worker
	left    atomic.Int64  // helpers still busy with this epoch
	task    task
	mu      sync.Mutex
	wake    *sync.Cond
	closed  bool
	panics  atomic.Pointer[any]
}

// share is the chunks that a worker does before it helps others: neighbours, as they were in the layer before, so that it finds in its
// own cache what it wrote there.
type share struct {
	next atomic.Int64 // the first that nobody has taken; at or beyond end when all are
	end  int64
	_    [48]byte // a cache line each
}

func newPool(workers int) *pool {
	p := &pool{workers: max(1, workers)}
	p.shares = make([]share, p.workers)
	p.wake = sync.NewCond(&p.mu)
	for w := 1; w < p.workers; w++ {
		go p.work(w)
	}
	return p
}

// run does all chunks of t and returns when they are done. A panic of any worker is raised again here.
func (p *pool) run(t task, chunks int) {
	if p.workers == 1 || chunks == 1 {
		for i := range chunks {
			t.do(0, i)
		}
		return
	}
	p.task = t
	for w := range p.shares {
		p.shares[w].next.Store(int64(chunks * w / p.workers))
		p.shares[w].end = int64(chunks * (w + 1) / p.workers)
	}
	p.left.Store(int64(p.workers - 1))
	p.mu.Lock()
	p.epoch.Add(1)
	p.mu.Unlock()
	p.wake.Broadcast()
	p.take(0)
	for i := 0; p.left.Load() > 0; i++ {
		pause(i)
	}
	if e := p.panics.Swap(nil); e != nil {
		panic(*e)
	}
}

// span is the number of neighbouring pieces of work to put in a chunk: large, so that a worker stays in one part of
// memory, but with some chunks for each worker, so that a slow one is helped out.
func (p *pool) span(pieces int) int {
	if p.workers == 1 {
		return pieces
	}
	return max(1, (pieces+12*p.workers-1)/(12*p.workers))
}

func (p *pool) take(worker int) {
	defer func() {
		if e := recover(); e != nil {
			raised := e // a copy: e itself must not escape in the usual case
			p.panics.CompareAndSwap(nil, &raised)
		}
	}()
	for k := range p.shares {
		s := &p.shares[(worker+k)%len(p.shares)]
		for i := s.next.Add(1) - 1; i < s.end; i = s.next.Add(1) - 1 {
			p.task.do(worker, int(i))
		}
	}
}

func (p *pool) work(worker int) {
	seen := uint64(0)
	for {
		for i := 0; p.epoch.Load() == seen; i++ {
			if i < spins {
				pause(i)
				continue
			}
			p.mu.Lock()
			for p.epoch.Load() == seen && !p.closed {
				p.wake.Wait()
			}
			p.mu.Unlock()
			break
		}
		if p.epoch.Load() == seen {
			return // closed
		}
		seen++
		p.take(worker)
		p.left.Add(-1)
	}
}

// close ends the helpers; run must not be called after it.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.wake.Broadcast()
}
