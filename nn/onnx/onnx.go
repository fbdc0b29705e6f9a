// Package onnx writes trained networks as ONNX models, which other programs run without ocl. A model takes images of
// any size as uint8 and prepares them itself, so whoever runs it needs to know nothing of the training.
//
// The package writes the protobuf messages of the format by hand: a model needs about thirty fields of them. It does
// not read models, and it knows nothing of learners and runs. Start at [Model].
package onnx

import (
	"fmt"
	"io"
	"math"
	"slices"

	"ocl/nn"
	"ocl/nn/backbone"
)

// What every model is written for. Opset 18 is the first whose Resize has antialias, without which small versions of
// large images are full of artefacts that no training image had. IR version 8 is the lowest that allows it, so that
// older programs read the file too: onnxruntime does since 1.15 (2023).
const (
	IRVersion = 8
	Opset     = 18
)

// maxBytes is the most that protobuf allows of a message.
const maxBytes = math.MaxInt32

// Fit says how images of another size become as large as those that the network learned.
type Fit int

const (
	// Crop scales an image until it is nowhere too small, and cuts out the middle.
	Crop Fit = iota
	// Stretch scales both sides for themselves.
	Stretch
)

func (f Fit) String() string { return map[Fit]string{Crop: "crop", Stretch: "stretch"}[f] }

// Model is a network and how it classifies.
//
// Its graph has one input, images [batch,C,height,width] in uint8 (0 to 255; batch, height and width are free), or with
// Embeddings without Frozen embeddings [batch,D] in float32, and these outputs:
//
//	label                  int64 [batch], the class by the first of Rules
//	logits, probabilities  float32 [batch,K], for a rule without means; without Sure the softmax of the logits
//	scores                 float32 [batch,K], for a rule with means: −‖φ/‖φ‖ − μ_k‖², or NoMean for a class without one
//	NAME_label             int64 [batch], the class by each further rule of that name
//	probabilities          float32 [batch,K], with Sure of the first rule
//	familiarity            float32 [batch], with Sure: the share of images of known classes that look as strange
//	unknown                bool [batch], with Sure: the image looks like none of the classes
//
// The resized image is rounded to uint8, as it was before training. Batch norm is part of the convolutions.
type Model struct {
	Net        *nn.Network
	Embeddings bool // the network takes embeddings [D,1,1] as they are: Mean and Std say nothing then
	// the pretrained network that makes the embeddings of images; nil is none: Fit and Inner say nothing then
	Frozen    *Frozen
	Mean, Std []float64 // [C] of pixels in [0,1]: the network learned (v/255 − mean)/std; nil is 0 and 1
	Fit       Fit
	// side in pixels that images are scaled to before they are padded with zeros; 0 means no padding
	Inner      int
	Rules      []Rule       // at least one; at most one is without means, and those with means share them
	Sure       *Calibration // of the first rule; nil is none
	ClassNames []string     // [K], or nil
	Version    string       // of ocl
	Facts      []Fact       // further metadata, in this order
}

// Frozen is a pretrained network in front of a network that takes embeddings.
type Frozen struct {
	Net    *backbone.Backbone
	Layers []backbone.Layer // of Net; nil for a network of this project
	Of     [3]int           // the shape [C,H,W] of the images that embeddings are made of
}

// image is the shape of an image as the learner knew it, or that of an embedding [D,1,1].
func (m Model) image() (c, h, w int) {
	if m.Frozen != nil {
		return m.Frozen.Of[0], m.Frozen.Of[1], m.Frozen.Of[2]
	}
	in := m.Net.Info().Input
	return in[0], in[1], in[2]
}

// Rule is a way to get from a network to a class. A rule without means predicts the class of the largest logit. A rule
// with means predicts the class whose mean is nearest to the features of length 1. Of several that are as good, both
// predict the lowest.
type Rule struct {
	Name  string
	Means *Means // the same pointer in all rules that have means
}

// Means are class means of features.
type Means struct {
	Classes []int     // those that have a mean
	Values  []float32 // [len(Classes), D]
}

// NoMean is the score of a class without a mean. It is far below every other, which are in [−4, 0], so the class is
// never predicted and the softmax of its score is 0. It is not −∞, which JSON and some programs cannot hold.
const NoMean = -1e9

// Fact is a key and a value of the model's metadata.
type Fact struct{ Key, Value string }

// Write writes a model. The same model gives the same bytes. It is an error if a number of the network or of the means
// is not finite, or if the model is larger than 2 GiB. The parts of the model must fit together as its fields say.
func Write(w io.Writer, m Model) error {
	if err := m.finite(); err != nil {
		return err
	}
	b := m.message()
	if len(b) > maxBytes {
		return fmt.Errorf("onnx: the model takes %d bytes, and an ONNX file has at most %d. Use a smaller network", len(b),
			maxBytes)
	}
	_, err := w.Write(b)
	return err
}

// finite is an error where a number is not.
func (m Model) finite() error {
	const use = "The run diverged, so there is nothing to export. Use another run"
	bad := func(v []float32) bool { return slices.ContainsFunc(v, func(x float32) bool { return x-x != 0 }) }
	for _, of := range []struct {
		kind   string
		named  []nn.Param
		values []float32
	}{{"parameter", m.Net.Info().Named, m.Net.Params()}, {"statistic", m.Net.Info().Statistics, m.Net.Running()}} {
		for _, p := range of.named {
			if bad(of.values[p.Offset:][:p.Len()]) {
				return fmt.Errorf("onnx: %s %s has a value that is not a finite number. %s", of.kind, p.Name, use)
			}
		}
	}
	for _, r := range m.Rules {
		if r.Means != nil && bad(r.Means.Values) {
			return fmt.Errorf("onnx: a class mean has a value that is not a finite number. %s", use)
		}
	}
	if s := m.Sure; s != nil && (bad(s.Whitening) || bad(s.Means) || bad(s.Known)) {
		return fmt.Errorf("onnx: the calibration has a value that is not a finite number. %s", use)
	}
	return nil
}
