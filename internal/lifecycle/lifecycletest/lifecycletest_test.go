package lifecycletest

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// TestSettle: a Close that has not been waited in is not taken for one that waits, however late it comes.
func TestSettle(t *testing.T) {
	const closers = 3
	var returned, called atomic.Int64
	release := make(chan struct{})
	for i := range closers {
		go func() {
			for range 1000 * i {
				runtime.Gosched()
			}
			_ = closes(func() error {
				called.Add(1)
				if i > 0 { // it waits, as it should; the first one returns early
					<-release
				}
				return nil
			})
			returned.Add(1)
		}()
	}
	settle(closers, &returned)
	if called.Load() != closers || returned.Load() != 1 {
		t.Errorf("%d of %d are in Close, and %d have returned, want 1", called.Load(), closers, returned.Load())
	}
	close(release)
}
