package train

import (
	"context"
	"fmt"
	"slices"

	"ocl"
	"ocl/config"
	"ocl/learn/learner"
	"ocl/nn"
	"ocl/nn/tensor"
)

// Classifiers are those of a run in the order of its config; the first is the primary one.
type Classifiers struct {
	Names  []string
	Labels [][]ocl.Label // what each predicts of the batch
	own    []ocl.Label   // predictions of the learner's own rule, if no classifier is that rule
	Open   learner.Open  // nil if the learner is not learner.Open
	NCM    *learner.NCM  // nil where it is not wanted
	plain  bool          // without error analysis
	before []int         // classes learned before the stream, rising

	cumulates bool // those with a score for each class measure the tasks so far together
}

// NewClassifiers refuses class means for a learner without a memory.
func NewClassifiers(names []string, l ocl.Learner) (Classifiers, error) {
	c := Classifiers{Names: names, Labels: make([][]ocl.Label, len(names))}
	c.Open, _ = l.(learner.Open)
	for _, name := range names {
		if name != config.ClassifierNCM {
			continue
		}
		if c.Open == nil && learner.MemoryOf(l) != nil {
			return c, fmt.Errorf("classifiers: ncm needs the features of one network, but the method has several. Remove ncm from --classifiers")
		}
		if c.Open == nil || c.Open.Parts().Memory == nil {
			return c, fmt.Errorf("classifiers: ncm needs stored samples, but the method has none. Remove ncm from --classifiers")
		}
		c.NCM = &learner.NCM{}
	}
	return c, nil
}

// Fit computes the class means of the present memory, if they are wanted.
func (c *Classifiers) Fit(ctx context.Context) error {
	if c.NCM == nil {
		return nil
	}
	p := c.Open.Parts()
	if err := c.NCM.Fit(ctx, p.Net, p.WS, p.Memory); err != nil {
		return err
	}
	if !c.NCM.Fitted() {
		return fmt.Errorf("classifiers: ncm needs stored samples, but the memory is empty. Use a larger --memory")
	}
	return nil
}

// ByLogits tells whether classifier i predicts the class of the largest logit.
func (c *Classifiers) ByLogits(i int) bool {
	return c.Names[i] == config.ClassifierHead && c.Open != nil && c.Open.Parts().ByLogits
}

// room returns labels with length n, and allocates only if it has to.
func room(labels []ocl.Label, n int) []ocl.Label {
	if cap(labels) < n {
		return make([]ocl.Label, n)
	}
	return labels[:n]
}

// Predict sets the labels of all classifiers for the images x, with one pass through the network if the learner shows
// it. It returns the outputs of that pass, whose tensors are nil where there was none.
func (c *Classifiers) Predict(l ocl.Learner, x *tensor.Tensor) (out nn.Outputs, err error) {
	if c.Open != nil {
		p := c.Open.Parts()
		out = p.Net.Predict(p.WS, x)
	}
	for i, name := range c.Names {
		c.Labels[i] = room(c.Labels[i], x.Dim(0))
		switch {
		case name == config.ClassifierNCM:
			err = c.NCM.Classify(c.Labels[i], out.Features)
		case c.Open != nil:
			err = c.Open.Decide(c.Labels[i], out)
		default:
			err = l.Predict(c.Labels[i], x)
		}
		if err != nil {
			return out, err
		}
	}
	if c.Open != nil && !slices.Contains(c.Names, config.ClassifierHead) {
		// The features of a diverged network may still be finite. The learner's own rule also checks the logits.
		c.own = room(c.own, x.Dim(0))
		if err := c.Open.Decide(c.own, out); err != nil {
			return out, err
		}
	}
	return out, nil
}
