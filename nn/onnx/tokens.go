package onnx

import (
	"fmt"
	"math"

	"ocl/nn/backbone"
)

// tokens adds a layer of a vision transformer. Values are [batch, tokens, channels].
func tokens(g *graph, l backbone.Layer, in, residual string) string {
	name := fmt.Sprintf("token%d", l.Out)
	if l.Name != "" {
		name = l.Name
	}
	ints := func(what string, v ...int64) string { return g.ints(name+"."+what, v, len(v)) }
	between := func(output, x string, axis, first, end int64) string {
		return g.node("Slice", output, []string{x, ints(output+".first", first), ints(output+".end", end),
			ints(output+".axis", axis)})
	}
	switch l.Kind {
	case backbone.Tokens:
		channels := len(l.Start) / l.Rows
		x := g.node("Reshape", name+".pixels", []string{in, ints("shape", 0, int64(channels), -1)})
		x = g.node("Transpose", name+".patches", []string{x}, attribute("perm", []int{0, 2, 1}))
		x = g.node("Pad", name+".padded", []string{x, ints("pads", 0, int64(l.First), 0, 0, 0, 0)})
		return g.node("Add", name, []string{x, g.floats(name+".start", l.Start, l.Rows, channels)})
	case backbone.LayerNorm:
		return g.node("LayerNormalization", name, []string{in, g.floats(name+".weight", l.Weight, len(l.Weight)),
			g.floats(name+".bias", l.Bias, len(l.Bias))}, attribute("axis", -1), attribute("epsilon", l.Epsilon))
	case backbone.Attention:
		return attention(g, l, name, in, between, ints)
	case backbone.ClassToken:
		return between(name, in, 1, 0, 1)
	case backbone.ClassMean:
		mean := g.node("ReduceMean", name+".mean", []string{between(name+".others", in, 1, int64(l.First), math.MaxInt64),
			ints("axes", 1)}, attribute("keepdims", 1))
		return g.node("Concat", name, []string{between(name+".class", in, 1, 0, 1), mean}, attribute("axis", 2))
	}
	x := g.node("MatMul", name+".product", []string{in, g.floats(name+".weight", l.Weight, l.Shape[0], l.Shape[1])})
	x = g.node("Add", name, []string{x, g.floats(name+".bias", l.Bias, len(l.Bias))})
	if l.Residual >= 0 {
		x = g.node("Add", name+".sum", []string{x, residual})
	}
	number := func(what string, v float32) string { return g.floats(name+"."+what, []float32{v}) }
	switch l.GELU {
	case "erf":
		y := g.node("Div", name+".scaled", []string{x, number("root", math.Sqrt2)})
		y = g.node("Erf", name+".erf", []string{y})
		y = g.node("Add", name+".above", []string{y, number("one", 1)})
		y = g.node("Mul", name+".half", []string{y, number("half_of", 0.5)})
		x = g.node("Mul", name+".gelu", []string{x, y})
	case "quick":
		y := g.node("Mul", name+".scaled", []string{x, number("scale", 1.702)})
		x = g.node("Mul", name+".gelu", []string{x, g.node("Sigmoid", name+".sigmoid", []string{y})})
	}
	return x
}

// attention adds that of the first tokens to all. between cuts a part out of an axis.
func attention(g *graph, l backbone.Layer, name, in string,
	between func(output, x string, axis, first, end int64) string, ints func(what string, v ...int64) string) string {
	heads := int64(l.Heads)
	width := int64(l.Shape[0]) / heads
	x := g.node("Reshape", name+".heads", []string{in, ints("shape", 0, 0, 3, heads, width)})
	x = g.node("Transpose", name+".parts", []string{x}, attribute("perm", []int{2, 0, 3, 1, 4}))
	part := func(what string, i int64) string {
		y := g.node("Gather", name+"."+what, []string{x, g.ints(name+"."+what+".index", []int64{i})}, attribute("axis", 0))
		return y
	}
	q := between(name+".first", part("q", 0), 2, 0, int64(l.Rows))
	k := g.node("Transpose", name+".keys", []string{part("k", 1)}, attribute("perm", []int{0, 1, 3, 2}))
	scale := g.floats(name+".scale", []float32{float32(1 / math.Sqrt(float64(width)))})
	y := g.node("Mul", name+".scores", []string{g.node("MatMul", name+".products", []string{q, k}), scale})
	y = g.node("Softmax", name+".shares", []string{y}, attribute("axis", -1))
	y = g.node("MatMul", name+".values", []string{y, part("v", 2)})
	y = g.node("Transpose", name+".tokens", []string{y}, attribute("perm", []int{0, 2, 1, 3}))
	return g.node("Reshape", name, []string{y, ints("together", 0, 0, heads*width)})
}
