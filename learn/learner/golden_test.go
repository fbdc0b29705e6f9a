package learner

import (
	"testing"

	"ocl"
)

// CheckPredictions compares where the reference is sure.
func CheckPredictions(t *testing.T, what string, got []ocl.Label, want []int) {
	t.Helper()
	for i, y := range want {
		if y >= 0 && got[i] != ocl.Label(y) {
			t.Errorf("%s: image %d: class %d, want %d", what, i, got[i], y)
		}
	}
}
