package onnx

import (
	"math"
	"strings"

	"ocl/nn"
)

// Names of the values between the parts of a graph. Viewers of ONNX files show them.
const (
	imagesName     = "images"     // the input, uint8 [batch,C,height,width]
	embeddingsName = "embeddings" // the input of a model that takes them, float32 [batch,D]
	pixelsName     = "pixels"     // uint8 [batch,C,H,W]
	normalisedName = "normalised" // float32 [batch,C,H,W], what the network learned from
)

// prepare makes what the network learned from out of images of any size.
//
// Resize works on uint8: its output is then rounded as pixels were before training. With antialias and
// exclude_outside the weights are those of Pillow's BILINEAR, which package data uses; without exclude_outside
// onnxruntime gives the border other pixels.
func (m Model) prepare(g *graph) string {
	c, h, w := m.image()
	if m.Embeddings && m.Frozen == nil {
		g.inputs = append(g.inputs, value(embeddingsName, typeFloat32, "what another network has made of images", "batch", c))
		return embeddingsName
	}
	g.inputs = append(g.inputs, value(imagesName, typeUint8, "images of one size, channel after channel, 0 to 255",
		"batch", c, "height", "width"))
	sized := pixelsName
	if m.Inner > 0 {
		sized, h, w = "inner", m.Inner, m.Inner
	}
	side := g.ints("side", []int64{int64(h), int64(w)}, 2)
	resize := []message{attribute("antialias", 1), attribute("axes", []int{2, 3}), attribute("exclude_outside", 1),
		attribute("mode", "linear")}
	if m.Frozen != nil {
		resize = append(resize[:3:3], m.Frozen.filter()...)
	}
	if m.Fit == Stretch {
		g.node("Resize", sized, []string{imagesName, "", "", side}, resize...)
	} else {
		cut(g, sized, side, c, h, w, resize)
	}
	if m.Inner > 0 {
		m.pad(g, sized)
	}
	if m.Frozen != nil {
		return m.Frozen.embed(g, pixelsName)
	}
	x := g.node("Cast", "values", []string{pixelsName}, attribute("to", typeFloat32))
	if len(m.Mean)+len(m.Std) == 0 {
		return g.node("Div", normalisedName, []string{x, g.floats("most", []float32{255})})
	}
	x = g.node("Div", "fractions", []string{x, g.floats("most", []float32{255})})
	mean, std := m.normalisation()
	x = g.node("Sub", "centred", []string{x, g.floats("mean", float32s(mean), c, 1, 1)})
	return g.node("Div", normalisedName, []string{x, g.floats("std", float32s(std), c, 1, 1)})
}

// pad puts images of Inner×Inner pixels into the middle of black ones.
func (m Model) pad(g *graph, x string) {
	_, h, w := m.image()
	top, left := (h-m.Inner)/2, (w-m.Inner)/2
	pads := []int64{0, 0, int64(top), int64(left), 0, 0, int64(h - m.Inner - top), int64(w - m.Inner - left)}
	g.node("Pad", pixelsName, []string{x, g.ints("pads", pads, len(pads))})
}

// cut does what package data does with images. It scales them, rounding sizes down, so that they just cover h×w, and
// cuts out the middle. If the surplus is odd, half of it is rounded to the nearest even number.
func cut(g *graph, output, side string, c, h, w int, resize []message) {
	// scaled height = max(h, height·w/width), and the same with the sides swapped
	sides := g.node("Shape", "sides", []string{imagesName}, attribute("start", 2))
	others := g.node("Gather", "sides.swapped", []string{sides, g.ints("swap", []int64{1, 0}, 2)})
	scaled := g.node("Mul", "scaled.product", []string{sides, g.ints("side.swapped", []int64{int64(w), int64(h)}, 2)})
	scaled = g.node("Div", "scaled.quotient", []string{scaled, others})
	scaled = g.node("Max", "scaled", []string{scaled, side})
	large := g.node("Resize", "resized", []string{imagesName, "", "", scaled}, resize...)

	more := g.node("Sub", "surplus", []string{scaled, side})
	half := g.node("Cast", "surplus.values", []string{more}, attribute("to", typeFloat32))
	half = g.node("Div", "surplus.half", []string{half, g.floats("two", []float32{2})})
	half = g.node("Round", "surplus.rounded", []string{half}) // half to even
	first := g.node("Cast", "first", []string{half}, attribute("to", typeInt64))
	end := g.node("Add", "end", []string{first, side})
	middle := g.node("Slice", "middle", []string{large, first, end, g.ints("axes", []int64{2, 3}, 2)})
	// The tensor has this shape already (0 stands for the number of images). Reshape declares it, for programs that infer
	// shapes.
	g.node("Reshape", output, []string{middle, g.ints("shape", []int64{0, int64(c), int64(h), int64(w)}, 4)})
}

