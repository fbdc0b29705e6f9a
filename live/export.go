package live

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"ocl/internal/edition"
	"ocl/internal/nearest"
	"ocl/learn/learner"
	"ocl/nn/onnx"
	"ocl/nn/safetensors"
	"ocl/run/build"
	"ocl/run/result"
	"ocl/run/trained"
)

// ErrFormat says that nothing is exported in a format.
var ErrFormat = errors.New("live: the format is unknown")

// Formats of [Trainer.Export].
const (
	Safetensors = "safetensors" // the weights, for PyTorch and `ocl run network.init=FILE`
	ONNX        = "onnx"        // a classifier from image to class, for onnxruntime and others
)

// Export writes the published copy of the network in a format of other programs, as `ocl export` does of a run
// (docs/interop.md), and returns the version that Publish gave it. Its head has the outputs that are in use; a
// pretrained network is part of ONNX, and not of safetensors. Learning and predictions go on meanwhile. Another format
// is an error that wraps [ErrFormat]. Before anything was published it is one that wraps [ErrNothing].
func (t *Trainer) Export(w io.Writer, format string) (version int64, err error) {
	m, version, err := t.publisher.hold()
	if err != nil {
		return 0, fmt.Errorf("live: export: %w", err)
	}
	defer t.publisher.drop(m)
	c, err := t.classifier(m)
	if err == nil {
		switch format {
		case Safetensors:
			tensors, metadata := c.Weights(edition.Release)
			err = safetensors.Write(w, tensors, metadata)
		case ONNX:
			var model onnx.Model
			var front *onnx.Frozen
			if front, err = t.embedder.frozen(t.inputs.image, t.process.Backbone); err == nil {
				model, err = c.ONNX(edition.Release, front)
			}
			if err == nil {
				err = onnx.Write(w, model)
			}
		default:
			return 0, fmt.Errorf("%w: %.40q. %s", ErrFormat, format, nearest.Hint(format, []string{Safetensors, ONNX}))
		}
	}
	if err != nil {
		return 0, fmt.Errorf("live: export: %w", err)
	}
	return version, nil
}

// classifier is a published copy as other programs get it.
func (t *Trainer) classifier(m *model) (trained.Classifier, error) {
	info := t.stream
	info.Classes = m.Net.Info().Classes
	net, err := build.NewNetwork(info, t.config, 0)
	if err != nil {
		return trained.Classifier{}, err
	}
	net.CopyFrom(m.Net)
	rule := trained.Rule{Classifier: t.config.Classifiers[0]}
	if m.Means != nil {
		rule.Classes, rule.Means = m.Means.Means()
	}
	var sure *learner.Calibration
	if s := m.sure.Load(); s != nil {
		sure = s.Calibration
	}
	return trained.Classifier{
		Sure: sure, Unknown: cmp.Or(t.process.Unknown, result.UnknownShare),
		Net: net, Config: t.config, Info: info, ClassNames: m.Names, Order: m.order, Rules: []trained.Rule{rule},
		Tasks: m.tasks, Steps: int(m.batches),
	}, nil
}
