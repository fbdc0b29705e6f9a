package experiment

import (
	"context"
	"fmt"
	"slices"

	"ocl"
	"ocl/config"
	"ocl/learner"
	"ocl/nn"
	"ocl/tensor"
)

// classifiers are those of a run in the order of its config; the first is the primary one.
type classifiers struct {
	names  []string
	labels [][]ocl.Label // what each predicts of the batch
	own    []ocl.Label   // what the learner predicts, where no classifier is its own
	open   learner.Open  // nil where the learner shows nothing but its predictions
	ncm    *learner.NCM  // nil where it is not wanted
	plain  bool          // without error analysis
	before []int         // classes learned before the stream, rising
}

// newClassifiers refuses class means for a learner without a memory.
func newClassifiers(names []string, l ocl.Learner) (classifiers, error) {
	c := classifiers{names: names, labels: make([][]ocl.Label, len(names))}
	c.open, _ = l.(learner.Open)
	for _, name := range names {
		if name != config.ClassifierNCM {
			continue
		}
		if c.open == nil && learner.MemoryOf(l) != nil {
			return c, fmt.Errorf("classifiers: ncm needs the features of one network, but the method has several. Remove ncm from --classifiers")
		}
		if c.open == nil || c.open.Parts().Memory == nil {
			return c, fmt.Errorf("classifiers: ncm needs stored samples, but the method has none. Remove ncm from --classifiers")
		}
		c.ncm = &learner.NCM{}
	}
	return c, nil
}

// fit computes the class means of the present memory, if they are wanted.
func (c *classifiers) fit(ctx context.Context) error {
	if c.ncm == nil {
		return nil
	}
	p := c.open.Parts()
	if err := c.ncm.Fit(ctx, p.Net, p.WS, p.Memory); err != nil {
		return err
	}
	if !c.ncm.Fitted() {
		return fmt.Errorf("classifiers: ncm needs stored samples, but the memory is empty. Use a larger --memory")
	}
	return nil
}

// byLogits tells whether classifier i predicts the class of the largest logit.
func (c *classifiers) byLogits(i int) bool {
	return c.names[i] == config.ClassifierHead && c.open != nil && c.open.Parts().ByLogits
}

// room is labels, with space for n of them.
func room(labels []ocl.Label, n int) []ocl.Label {
	if cap(labels) < n {
		return make([]ocl.Label, n)
	}
	return labels[:n]
}

// predict sets the labels of all classifiers for the images x, with one pass through the network if the learner shows
// it. It returns the logits [B,K] of that pass, or nil.
func (c *classifiers) predict(l ocl.Learner, x *tensor.Tensor) (logits *tensor.Tensor, err error) {
	var out nn.Outputs
	if c.open != nil {
		p := c.open.Parts()
		out = p.Net.PredictOutputs(p.WS, x)
	}
	for i, name := range c.names {
		c.labels[i] = room(c.labels[i], x.Dim(0))
		switch {
		case name == config.ClassifierNCM:
			err = c.ncm.Classify(c.labels[i], out.Features)
		case c.open != nil:
			err = c.open.Decide(c.labels[i], out)
		default:
			err = l.Predict(c.labels[i], x)
		}
		if err != nil {
			return nil, err
		}
	}
	if c.open != nil && !slices.Contains(c.names, config.ClassifierHead) {
		// A network that has diverged may have finite features: the learner's own rule notices.
		c.own = room(c.own, x.Dim(0))
		if err := c.open.Decide(c.own, out); err != nil {
			return nil, err
		}
	}
	return out.Logits, nil
}