// body is the network up to its features [batch,D].
func (m Model) body(g *graph, x string) string {
	flat := false
	flatten := func() {
		if !flat {
			x = g.node("Flatten", x+".flat", []string{x}, attribute("axis", 1))
		}
		flat = true
	}
	for _, l := range m.Net.Info().Layers {
		if l.Head {
			break
		}
		switch l.Kind {
		case nn.StemLayer:
			x = m.rectified(g, m.convolution(g, x, l.Convs[0]))
		case nn.BlockLayer:
			y := m.rectified(g, m.convolution(g, x, l.Convs[0]))
			y = m.convolution(g, y, l.Convs[1])
			if len(l.Convs) > 2 {
				x = m.convolution(g, x, l.Convs[2])
			}
			x = m.rectified(g, g.node("Add", y+".sum", []string{y, x}))
		case nn.PoolLayer:
			x = g.node("AveragePool", "pooled", []string{x}, attribute("kernel_shape", []int{l.Side, l.Side}),
				attribute("strides", []int{l.Side, l.Side}))
			flatten()
		case nn.FlattenLayer:
			flatten()
		case nn.LinearLayer:
			flatten()
			if x = m.linear(g, strings.TrimSuffix(l.Weight.Name, ".weight"), x, l); l.ReLU {
				x = m.rectified(g, x)
			}
			if l.Wave {
				x = g.node("Cos", x+".cos", []string{x})
			}
		}
	}
	flatten()
	return x
}

func (m Model) rectified(g *graph, x string) string { return g.node("Relu", x+".relu", []string{x}) }

// linear is y = x·W + b; W is stored [in,out], as Gemm takes it.
func (m Model) linear(g *graph, name, x string, l nn.LayerInfo) string {
	of := func(p nn.Param) []float32 { return m.Net.Params()[p.Offset:][:p.Len()] }
	return g.node("Gemm", name, []string{x, g.floats(l.Weight.Name, of(l.Weight), l.Weight.In, l.Weight.Out),
		g.floats(l.Bias.Name, of(l.Bias), l.Bias.Out)})
}

// convolution is a convolution with the batch norm behind it folded in: y = γ·(W∗x − μ)/√(σ² + ε) + β is a convolution
// by W·s with the bias β − μ·s, s = γ/√(σ² + ε). float64(…) keeps a compiler from fusing a product with a sum, so all
// machines write the same bytes.
func (m Model) convolution(g *graph, x string, c nn.ConvInfo) string {
	name := strings.TrimSuffix(c.Weight.Name, ".weight")
	weight, bias := make([]float32, c.Weight.Len()), make([]float32, c.Weight.Out)
	c.Weight.ToTorch(weight, m.Net.Params()[c.Weight.Offset:][:c.Weight.Len()])
	params, running := m.Net.Params(), m.Net.Running()
	row := c.Weight.In * c.Weight.Taps
	for o := range bias {
		scale := float64(params[c.Gamma.Offset+o]) / math.Sqrt(float64(running[c.Variance.Offset+o])+c.Eps)
		for i := range row {
			weight[o*row+i] = float32(float64(weight[o*row+i]) * scale)
		}
		shift := float64(float64(running[c.Mean.Offset+o]) * scale)
		bias[o] = float32(float64(params[c.Beta.Offset+o]) - shift)
	}
	side := int(math.Sqrt(float64(c.Weight.Taps)))
	pad, stride := side/2, c.Stride
	return g.node("Conv", name, []string{x, g.floats(c.Weight.Name, weight, c.Weight.Out, c.Weight.In, side, side),
		g.floats(name+".bias", bias, len(bias))},
		attribute("kernel_shape", []int{side, side}), attribute("pads", []int{pad, pad, pad, pad}),
		attribute("strides", []int{stride, stride}))
}

func float32s(v []float64) (out []float32) {
	for _, x := range v {
		out = append(out, float32(x))
	}
	return out
}
