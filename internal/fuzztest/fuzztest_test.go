package fuzztest

import (
	"sync/atomic"
	"testing"
)

var kept [][]byte // on the heap

// TestAllocated: what a call allocates each time is counted, in one piece and in many small ones; what others allocate
// during one call is not held against it.
func TestAllocated(t *testing.T) {
	const most = 1 << 20
	if n := Allocated(most, func() { kept = append(kept, make([]byte, 4<<20)) }); n < 4<<20 {
		t.Errorf("one piece of 4 MiB counts %d", n)
	}
	if n := Allocated(most, func() {
		for range 4 << 10 {
			kept = append(kept, make([]byte, 1<<10))
		}
	}); n < 4<<20 {
		t.Errorf("4 MiB in pieces of 1 KiB count %d", n)
	}
	var calls atomic.Int32
	if n := Allocated(most, func() {
		if calls.Add(1) == 1 {
			done := make(chan bool)
			go func() {
				kept = append(kept, make([]byte, 4<<20))
				close(done)
			}()
			<-done
		}
	}); n > most {
		t.Errorf("4 MiB of another goroutine during the first of %d calls count %d", calls.Load(), n)
	}
	kept = nil
	if n := Allocated(most, func() {}); n > most {
		t.Errorf("nothing counts %d", n)
	}
}
