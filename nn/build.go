package nn

import (
	"fmt"
	"math"

	"ocl/internal/budget"
	"ocl/internal/count"
	"ocl/internal/largepages"
	"ocl/nn/internal/conv"
	"ocl/rng"
)

// channelLastFrom is the number of channels from which maps are channel-last: channels then fill vectors
// (docs/engine.md).
const channelLastFrom = 64

// Builder puts a network together layer by layer; package arch uses it. Parameters are drawn as PyTorch draws them:
// weights and biases from U(−1/√fan_in, 1/√fan_in), γ = 1, β = 0.
type Builder struct {
	net *Network
	src *rng.Source
	g   conv.Layout
	end int // layers up to the last of the head

	ends []stage // of layers that are stages where Stage is never called
	told bool    // Stage was called
}

// NewBuilder starts a network for images of c channels and h×w pixels that computes by an engine. It is an error where
// this machine has no such engine. With a nil src the network is an outline: it says what a network is, such as its
// names, its work and its memory, and has no parameters.
func NewBuilder(c, h, w int, e Engine, src *rng.Source) (*Builder, error) {
	set, convolution, err := e.choose()
	if err != nil {
		return nil, err
	}
	return &Builder{net: &Network{set: set, info: Info{Input: [3]int{c, h, w}, Engine: Engine{set.Name, convolution}}},
		src: src,
		g:   conv.Sketch(false, c, h, w, 1)}, nil
}

// kernel adds the weights of a convolution.
func (b *Builder) kernel(name string, in, taps, out int) convRef {
	return b.param(Param{Name: name, In: in, Taps: taps, Out: out, Conv: true})
}

func (b *Builder) param(p Param) convRef {
	p = b.Param(p, 1/math.Sqrt(float64(p.In*p.Taps)))
	return convRef{name: p.Name, at: p.Offset, size: p.Len()}
}

// Param adds a parameter that starts with numbers from U(−bound, bound), and whose layer is none of the builder's: a
// network of such parameters has no other layers, and who made it runs it. Its classes are the outputs of the last
// linear layer. The result has its place.
func (b *Builder) Param(p Param, bound float64) Param {
	p.Offset = b.total()
	b.net.info.Named = append(b.net.info.Named, p)
	b.net.initial = append(b.net.initial, initial{p, bound, 0})
	if p.In > 0 && !p.Conv {
		b.g.C = p.Out
	}
	return p
}

func (b *Builder) total() int {
	if len(b.net.info.Named) == 0 {
		return 0
	}
	last := b.net.info.Named[len(b.net.info.Named)-1]
	return last.Offset + last.Len()
}

// initial is how a parameter starts: drawn from U(−bound, bound), or at value where bound is 0.
type initial struct {
	Param
	bound float64
	value float32
}

// Init draws all parameters from src as a new network's are drawn, and sets the running statistics to means of 0 and
// variances of 1. Gradients stay as they are. So does all that belongs to frozen stages; the numbers for it are drawn
// nevertheless, so that the others do not depend on what is frozen.
func (n *Network) Init(src *rng.Source) {
	for _, p := range n.initial {
		for i := range p.Len() {
			v := p.value
			if p.bound > 0 {
				v = float32((2*src.Float64() - 1) * p.bound)
			}
			if p.Offset >= n.frozen.params {
				n.params[p.Offset+i] = v
			}
		}
	}
	clear(n.running[n.frozen.running:])
	for i := 1; i < len(n.info.Statistics); i += 2 {
		for j := range n.info.Statistics[i].Out {
			if at := n.info.Statistics[i].Offset + j; at >= n.frozen.running {
				n.running[at] = 1
			}
		}
	}
	n.Changed()
}

func (b *Builder) vector(name string, n int, value float32) int {
	p := Param{Name: name, Offset: b.total(), Out: n}
	b.net.info.Named = append(b.net.info.Named, p)
	b.net.initial = append(b.net.initial, initial{p, 0, value})
	return p.Offset
}

func (b *Builder) norm(name string, n int) normRef {
	r := normRef{gamma: b.vector(name+".weight", n, 1), beta: b.vector(name+".bias", n, 0)}
	at := 0
	if k := len(b.net.info.Statistics); k > 0 {
		at = b.net.info.Statistics[k-1].Offset + b.net.info.Statistics[k-1].Out
	}
	r.mean, r.variance = at, at+n
	b.net.info.Statistics = append(b.net.info.Statistics, Param{Name: name + ".running_mean", Offset: at, Out: n},
		Param{Name: name + ".running_var", Offset: at + n, Out: n})
	return r
}

func (b *Builder) count(in, taps, out, pixels int) {
	b.net.info.FLOPs += 2 * int64(in*taps) * int64(out*pixels)
}

// Stem adds conv3×3 → batch norm → ReLU on the images. [Builder.Build] refuses images that are narrower than 14 pixels.
func (b *Builder) Stem(convName, normName string, out int) {
	l := &stemLayer{out: out, conv: b.kernel(convName+".weight", b.g.C, 9, out), norm: b.norm(normName, out)}
	b.count(b.g.C, 9, out, b.g.Pixels())
	b.net.layers = append(b.net.layers, l)
	b.g = conv.Sketch(false, out, b.g.H, b.g.W, 1)
	b.ends = append(b.ends, b.here(convName))
}

