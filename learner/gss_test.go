package learner_test

import (
	"context"
	"slices"
	"testing"

	"ocl/learner/learnertest"
	"ocl/memory"
)

// TestGSSKeepsEverythingWhileNotFull: a learner with GSS and room for the whole stream stores it in order.
func TestGSSKeepsEverythingWhileNotFull(t *testing.T) {
	for name, change := range variants {
		if name == "mir" {
			continue
		}
		r := perceptron(t, 0.1)
		change(r)
		r.Memory = memory.NewStore(30, shape, nil)
		batches := made.Batches(1, 6, 5)
		learnertest.Observe(t, r, batches)
		all := contents(r.Memory)
		for i := range all.Y {
			if b := batches[i/5]; all.Y[i] != b.Y[i%5] || !slices.Equal(all.X.Row(i), b.X.Row(i%5)) {
				t.Fatalf("%s: slot %d does not hold sample %d", name, i, i)
			}
		}
		if r.Memory.Len() != 30 {
			t.Errorf("%s: %d stored of 30", name, r.Memory.Len())
		}
	}
}

// TestGSSLabelOutOfRange: a label that the network has no output for is an error, not a panic.
func TestGSSLabelOutOfRange(t *testing.T) {
	r := perceptron(t, 0.1)
	gssOf(&memory.GSS{Size: 2})(r)
	r.Memory = memory.NewStore(5, shape, nil)
	batches := made.Batches(1, 2, 5)
	learnertest.Observe(t, r, batches[:1])
	batches[1].Y[2] = 6
	if _, err := r.Observe(context.Background(), batches[1]); err == nil {
		t.Error("label 6 of 6 classes: no error")
	}
}
