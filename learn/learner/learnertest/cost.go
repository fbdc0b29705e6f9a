package learnertest

import (
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/nn/tensor"
)

// images are seven images that a learner predicts, also one that observes activations.
func (c Case) images(l ocl.Learner) *tensor.Tensor {
	if open, ok := l.(learner.Open); ok {
		if net := open.Parts().Net.Info(); net.Latent[0] > 0 {
			c.Shape = net.Input
		}
	}
	return c.Batches(2, 1, 7)[0].X
}

// costs checks the costs that a learner reports: the cost of a step is known once a step was made, and only steps
// change it. The cost of a prediction must equal the operations that the workspace counts for one.
func (c Case) costs(t *testing.T) {
	l, twin := c.New(t, 1), c.New(t, 1)
	first := l.Cost()
	if !c.Late && (first.Parameters <= 0 || first.ImageFLOPs <= 0) || first.StepFLOPs != 0 {
		t.Errorf("before any batch: %+v; want parameters and a cost of an image, and no step", first)
	}
	batches := c.Batches(1, c.Steps, 5)
	for i := range batches {
		c.begin(t, l, i, len(batches))
		Observe(t, l, batches[i:i+1])
		cost := l.Cost()
		c.end(t, l, i, len(batches))
		c.Learn(t, twin, batches, i, i+1)
		if cost.StepFLOPs < 0 || l.Cost() != cost || twin.Cost() != cost {
			t.Fatalf("batch %d: %+v, after what follows the batch %+v, of a twin %+v; want one cost", i, cost, l.Cost(),
				twin.Cost())
		}
	}
	cost := l.Cost()
	prepare(t, l)
	x := c.images(l)
	before := int64(0)
	open, ok := l.(learner.Open)
	if ok {
		before = open.Parts().WS.FLOPs()
	}
	if err := l.Predict(make([]ocl.Label, 7), x); err != nil {
		t.Fatal(err)
	}
	if ok {
		if got := open.Parts().WS.FLOPs() - before; got != 7*cost.ImageFLOPs {
			t.Errorf("7 images take %d operations, want 7 × %d", got, cost.ImageFLOPs)
		}
	}
	if l.Cost() != cost {
		t.Errorf("after a prediction %+v, before it %+v", l.Cost(), cost)
	}
	load(t, l, State(t, twin))
	if cost.StepFLOPs = 0; l.Cost() != cost {
		t.Errorf("just loaded: %+v, want %+v", l.Cost(), cost)
	}
}
