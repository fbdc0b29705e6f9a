package trained

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"ocl"
	"ocl/config"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/safetensors"
	"ocl/nn/weights"
	"ocl/run/build"
)

// Weights returns the weights of the learner's [Classifier], with their metadata. It fails as [Model.Rules] does.
func (t *Model) Weights(ctx context.Context, program string) ([]safetensors.Tensor, map[string]string, error) {
	c, err := t.Exported(ctx)
	if err != nil {
		return nil, nil, err
	}
	tensors, metadata := c.Weights(program)
	return tensors, metadata, nil
}

// Weights are the tensors of the network for other programs ([weights.Of]), with the class means where a classifier
// goes by them, and what describes them, as docs/interop.md says. Row k of the head is that of class k, also where the
// learner orders its outputs otherwise. program is the version of ocl.
func (c Classifier) Weights(program string) ([]safetensors.Tensor, map[string]string) {
	list := weights.Of(c.Net)
	if c.Order != nil {
		for _, p := range c.Net.Info().Named {
			if !p.Classes {
				continue
			}
			at := slices.IndexFunc(list, func(w safetensors.Tensor) bool { return w.Name == p.Name })
			list[at].Floats = byClass(list[at].Floats, c.Order, c.Info.Classes)
		}
	}
	classifier := config.ClassifierHead
	if c.Rules[0].Classes != nil {
		classifier = config.ClassifierNCM
	}
	for _, r := range c.Rules {
		if r.Classes == nil {
			continue
		}
		of := make([]int64, len(r.Classes))
		for i, y := range r.Classes {
			of[i] = int64(y)
		}
		list = append(list,
			safetensors.Tensor{Name: weights.Means, Shape: []int{len(of), c.Net.Info().FeatureDim}, Floats: r.Means},
			safetensors.Tensor{Name: weights.Classes, Shape: []int{len(of)}, Ints: of})
		break // another classifier by class means, such as iCaRL's own beside ncm, has the same ones
	}
	return list, c.metadata(classifier, program)
}

// byClass puts the rows of a head in the order of the classes: output k is that of order[k]. Outputs of classes that
// have not appeared follow in their order.
func byClass(values []float32, order []ocl.Label, classes int) []float32 {
	row := make([]int, classes) // of each class
	for y := range row {
		row[y] = -1
	}
	for k, y := range order {
		row[y] = k
	}
	next := len(order)
	sorted, width := make([]float32, 0, len(values)), len(values)/classes
	for _, k := range row {
		if k < 0 {
			k = next
			next++
		}
		sorted = append(sorted, values[k*width:][:width]...)
	}
	return sorted
}

// metadata describes the weights: texts, and lists as JSON.
func (t Classifier) metadata(classifier, program string) map[string]string {
	c := t.Config
	m := map[string]string{
		"format":        "pt", // the axes are in PyTorch's order
		"architecture":  build.NetworkName(c),
		"shape":         jsonOf([]int{t.Info.Channels, t.Info.Height, t.Info.Width}),
		"classes":       strconv.Itoa(t.Info.Classes),
		"classifier":    classifier,
		"method":        c.Methods[0],
		"tricks":        c.Tricks[0],
		"tasks_learned": strconv.Itoa(t.Tasks),
		"steps":         strconv.Itoa(t.Steps),
		"data":          t.Info.Name,
		"ocl_version":   program,
	}
	if t.Digest != "" {
		m["checkpoint"] = t.Digest
	}
	if t.Older {
		m["older_checkpoint"] = "true"
	}
	for _, key := range build.Architecture(c).Settings {
		switch key {
		case arch.Hidden:
			m["hidden"] = jsonOf(build.Hidden(c))
		case arch.Width:
			m["width"] = strconv.Itoa(c.Network.Width)
		}
	}
	if slices.ContainsFunc(t.Net.Info().Layers, func(l nn.LayerInfo) bool { return l.Wave }) {
		m["activation"] = "cos"
	}
	if head := t.Net.Info().Head; head.Kind != nn.LinearHead {
		m["head"] = head.Kind
	}
	if t.Info.Embeddings {
		m["embeddings"] = "true" // which have no pixels and no mean of them
	} else {
		mean, std := slices.Clone(c.Stream.Mean), slices.Clone(c.Stream.Std)
		for len(mean) < t.Info.Channels {
			mean, std = append(mean, 0), append(std, 1)
		}
		m["mean"], m["std"] = jsonOf(mean), jsonOf(std)
	}
	if len(t.ClassNames) > 0 {
		m["class_names"] = jsonOf(t.ClassNames)
	}
	return m
}

// jsonOf is a list as JSON.
func jsonOf[T int | float64 | string](list []T) string {
	text, err := json.Marshal(list)
	if err != nil {
		// such as NaN, which no config has
		panic("experiment: a list of the config cannot be written as JSON: " + err.Error())
	}
	return string(text)
}
