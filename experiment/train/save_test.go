package train

import (
	"testing"
	"time"
)

// TestPauseAfter: small states are saved as often as a person says, and large ones so seldom that a disk that writes 150 MB a
// second is at work for 2 % of the time.
func TestPauseAfter(t *testing.T) {
	for megabytes, want := range map[int64]time.Duration{0: 0, 4: 0, 31: 9 * time.Second, 217: 71 * time.Second, 100_000: 33332 * time.Second} {
		if got := pauseAfter(megabytes << 20); got < want-want/100 || got > want+want/100 {
			t.Errorf("%d MB: %v, want %v", megabytes, got, want)
		}
	}
}
