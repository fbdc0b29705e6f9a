package learner_test

import (
	"testing"

	"ocl/learner"
)

// TestLwFIsFinetune in the first task.
func TestLwFIsFinetune(t *testing.T) {
	r := residual(t)
	sameAsFinetune(t, "first task", learner.NewLwF(r, false), r, 3)
}
