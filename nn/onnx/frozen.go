package onnx

import (
	"math"

	"ocl/nn/backbone"
)

// embed makes embeddings [batch,D] of pixels, uint8 [batch,C,H,W], as package embed does: in float32, rounded to
// float16.
func (f *Frozen) embed(g *graph, x string) string {
	i := f.Net.Info()
	g.prefix = "backbone."
	if f.Of[0] == 1 {
		x = g.node("Concat", "coloured", []string{x, x, x}, attribute("axis", 1))
	}
	x = f.fit(g, x, i.Side, i.Resize)
	x = g.node("Cast", "values", []string{x}, attribute("to", typeFloat32))
	x = g.node("Div", "fractions", []string{x, g.floats("most", []float32{255})})
	x = g.node("Sub", "centred", []string{x, g.floats("mean", i.Mean[:], 3, 1, 1)})
	x = g.node("Div", normalisedName, []string{x, g.floats("std", i.Std[:], 3, 1, 1)})
	if f.Layers == nil {
		x = Model{Net: f.Net.Own()}.body(g, x)
	} else {
		x = f.layers(g, x)
	}
	x = g.node("Cast", "rounded", []string{x}, attribute("to", typeFloat16))
	x = g.node("Cast", embeddingsName, []string{x}, attribute("to", typeFloat32))
	g.prefix = ""
	return x
}

// filter is how Resize scales pictures for the network.
func (f *Frozen) filter() []message {
	if f.Net.Info().Bicubic {
		return []message{attribute("cubic_coeff_a", float32(-0.5)), attribute("mode", "cubic")}
	}
	return []message{attribute("mode", "linear")}
}

// fit scales images until they are nowhere smaller than resize, and cuts out the middle of the network's side. Both
// sizes are known here.
func (f *Frozen) fit(g *graph, x string, side, resize int) string {
	h, w := f.Of[1], f.Of[2]
	scaledH, scaledW := max(resize, h*resize/w), max(resize, w*resize/h)
	if scaledH != h || scaledW != w {
		x = g.node("Resize", "resized", []string{x, "", "", g.ints("sides", []int64{int64(scaledH), int64(scaledW)}, 2)},
			append([]message{attribute("antialias", 1), attribute("axes", []int{2, 3}), attribute("exclude_outside", 1)},
				f.filter()...)...)
	}
	if scaledH == side && scaledW == side {
		return x
	}
	top, left := int64(math.RoundToEven(float64(scaledH-side)/2)), int64(math.RoundToEven(float64(scaledW-side)/2))
	return g.node("Slice", "middle", []string{x, g.ints("first", []int64{top, left}, 2),
		g.ints("end", []int64{top + int64(side), left + int64(side)}, 2), g.ints("axes", []int64{2, 3}, 2)})
}

// layers are those of the network up to the features [batch,D].
func (f *Frozen) layers(g *graph, x string) string {
	values := map[int]string{0: x}
	for _, l := range f.Layers {
		pads := []int{l.Before, l.Before, l.Behind, l.Behind}
		in := values[l.In]
		switch l.Kind {
		case backbone.Mean:
			x = g.node("GlobalAveragePool", "pooled", []string{in})
			x = g.node("Flatten", "features", []string{x}, attribute("axis", 1))
		case backbone.Maximum:
			x = g.node("MaxPool", "maxima", []string{in}, attribute("kernel_shape", []int{l.Side, l.Side}),
				attribute("pads", pads), attribute("strides", []int{l.Stride, l.Stride}))
		case backbone.Tokens, backbone.LayerNorm, backbone.Product, backbone.Attention, backbone.ClassToken,
			backbone.ClassMean:
			x = tokens(g, l, in, values[l.Residual])
		default:
			s := l.Shape
			x = g.node("Conv", l.Name, []string{in, g.floats(l.Name+".weight", l.Weight, s[0], s[1], s[2], s[3]),
				g.floats(l.Name+".bias", l.Bias, len(l.Bias))},
				attribute("group", l.Groups), attribute("kernel_shape", []int{l.Side, l.Side}), attribute("pads", pads),
				attribute("strides", []int{l.Stride, l.Stride}))
			if l.Residual >= 0 {
				x = g.node("Add", l.Name+".sum", []string{x, values[l.Residual]})
			}
			if l.ReLU && l.Most > 0 {
				x = g.node("Clip", l.Name+".relu", []string{x, g.floats(l.Name+".least", []float32{0}),
					g.floats(l.Name+".most", []float32{l.Most})})
			} else if l.ReLU {
				x = g.node("Relu", l.Name+".relu", []string{x})
			}
		}
		values[l.Out] = x
	}
	if last := f.Layers[len(f.Layers)-1]; last.Kind != backbone.Mean { // a token
		x = g.node("Flatten", "features", []string{x}, attribute("axis", 1))
	}
	return x
}
