package trained

import (
	"context"
	"strconv"

	"ocl"
	"ocl/config"
	"ocl/data"
	"ocl/learn/learner"
	"ocl/nn"
	"ocl/nn/onnx"
	"ocl/run/result"
)

// Classifier is a trained network with the rules by which it predicts, as other programs get it. A run has one, and so
// has a learner that goes on learning.
type Classifier struct {
	Net        *nn.Network
	Config     config.Config
	Info       ocl.StreamInfo       // of the images, with Classes as many as the network has
	ClassNames []string             // nil where the data have none
	Order      []ocl.Label          // of a learner that orders its outputs otherwise: the classes of the first ones
	Rules      []Rule               // at least one
	Sure       *learner.Calibration // of the first rule; nil where nobody knows
	Unknown    float64              // share of images of known classes that may be called unknown
	Digest     string               // of the checkpoint, "sha256:…"; "" is none
	Older      bool                 // see [Model]
	Tasks      int                  // that were learned to their end
	Steps      int                  // of the learner
}

// Exported is the classifier of the run. It ends with ctx, and has the errors of [Model.Rules].
func (t *Model) Exported(ctx context.Context) (Classifier, error) {
	rules, err := t.Rules(ctx)
	if err != nil {
		return Classifier{}, err
	}
	c := Classifier{Net: t.Net, Config: t.Config, Info: t.Info, ClassNames: t.ClassNames, Rules: rules, Digest: t.Digest,
		Older: t.Older, Tasks: t.Tasks, Steps: t.Steps, Unknown: result.UnknownShare}
	if t.Classifier() == t.Config.Classifiers[0] {
		if c.Sure, _, err = t.Calibration(ctx); err != nil {
			return Classifier{}, err
		}
	}
	if o, ok := t.Learner.(learner.Ordered); ok {
		c.Order = o.Order()
	}
	return c, nil
}

// ONNX is the classifier as package onnx writes it. frozen is the pretrained network in front of one that takes
// embeddings; nil is none. program is the version of ocl.
func (c Classifier) ONNX(program string, frozen *onnx.Frozen) (onnx.Model, error) {
	info, err := data.Lookup(c.Config.Data.Name)
	if err != nil {
		return onnx.Model{}, err
	}
	m := onnx.Model{Net: c.Net, Embeddings: c.Info.Embeddings, Frozen: frozen, Mean: c.Config.Stream.Mean,
		Std: c.Config.Stream.Std, ClassNames: c.ClassNames, Version: program}
	if c.Digest != "" {
		m.Facts = append(m.Facts, onnx.Fact{Key: "checkpoint", Value: c.Digest})
	}
	m.Facts = append(m.Facts, onnx.Fact{Key: "method", Value: c.Config.Methods[0]},
		onnx.Fact{Key: "tricks", Value: c.Config.Tricks[0]},
		onnx.Fact{Key: "data", Value: c.Config.Data.Name}, onnx.Fact{Key: "tasks_learned", Value: strconv.Itoa(c.Tasks)})
	if c.Older {
		m.Facts = append(m.Facts, onnx.Fact{Key: "older_checkpoint", Value: "true"})
	}
	h, w := c.Info.Height, c.Info.Width
	if frozen != nil {
		h, w = frozen.Of[1], frozen.Of[2]
	}
	var stretch bool
	if stretch, m.Inner = info.Fit(h, w); stretch {
		m.Fit = onnx.Stretch
	}
	var means *onnx.Means
	for _, r := range c.Rules {
		rule := onnx.Rule{Name: r.Classifier}
		if r.Classes != nil {
			if means == nil { // another rule by class means, such as iCaRL's own beside ncm, has the same ones
				means = meansOf(r)
			}
			rule.Means = means
		}
		m.Rules = append(m.Rules, rule)
	}
	if s := c.Sure; s != nil {
		m.Sure = &onnx.Calibration{Temperature: s.Temperature, Slope: s.Slope, Normalise: s.Normalise, Known: s.Known,
			Unknown: c.Unknown}
		if s.Likeness != nil {
			m.Sure.Means, m.Sure.Whitening = s.Likeness.Means, s.Likeness.Whitening()
		}
	}
	return m, nil
}

// meansOf are the class means of a rule.
func meansOf(r Rule) *onnx.Means {
	m := &onnx.Means{Values: r.Means}
	for _, k := range r.Classes {
		m.Classes = append(m.Classes, int(k))
	}
	return m
}
