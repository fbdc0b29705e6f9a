package learner_test

import (
	"context"
	"testing"

	"ocl/learn/learner/learnertest"
	"ocl/learn/memory"
)

// TestGSSLabelOutOfRange: a label that the network has no output for is an error, not a panic.
func TestGSSLabelOutOfRange(t *testing.T) {
	r := perceptron(t, 0.1)
	r.Update = &memory.GSS{Size: 2}
	r.Memory = memory.NewStore(5, shape, nil)
	batches := made.Batches(1, 2, 5)
	learnertest.Observe(t, r, batches[:1])
	batches[1].Y[2] = 6
	if _, err := r.Observe(context.Background(), batches[1]); err == nil {
		t.Error("label 6 of 6 classes: no error")
	}
}