// Block adds a basic residual block of the given stride; prefix names its parameters ("layer1.0").
func (b *Builder) Block(prefix string, out, stride int) {
	w := conv.Window{Taps: 9, Stride: stride}
	oh, ow := w.Out(b.g.H), w.Out(b.g.W)
	if !b.g.ChannelLast && (out >= channelLastFrom || ow < conv.PlanesWidth) {
		b.net.layers = append(b.net.layers, channelLastLayer{})
		b.g = conv.Sketch(true, b.g.C, b.g.H, b.g.W, 1)
	}
	in := b.g.C
	l := &blockLayer{out: out, stride: stride}
	l.conv1, l.norm1 = b.kernel(prefix+".conv1.weight", in, 9, out), b.norm(prefix+".bn1", out)
	l.conv2, l.norm2 = b.kernel(prefix+".conv2.weight", out, 9, out), b.norm(prefix+".bn2", out)
	b.count(in+out, 9, out, oh*ow)
	if stride != 1 || in != out {
		l.short, l.normS = b.kernel(prefix+".shortcut.0.weight", in, 1, out), b.norm(prefix+".shortcut.1", out)
		b.count(in, 1, out, oh*ow)
	}
	b.net.layers = append(b.net.layers, l)
	if b.g.ChannelLast {
		b.g = conv.Sketch(true, out, oh, ow, 1)
	} else {
		b.g = conv.Sketch(false, out, oh, ow, 1)
	}
	b.ends = append(b.ends, b.here(prefix))
}

// AvgPool adds average pooling by side×side, rounding down, and flattens to features in the order (c, y, x).
func (b *Builder) AvgPool(side int) error {
	if b.g.H < side || b.g.W < side {
		return fmt.Errorf("nn: average pooling: the last map is %d×%d, smaller than %d×%d. Use larger images",
			b.g.H, b.g.W, side, side)
	}
	if !b.g.ChannelLast {
		b.net.layers = append(b.net.layers, channelLastLayer{})
		b.g = conv.Sketch(true, b.g.C, b.g.H, b.g.W, 1)
	}
	b.net.layers = append(b.net.layers, poolLayer{side})
	b.g = conv.Sketch(true, b.g.C*(b.g.H/side)*(b.g.W/side), 1, 1, 1)
	b.net.info.FeatureDim = b.g.C
	return nil
}

// Linear adds a linear layer with bias, and a ReLU if relu is set; the outputs of the last ReLU are the features.
func (b *Builder) Linear(name string, out int, relu bool) {
	b.linear(name, out, relu)
	if relu {
		b.net.info.FeatureDim = out
	}
}

// Waves adds a linear layer with bias and a cosine behind it, y = cos(x·W + b); the outputs are the features.
func (b *Builder) Waves(name string, out int) {
	b.linear(name, out, false)
	l := b.net.layers[len(b.net.layers)-1].(*linearLayer)
	l.wave, l.features = true, b.net.info.Head.Kind == ""
	b.net.info.FeatureDim = out
}

// linear adds a linear layer whose outputs are features if it comes before the head and has a ReLU.
func (b *Builder) linear(name string, out int, relu bool) {
	in := b.g.C * b.g.H * b.g.W
	l := &linearLayer{first: len(b.net.info.Named) == 0, out: out, relu: relu, input: len(b.net.layers) == 0,
		features: relu &&
			b.net.info.Head.Kind == ""}
	l.w = b.param(Param{Name: name + ".weight", In: in, Taps: 1, Out: out})
	l.bias = b.vector(name+".bias", out, 0)
	b.net.initial[len(b.net.initial)-1].bound = 1 / math.Sqrt(float64(in))
	b.count(in, 1, out, 1)
	b.net.layers = append(b.net.layers, l)
	b.g = conv.Sketch(true, out, 1, 1, 1)
	b.ends = append(b.ends, b.here(name))
}

// Build draws the parameters, unless it makes an outline, and returns the network. Without [Builder.Head] the last
// layer is a linear head, whose outputs are the logits. It is an error, and takes no memory, if the network does not
// fit the memory of the process ([budget.Bytes]) or if one image does not fit its maps.
func (b *Builder) Build() (*Network, error) {
	n := b.net
	if n.info.Head.Kind == "" {
		b.headless()
	} else if len(n.layers) > b.end {
		return nil, fmt.Errorf("nn: %s behind the head. Add the head last", count.Of(len(n.layers)-b.end, "layer"))
	}
	if len(n.layers) > 0 {
		if _, stem := n.layers[0].(*stemLayer); stem && n.info.Input[2] < conv.PlanesWidth {
			return nil, fmt.Errorf("nn: a stem on images that are %d pixels wide. Use images of at least %d, or linear layers",
				n.info.Input[2], conv.PlanesWidth)
		}
	}
	n.classed()
	b.staged()
	n.shape = shapeOf(n)
	n.info.Layers = n.described()
	if need, have := 8*b.floats(), budget.Bytes(); need > float64(have) {
		return nil, fmt.Errorf("nn: a network of %s parameters takes %s with its gradients, and this process may use %s: %w. Use a smaller network",
			count.Number(saturated(b.floats())), count.Bytes(saturated(need)), count.Bytes(have), ErrMemory)
	}
	if _, err := n.Footprint().Pass(1); err != nil {
		return nil, err
	}
	if b.src == nil {
		return n, nil
	}
	n.params, n.grads = largepages.Floats(b.total()), largepages.Floats(b.total())
	if k := len(n.info.Statistics); k > 0 {
		n.running = make([]float32, n.info.Statistics[k-1].Offset+n.info.Statistics[k-1].Out)
	}
	n.Init(b.src)
	return n, nil
}

// floats is the number of parameters, also where it is too large for an int.
func (b *Builder) floats() (sum float64) {
	for _, p := range b.net.info.Named {
		sum += max(float64(p.In), 1) * max(float64(p.Taps), 1) * float64(p.Out)
	}
	return sum
}
