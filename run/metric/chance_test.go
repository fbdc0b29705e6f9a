package metric_test

import (
	"testing"

	"ocl/run/metric"
)

// TestLuck: small numbers are counted by hand, larger ones come from the exact sum in integers.
func TestLuck(t *testing.T) {
	for _, c := range []struct{ n, k, want int }{
		{0, 10, 0}, {7, 1, 7},
		{1, 2, 1},              // P(1 right) = 1/2
		{4, 2, 4},              // P(4 right) = 1/16
		{6, 2, 5},              // P(6 right) = 1/64, and P(≥ 5) = 7/64
		{1, 41, 0}, {1, 39, 1}, // P(1 right) = 1/41 is below 2.5 %, 1/39 is above
		{120, 10, 19}, {100, 10, 16}, {10_000, 100, 120},
	} {
		if got := metric.Luck(c.n, c.k); got != c.want {
			t.Errorf("Luck(%d, %d) = %d, want %d", c.n, c.k, got, c.want)
		}
	}
}
