package backbone

import (
	"fmt"

	"ocl/nn/internal/conv"
)

// architecture is a network of others, as the function that lays out its layers or as a vision transformer.
type architecture struct {
	name   string
	layers func(n *network)
	vit    *vit
}

// architectures are those that there are. Names of tensors are those of PyTorch's state dicts, or of a [scheme].
var architectures = []architecture{
	{name: "efficientnet-lite0", layers: func(n *network) { efficientNetLite(n, 10, 10) }},
	{name: "efficientnet-lite1", layers: func(n *network) { efficientNetLite(n, 10, 11) }},
	{name: "efficientnet-lite2", layers: func(n *network) { efficientNetLite(n, 11, 12) }},
	{name: "torchvision-resnet18", layers: func(n *network) { torchvisionResNet(n, n.basic, 1, 2, 2, 2, 2) }},
	{name: "torchvision-resnet50", layers: func(n *network) { torchvisionResNet(n, n.bottleneck, 4, 3, 4, 6, 3) }},
	{name: "dinov2-vits14", vit: &vit{patch: 14, width: 384, heads: 6, scaled: true}},
	{name: "dinov2-vits14-reg4", vit: &vit{patch: 14, width: 384, heads: 6, scaled: true, registers: 4}},
	{name: "dinov2-vitb14", vit: &vit{patch: 14, width: 768, heads: 12, scaled: true}},
	{name: "dinov2-vitb14-reg4", vit: &vit{patch: 14, width: 768, heads: 12, scaled: true, registers: 4}},
	{name: "deit-s16", vit: &vit{patch: 16, width: 384, heads: 6}},
	{name: "augreg-vits16", vit: &vit{patch: 16, width: 384, heads: 6}},
	{name: "augreg-vitb16", vit: &vit{patch: 16, width: 768, heads: 12}},
	{name: "clip-vitb32", vit: &vit{patch: 32, width: 768, heads: 12, projected: 512}},
	{name: "clip-vitb16", vit: &vit{patch: 16, width: 768, heads: 12, projected: 512}},
}

// lookUp is the architecture of a name; nil is none.
func lookUp(name string) *architecture {
	for i := range architectures {
		if architectures[i].name == name {
			return &architectures[i]
		}
	}
	return nil
}

// layOut makes the network for pictures of a side. reading is what there is to say of a vision transformer.
func (a *architecture) layOut(side int, r reading) *network {
	n := &network{side: side, reading: r, maps: []size{{channels: 3, rows: side, columns: side}}}
	if a.vit != nil {
		a.vit.layers(n)
	} else {
		a.layers(n)
	}
	return n
}

// efficientNetLite is EfficientNet-Lite (Tan and Le 2019, without squeeze-and-excitation and with ReLU6), padded as
// TensorFlow does: inverted bottlenecks of which each widens, convolves each channel by itself, and narrows. The
// channels of Lite0 are multiplied by width/10 and rounded to a multiple of 8, and its repeats by depth/10 and rounded
// up, but for the stem, the head, and the repeats of the first and the last stage.
func efficientNetLite(n *network, width, depth int) {
	n.epsilon = 1e-3
	x := n.stem("_conv_stem", "_bn0", 32, n.same(n.side, 3, 2), relu6)
	block := 0
	for _, stage := range []struct{ repeats, taps, stride, widen, out int }{
		{1, 3, 1, 1, 16}, {2, 3, 2, 6, 24}, {2, 5, 2, 6, 40}, {3, 3, 2, 6, 80}, {3, 5, 1, 6, 112}, {4, 5, 2, 6, 192},
		{1, 3, 1, 6, 320},
	} {
		if stage.repeats > 1 {
			stage.repeats = (stage.repeats*depth + 9) / 10
		}
		for i := range stage.repeats {
			p := fmt.Sprintf("_blocks.%d.", block)
			block++
			from, y, stride := x, x, 1
			if i == 0 {
				stride = stage.stride
			}
			if stage.widen > 1 {
				y = n.conv(y, p+"_expand_conv", p+"_bn0", stage.widen*n.channels(x), 1, 1, none, relu6)
			}
			y = n.depthwise(y, p+"_depthwise_conv", p+"_bn1", n.same(n.sideOf(y), stage.taps, stride), relu6)
			if i == 0 {
				from = none
			}
			x = n.conv(y, p+"_project_conv", p+"_bn2", ofWidth(stage.out, width), 1, 1, from, linear)
		}
	}
	n.head(n.conv(x, "_conv_head", "_bn1", 1280, 1, 1, none, relu6), "_fc")
}

