// Package workers distributes work over a fixed number of goroutines, in chunks. The result is the same for any
// number of them. Start at [Team].
package workers

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"ocl/internal/origin"
	"ocl/internal/priority"
)

// Task is work that can be done in independent chunks, by any worker in any order: chunks write to different places and
// no sum is split over them, so that the result does not depend on the number of workers.
type Task interface {
	DoChunk(worker, chunk int)
}

// spins is how often an idle worker looks for work before it sleeps. This takes longer than the gaps between the
// layers of a pass, and less time than the gaps between steps.
const spins = 20000

// Team runs tasks on a fixed number of workers, the caller being worker 0. No goroutine starts and nothing is
// allocated while it runs. It runs one task at a time.
type Team struct {
	size   int
	nice   int           // of its helpers
	state  atomic.Int32  // idle, busy or closed
	epoch  atomic.Uint64 // of the tasks that helpers took part in
	shares []share       // of the chunks, one a worker
	left   atomic.Int64  // helpers still busy with this epoch
	task   Task
	mu     sync.Mutex
	wake   *sync.Cond
	panics atomic.Pointer[origin.Panic]
}

// states of a team
const (
	idle = iota
	busy
	closed
)

// share is the chunks that a worker does before it helps others. They are neighbours, and the same as in the layer
// before, so the worker finds in its own cache what it wrote there.
type share struct {
	next atomic.Int64 // the first that nobody has taken; at or beyond end when all are
	end  int64
	_    [48]byte // a cache line each
}

// New starts a team of n workers, or of one where n is less. Close ends it.
func New(n int) *Team { return NewNice(n, 0) }

// NewNice is New with helpers whose threads have a niceness ([priority.Lower]). The caller, who is worker 0, sees to
// its own.
func NewNice(n, nice int) *Team {
	t := &Team{size: max(1, n), nice: nice}
	t.shares = make([]share, t.size)
	t.wake = sync.NewCond(&t.mu)
	for w := 1; w < t.size; w++ {
		go t.work(w)
	}
	return t
}

// Another starts a team of n workers with helpers of the same niceness.
func (t *Team) Another(n int) *Team { return NewNice(n, t.nice) }

// Size is the number of workers.
func (t *Team) Size() int { return t.size }

// Run does all chunks of a task and returns when they are done. A panic of any worker is raised again here, with its
// stack where there are several ([origin.Panic]), and the team can be used further. Run panics where the team works
// already, as when a chunk calls it or a second goroutine does, whatever the numbers of workers and chunks, and after
// Close. A chunk must not call runtime.Goexit, as t.FailNow does: its worker would be missing from then on, and Run
// would wait for it.
func (t *Team) Run(task Task, chunks int) {
	t.enter()
	defer t.leave()
	if t.size == 1 || chunks == 1 {
		for i := range chunks {
			task.DoChunk(0, i)
		}
		return
	}
	t.task = task
	for w := range t.shares {
		t.shares[w].next.Store(int64(chunks * w / t.size))
		t.shares[w].end = int64(chunks * (w + 1) / t.size)
	}
	t.left.Store(int64(t.size - 1))
	t.mu.Lock()
	t.epoch.Add(1)
	t.mu.Unlock()
	t.wake.Broadcast()
	t.take(0)
	for i := 0; t.left.Load() > 0; i++ {
		pause(i)
	}
	if e := t.panics.Swap(nil); e != nil {
		panic(e)
	}
}

// enter and leave begin and end a task.
func (t *Team) enter() {
	if !t.state.CompareAndSwap(idle, busy) {
		t.refuse()
	}
}

func (t *Team) leave() { t.state.Store(idle) }

// CheckIdle panics, as Run does, if the team is working or closed. Call it before the arguments of a task are stored,
// so that those of a running task are not overwritten.
func (t *Team) CheckIdle() {
	if t.state.Load() != idle {
		t.refuse()
	}
}

func (t *Team) refuse() {
	if t.state.Load() == closed {
		panic("workers: the team was closed. Make a new one")
	}
	panic("workers: the team is at work. Run no task from inside another one, and none from two goroutines")
}

func (t *Team) take(worker int) {
	defer func() {
		if e := recover(); e != nil {
			t.panics.CompareAndSwap(nil, &origin.Panic{Value: e, Stack: debug.Stack()})
		}
	}()
	for k := range t.shares {
		s := &t.shares[(worker+k)%len(t.shares)]
		for i := s.next.Add(1) - 1; i < s.end; i = s.next.Add(1) - 1 {
			t.task.DoChunk(worker, int(i))
		}
	}
}

func (t *Team) work(worker int) {
	priority.Lower(t.nice)
	seen := uint64(0)
	for {
		for i := 0; t.epoch.Load() == seen; i++ {
			if i < spins {
				pause(i)
				continue
			}
			t.mu.Lock()
			for t.epoch.Load() == seen && t.state.Load() != closed {
				t.wake.Wait()
			}
			t.mu.Unlock()
			break
		}
		if t.epoch.Load() == seen {
			return // closed
		}
		seen++
		t.take(worker)
		t.left.Add(-1)
	}
}

// Close ends the helpers. Closing twice is harmless; closing a team at work panics, as does Run after it.
func (t *Team) Close() {
	if t.Closed() {
		return
	}
	t.mu.Lock() // a helper looks at the state and falls asleep in one
	ended := t.state.CompareAndSwap(idle, closed)
	t.mu.Unlock()
	if !ended {
		t.refuse()
	}
	t.wake.Broadcast()
}

// Closed says whether Close was called.
func (t *Team) Closed() bool { return t.state.Load() == closed }

// pause is one turn of a waiting loop. Now and then it lets other goroutines run, because a machine may have fewer
// free cores than workers.
func pause(i int) {
	if i&1023 == 1023 {
		runtime.Gosched()
	}
}
