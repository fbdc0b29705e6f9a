package onnx

import (
	"strings"

	"ocl/nn"
)

// Names of the outputs.
const (
	labelName         = "label"
	logitsName        = "logits"
	probabilitiesName = "probabilities"
	scoresName        = "scores"
)

// classify adds the rules to the features. Rules with means share their scores.
func (m Model) classify(g *graph, features string) {
	added := map[string]bool{}
	for i, r := range m.Rules {
		label, values, add := labelName, logitsName, m.byLogits
		if i > 0 {
			label = r.Name + "_" + labelName
		}
		if r.Means != nil {
			values, add = scoresName, func(g *graph, features string) { m.byMeans(g, features, *r.Means) }
		}
		g.outputs = append(g.outputs, value(label, typeInt64, "the predicted class, by "+values, "batch"))
		if !added[values] {
			add(g, features)
			added[values] = true
		}
		if i == 0 && m.Sure != nil {
			m.sure(g, features, values)
		}
		g.node("ArgMax", label, []string{values}, attribute("axis", 1), attribute("keepdims", 0))
	}
}

// byLogits adds the head.
func (m Model) byLogits(g *graph, features string) {
	k, dim := m.Net.Info().Classes, m.Net.Info().FeatureDim
	weight, bias, row := make([]float32, dim*k), make([]float32, k), make([]float32, dim)
	for y := range bias {
		bias[y] = nn.HeadRow(m.Net, row, y)
		for d, v := range row {
			weight[d*k+y] = v
		}
	}
	named := m.Net.Info().Named
	name := strings.TrimSuffix(named[len(named)-2].Name, ".weight")
	inputs := []string{features, g.floats(name+".weight", weight, dim, k)}
	if m.Net.Info().Head.Kind == nn.CosineHead { // rows that have the scale in them, and features of length 1
		inputs[0] = unit(g, features)
	} else {
		inputs = append(inputs, g.floats(name+".bias", bias, k))
	}
	g.node("Gemm", logitsName, inputs)
	g.outputs = append(g.outputs, value(logitsName, typeFloat32, "one a class", "batch", k))
	if m.Sure == nil {
		g.node("Softmax", probabilitiesName, []string{logitsName}, attribute("axis", 1))
		g.outputs = append(g.outputs, value(probabilitiesName, typeFloat32, "softmax of the logits", "batch", k))
	}
}

// leastLength replaces the length of features that are all 0, to avoid a division by 0. They stay 0, as in learner.NCM.
const leastLength = 1e-12

// unit is the features, scaled to length 1, once for all rules.
func unit(g *graph, features string) string {
	if g.unit != "" {
		return g.unit
	}
	g.unit = g.node("Div", "features.unit", []string{features, lengthOf(g, features, "length")})
	return g.unit
}

// lengthOf is the length of rows, at least leastLength, once for each name.
func lengthOf(g *graph, rows, name string) string {
	if g.lengths[name] == "" {
		length := g.node("ReduceL2", name, []string{rows, g.ints(name+".axes", []int64{1}, 1)}, attribute("keepdims", 1))
		if g.lengths == nil {
			g.lengths = map[string]string{}
		}
		g.lengths[name] = g.node("Max", name+".positive", []string{length, g.floats(name+".least", []float32{leastLength})})
	}
	return g.lengths[name]
}

// byMeans adds the class means μ as a linear layer on features f of length 1: −‖f − μ_k‖² = 2f·μ_k − ‖μ_k‖² − 1. Where
// f is 0 the scores of all classes are lower by 1, which moves no label.
func (m Model) byMeans(g *graph, features string, means Means) {
	k, dim := m.Net.Info().Classes, m.Net.Info().FeatureDim
	weight, bias := make([]float32, dim*k), make([]float32, k)
	for y := range bias {
		bias[y] = NoMean
	}
	for i, y := range means.Classes {
		square := 0.0
		for d, v := range means.Values[i*dim:][:dim] {
			weight[d*k+y] = 2 * v
			square += float64(float64(v) * float64(v))
		}
		bias[y] = float32(-square - 1)
	}
	g.node("Gemm", scoresName, []string{unit(g, features), g.floats("means.weight", weight, dim, k),
		g.floats("means.bias", bias, k)})
	g.outputs = append(g.outputs, value(scoresName, typeFloat32,
		"one a class: minus the squared distance between its mean feature and the feature of the image, both of length 1",
		"batch", k))
}