// ofWidth is channels·width/10, rounded to a multiple of 8, but to no less than nine tenths.
func ofWidth(channels, width int) int {
	rounded := (channels*width + 40) / 80 * 8
	if 100*rounded < 9*channels*width {
		rounded += 8
	}
	return rounded
}

// torchvisionResNet is a residual network (He et al. 2016) as torchvision has it, with so many blocks a stage.
func torchvisionResNet(n *network, block func(x value, name string, width, stride int) value, widen int,
	blocks ...int) {
	n.epsilon = 1e-5
	x := n.maxPool(n.stem("conv1", "bn1", 64, square{7, 2, 3, 3}, relu), square{3, 2, 1, 1})
	for stage, count := range blocks {
		for i := range count {
			stride := 1
			if stage > 0 && i == 0 {
				stride = 2
			}
			x = block(x, fmt.Sprintf("layer%d.%d.", stage+1, i), 64<<stage*widen, stride)
		}
	}
	n.head(x, "fc")
}

// basic is a block of two 3×3 convolutions.
func (n *network) basic(x value, name string, out, stride int) value {
	y := n.conv(x, name+"conv1", name+"bn1", out, 3, stride, none, relu)
	return n.conv(y, name+"conv2", name+"bn2", out, 3, 1, n.shortcut(x, name, out, stride), relu)
}

// bottleneck is a block of a 1×1, a 3×3 and a 1×1 convolution; the stride is that of the 3×3.
func (n *network) bottleneck(x value, name string, out, stride int) value {
	y := n.conv(x, name+"conv1", name+"bn1", out/4, 1, 1, none, relu)
	y = n.conv(y, name+"conv2", name+"bn2", out/4, 3, stride, none, relu)
	return n.conv(y, name+"conv3", name+"bn3", out, 1, 1, n.shortcut(x, name, out, stride), relu)
}

// shortcut is x, or a convolution of it where the block changes the shape.
func (n *network) shortcut(x value, name string, out, stride int) value {
	if stride == 1 && n.channels(x) == out {
		return x
	}
	return n.conv(x, name+"downsample.0", name+"downsample.1", out, 1, stride, none, linear)
}

// activation is what follows a sum: nothing, max(0, y), min(6, max(0, y)), y·Φ(y), or y/(1+e^(-1.702·y)).
type activation int

const (
	linear activation = iota
	relu
	relu6
	gelu
	quickGELU
)

// value is the output of a layer, by its place in network.maps.
type value int

// none stands for no value.
const none value = -1

// square is a square of taps: its side, its stride, and the pixels of zeros before the first and behind the last row of
// a map.
type square struct{ side, stride, before, behind int }

// out is the side of the output for a side of the input.
func (q square) out(side int) int { return (side+q.before+q.behind-q.side)/q.stride + 1 }

func (q square) taps() conv.Square {
	return conv.Square{Side: q.side, Stride: q.stride, First: -q.before}
}

// same pads as TensorFlow does: as little as gives ⌈side/stride⌉ outputs, the odd pixel behind the map.
func (n *network) same(side, taps, stride int) square {
	out := (side + stride - 1) / stride
	pad := max(0, (out-1)*stride+taps-side)
	return square{taps, stride, pad / 2, pad - pad/2}
}

// kind is a kind of layer.
type kind int

const (
	stemLayer kind = iota
	denseLayer
	depthwiseLayer
	maxPoolLayer
	meanLayer // over all pixels
	logitsLayer
	tokensLayer    // pixels become tokens behind some others, with positions
	layerNormLayer // of each token
	attentionLayer
	classLayer     // the first token
	classMeanLayer // the first token, and the mean over those from first on
)

