package experiment

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ocl"
	"ocl/experiment/result"
	"ocl/internal/nearest"
	"ocl/learner"
	"ocl/nn"
	"ocl/tensor"
)

// Values of Config.Classifiers.
const (
	ClassifierHead = "head" // the method's own rule, of most methods the largest logit of the network's head
	ClassifierNCM  = "ncm"  // the nearest class mean of the memory (learner.NCM)
)

// Classifiers lists the values of Config.Classifiers.
func Classifiers() []string { return []string{ClassifierHead, ClassifierNCM} }

// checkClassifiers holds the classifiers against each other and against the methods, some of which keep no memory.
func (c Config) checkClassifiers(memoryless []string, f *faults) {
	if len(c.Classifiers) == 0 {
		f.add("classifiers", "the list is empty", "want at least one classifier", "use "+ClassifierHead)
	}
	seen := map[string]bool{}
	for _, name := range c.Classifiers {
		switch {
		case name != ClassifierHead && name != ClassifierNCM:
			f.add("classifiers", fmt.Sprintf("unknown classifier %q", name), "want one of "+strings.Join(Classifiers(), ", "),
				nearest.Hint(name, Classifiers()))
		case seen[name]:
			f.add("classifiers", name+" is listed twice", "want each classifier once", "take one away")
		}
		seen[name] = true
	}
	if seen[ClassifierNCM] && len(memoryless) > 0 {
		f.add("classifiers", fmt.Sprintf("ncm, and %s has no memory to take class means of", strings.Join(memoryless, ", ")),
			"want methods with a memory", "take them out of --method, or ncm out of --classifiers")
	}
}

// classifiers are those of a run in the order of its config; the first is the primary one.
type classifiers struct {
	names  []string
	labels [][]ocl.Label // what each predicts of the batch
	open   learner.Open  // nil where the learner shows nothing but its predictions
	ncm    *learner.NCM  // nil where it is not wanted
}

// newClassifiers refuses class means of a learner that does not show a memory.
func newClassifiers(names []string, l ocl.Learner) (classifiers, error) {
	c := classifiers{names: names, labels: make([][]ocl.Label, len(names))}
	c.open, _ = l.(learner.Open)
	for _, name := range names {
		if name != ClassifierNCM {
			continue
		}
		if c.open == nil || c.open.Parts().Memory == nil {
			return c, fmt.Errorf("classifiers: ncm, and the method shows no memory to take class means of; want a method with a memory; " +
				"take ncm out of --classifiers")
		}
		c.ncm = &learner.NCM{}
	}
	return c, nil
}

// fit finds the class means of the memory as it is, if they are wanted.
func (c *classifiers) fit(ctx context.Context) error {
	if c.ncm == nil {
		return nil
	}
	p := c.open.Parts()
	if err := c.ncm.Fit(ctx, p.Net, p.WS, p.Memory); err != nil {
		return err
	}
	if !c.ncm.Fitted() {
		return fmt.Errorf("classifiers: ncm: the memory is empty after the task; want a stored sample; use a larger --memory")
	}
	return nil
}

// byLogits tells whether classifier i predicts the class of the largest logit.
func (c *classifiers) byLogits(i int) bool {
	return c.names[i] == ClassifierHead && c.open != nil && c.open.Parts().ByLogits
}

// predict sets the labels of all classifiers for the images x, by one pass through the network where the learner shows it. It
// returns the logits [B,K] of that pass, nil without.
func (c *classifiers) predict(l ocl.Learner, x *tensor.Tensor) (logits *tensor.Tensor, err error) {
	var out nn.Outputs
	if c.open != nil {
		p := c.open.Parts()
		out = p.Net.PredictOutputs(p.WS, x)
	}
	for i, name := range c.names {
		if cap(c.labels[i]) < x.Dim(0) {
			c.labels[i] = make([]ocl.Label, x.Dim(0))
		}
		c.labels[i] = c.labels[i][:x.Dim(0)]
		switch {
		case name == ClassifierNCM:
			c.ncm.Classify(c.labels[i], out.Features)
		case c.open != nil:
			err = c.open.Decide(c.labels[i], out)
		default:
			err = l.Predict(c.labels[i], x)
		}
		if err != nil {
			return nil, err
		}
	}
	return out.Logits, nil
}

// fitClassifiers is fit, on the clock. The learner is prepared by then, so the state is saved when ctx ends.
func (r *run) fitClassifiers(ctx context.Context) error {
	start := time.Now()
	err := r.classifiers.fit(ctx)
	r.seconds.Prepare += time.Since(start).Seconds()
	if err != nil && ctx.Err() != nil {
		return r.stop()
	}
	return err
}

// classifierResults are those of all classifiers but the primary one.
func (r *run) classifierResults() map[string]result.Classifier {
	if len(r.classifiers.names) == 1 {
		return nil
	}
	others := map[string]result.Classifier{}
	for i, name := range r.classifiers.names[1:] {
		m := &r.measured[i+1]
		c := result.Classifier{Metrics: metricsOf(m.accuracy, r.stream.Info().CommonTest), ErrorAnalysis: m.analysis()}
		for _, row := range m.accuracy {
			c.Accuracy = append(c.Accuracy, nullable(row))
		}
		others[name] = c
	}
	return others
}
