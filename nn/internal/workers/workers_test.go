package workers

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ocl/internal/origin"
)

// taskFunc is a function as a task.
type taskFunc func(worker, chunk int)

func (f taskFunc) DoChunk(worker, chunk int) { f(worker, chunk) }

// panicOf is what do panics with, or nil.
func panicOf(do func()) (value any) {
	defer func() { value = recover() }()
	do()
	return nil
}

// wantPanic fails unless do panics with a text that holds part.
func wantPanic(t *testing.T, what, part string, do func()) {
	t.Helper()
	if got := fmt.Sprint(panicOf(do)); !strings.Contains(got, part) {
		t.Errorf("%s: panic %q, want one with %q", what, got, part)
	}
}

var sizes = []int{1, 2, 3, 5, 8}

// checkWorks fails unless the team does each chunk of a task once, by workers that it has.
func checkWorks(t *testing.T, team *Team, what string) {
	t.Helper()
	for _, chunks := range []int{0, 1, 2, 7, 100} {
		done := make([]atomic.Int32, chunks)
		team.Run(taskFunc(func(worker, chunk int) {
			if worker < 0 || worker >= team.Size() {
				t.Errorf("%s: worker %d of %d", what, worker, team.Size())
			}
			done[chunk].Add(1)
		}), chunks)
		for i := range done {
			if n := done[i].Load(); n != 1 {
				t.Errorf("%s: chunk %d of %d was done %d times, want once", what, i, chunks, n)
			}
		}
	}
}

func TestRunDoesEachChunkOnce(t *testing.T) {
	for _, size := range sizes {
		team := New(size)
		defer team.Close()
		for range 20 {
			checkWorks(t, team, fmt.Sprint(size, " workers"))
		}
	}
}

// TestRunInsideRun: a task that runs another on its own team panics, and so it does on one worker and with one chunk,
// where it would not hang. The team works on.
func TestRunInsideRun(t *testing.T) {
	for _, size := range sizes {
		for _, chunks := range []int{1, 2, 50} {
			team, other := New(size), New(size)
			defer team.Close()
			defer other.Close()
			what := fmt.Sprintf("%d workers, %d chunks", size, chunks)
			wantPanic(t, what, "at work", func() {
				team.Run(taskFunc(func(int, int) { team.Run(taskFunc(func(int, int) {}), 1) }), chunks)
			})
			checkWorks(t, team, what)
			wantPanic(t, what+", closed by a chunk", "at work", func() {
				team.Run(taskFunc(func(int, int) { team.Close() }), chunks)
			})
			var mu sync.Mutex
			team.Run(taskFunc(func(int, int) { // another team is no matter
				mu.Lock()
				defer mu.Unlock()
				checkWorks(t, other, what+", inside")
			}), min(chunks, 2))
		}
	}
}

// TestRunFromTwoGoroutines: the second panics, the first is not disturbed.
func TestRunFromTwoGoroutines(t *testing.T) {
	for _, size := range sizes {
		team := New(size)
		defer team.Close()
		var begun sync.Once
		inside, free, end := make(chan bool), make(chan bool), make(chan int32)
		go func() {
			var done atomic.Int32
			team.Run(taskFunc(func(int, int) {
				begun.Do(func() { close(inside) })
				<-free
				done.Add(1)
			}), 9)
			end <- done.Load()
		}()
		<-inside
		wantPanic(t, fmt.Sprint(size, " workers"), "at work", func() { team.Run(taskFunc(func(int, int) {}), 1) })
		close(free)
		if n := <-end; n != 9 {
			t.Errorf("%d workers: %d chunks were done beside a second Run, want 9", size, n)
		}
		checkWorks(t, team, fmt.Sprint(size, " workers, afterwards"))
	}
}

// TestPanicsAreRaisedAgain: whichever worker panics, the caller of Run gets the value with the stack, and the team
// works on.
func TestPanicsAreRaisedAgain(t *testing.T) {
	for _, size := range sizes {
		team := New(size)
		defer team.Close()
		for guilty := range size {
			what := fmt.Sprintf("worker %d of %d", guilty, size)
			fault := new(int)
			var here sync.WaitGroup
			here.Add(size)
			got := panicOf(func() {
				team.Run(taskFunc(func(worker, _ int) {
					here.Done()
					here.Wait() // so that each worker has one chunk
					if worker == guilty {
						panic(fault)
					}
				}), size)
			})
			if p, is := got.(*origin.Panic); is && strings.Contains(string(p.Stack), "TestPanicsAreRaisedAgain") {
				got = p.Value
			}
			if got != fault {
				t.Errorf("%s: the panic is %v, want the worker's own value with its stack", what, got)
			}
			checkWorks(t, team, what)
		}
		if got := panicOf(func() { team.Run(taskFunc(func(_, chunk int) { panic(chunk) }), 1) }); got != 0 {
			t.Errorf("%d workers, one chunk: the panic is %v, want 0", size, got)
		}
		checkWorks(t, team, "after a panic in the only chunk")
	}
}

// TestClose: the helpers end, whether asleep or looking for work; closing again is harmless and Run panics.
func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, size := range sizes {
		for _, asleep := range []bool{false, true} {
			team := New(size)
			checkWorks(t, team, fmt.Sprint(size, " workers"))
			if asleep {
				time.Sleep(5 * time.Millisecond) // either way the helpers must end
			}
			if team.Closed() {
				t.Errorf("%d workers: closed before Close", size)
			}
			team.Close()
			team.Close()
			if !team.Closed() {
				t.Errorf("%d workers: not closed after Close", size)
			}
			for _, chunks := range []int{0, 1, 9} {
				wantPanic(t, fmt.Sprintf("%d workers, %d chunks after Close", size, chunks), "was closed", func() {
					team.Run(taskFunc(func(int, int) {}), chunks)
				})
			}
		}
	}
	waitForGoroutines(t, before)
}

// waitForGoroutines fails unless so many goroutines or fewer are left before long.
func waitForGoroutines(t *testing.T, want int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left, want %d", runtime.NumGoroutine(), want)
		}
	}
}

type counter struct{ n atomic.Int64 }

func (c *counter) DoChunk(int, int) { c.n.Add(1) }

// BenchmarkRun is the cost of handing out work that is nothing.
func BenchmarkRun(b *testing.B) {
	for _, size := range []int{1, 2} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			team := New(size)
			defer team.Close()
			task := &counter{}
			for b.Loop() {
				team.Run(task, 2)
			}
		})
	}
}