// layer computes one value of another one.
type layer struct {
	kind
	name, norm string // of the weights, and of the batch norm after them
	in, out    value
	res        value // added to the sum; none is nothing
	window     square
	act        activation
	flat       bool   // the weights are [out, in]
	unbiased   bool   // without a bias where there is no norm
	turned     bool   // the file has the weights as [in, out]
	gamma      string // the tensor that multiplies sums before res is added
	heads      int
	first      int     // the first token of a patch
	epsilon    float64 // of a layer norm

	packed       conv.Packed // the weights, shared by all workspaces
	scale, shift []float32   // what a sum is multiplied by, and what is added then; a value an output
	start        []float32   // of tokens before pixels are added: [rows, channels]
}

// size is the shape of a value: channels of maps, with a border where a layer needs one. Maps of pixels are square, and
// those of tokens have one column.
type size struct{ channels, rows, columns, border int }

// network is an architecture as its layers, in the order in which they run. Value 0 is the picture.
type network struct {
	side     int
	epsilon  float64 // of norms
	reading  reading
	maps     []size
	layers   []*layer
	features value
}

func (n *network) channels(v value) int { return n.maps[v].channels }

func (n *network) sideOf(v value) int { return n.maps[v].rows }

// add appends a layer, whose output has so many channels on maps of so many rows and columns.
func (n *network) add(l layer, channels, rows, columns int) value {
	l.out = value(len(n.maps))
	n.maps = append(n.maps, size{channels: channels, rows: rows, columns: columns})
	n.layers = append(n.layers, &l)
	return l.out
}

// bordered says that a layer reads v through a window that reaches beyond its maps.
func (n *network) bordered(v value, q square) {
	n.maps[v].border = max(n.maps[v].border, q.before, q.behind)
}

func (n *network) stem(name, norm string, out int, q square, act activation) value {
	n.bordered(0, q)
	return n.add(layer{kind: stemLayer, name: name, norm: norm, res: none, window: q, act: act}, out, q.out(n.side),
		q.out(n.side))
}

// conv is a convolution of 1 or 3×3 taps, centred.
func (n *network) conv(in value, name, norm string, out, side, stride int, res value, act activation) value {
	q := square{side, stride, side / 2, side / 2}
	return n.add(layer{kind: denseLayer, name: name, norm: norm, in: in, res: res, window: q, act: act}, out,
		q.out(n.sideOf(in)), q.out(n.sideOf(in)))
}

func (n *network) depthwise(in value, name, norm string, q square, act activation) value {
	n.bordered(in, q)
	return n.add(layer{kind: depthwiseLayer, name: name, norm: norm, in: in, res: none, window: q, act: act},
		n.channels(in), q.out(n.sideOf(in)), q.out(n.sideOf(in)))
}

// maxPool is after a ReLU only: zeros around a map are no larger than what it holds.
func (n *network) maxPool(in value, q square) value {
	n.bordered(in, q)
	return n.add(layer{kind: maxPoolLayer, in: in, res: none, window: q}, n.channels(in), q.out(n.sideOf(in)),
		q.out(n.sideOf(in)))
}

// usualClasses are those of ImageNet-1k.
const usualClasses = 1000

// head is the mean over pixels, which is the features, and a linear layer on it, of which a file says the outputs.
func (n *network) head(in value, name string) {
	n.features = n.add(layer{kind: meanLayer, in: in, res: none}, n.channels(in), 1, 1)
	n.add(layer{kind: logitsLayer, name: name, in: n.features, res: none, window: square{1, 1, 0, 0}, flat: true},
		usualClasses, 1, 1)
}

// classes is the number of logits, and setClasses changes it; 0 are none.
func (n *network) classes() int {
	if last := n.layers[len(n.layers)-1]; last.kind == logitsLayer {
		return n.channels(last.out)
	}
	return 0
}

func (n *network) setClasses(classes int) { n.maps[n.layers[len(n.layers)-1].out].channels = classes }
