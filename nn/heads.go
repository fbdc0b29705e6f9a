package nn

import (
	"fmt"
	"math"
)

// Kinds of [Head].
const (
	LinearHead     = "linear"
	CosineHead     = "cosine"
	ProjectionHead = "projection"
)

// Head is what stands on the trunk of a network, whose outputs are the features φ(x) [D]. The zero Head is linear.
//
//	linear      z_k = w_k·φ + b_k                          an output a class; parameters weight, bias
//	cosine      z_k = σ · w_k·φ / (‖w_k‖·‖φ‖)              an output a class; weight, sigma (Hou et al. 2019, LUCIR)
//	projection  z = W₂·ReLU(W₁·φ + b₁) + b₂   [Out]        no output of a class (Mai et al. 2021, SCR's "mlp")
//
// A cosine with a vector of length 0 is 0 and has no gradient. σ begins as 1 and is learned, or is Scale. The outputs
// of a projection are not scaled to length 1; a loss does that. Parameters are drawn as PyTorch draws those of linear
// layers.
type Head struct {
	Kind   string // "" is LinearHead
	Hidden int    // projection: units of the hidden layer; 0 is the number of features
	Out    int    // projection: outputs, at least 1 (128 in SCR)
	// cosine: σ, which no optimiser changes; 0 has σ learned
	Scale float64
}

// PerClass says whether the head has an output a class, and so predicts classes by itself.
func (h Head) PerClass() bool { return h.Kind != ProjectionHead }

// check returns the head with no field left to be filled in, for so many features.
func (h Head) check(features int) (Head, error) {
	if h.Scale != 0 && (h.Kind != CosineHead || !(h.Scale > 0) || h.Scale > 1e6) {
		return h, fmt.Errorf("nn: a %q head with the scale %v. Use a number above 0 with a cosine head, or 0", h.Kind, h.Scale)
	}
	switch h.Kind {
	case "", LinearHead, CosineHead:
		if h.Hidden != 0 || h.Out != 0 {
			return h, fmt.Errorf("nn: a %q head with %d hidden units and %d outputs of its own. Leave both at 0, or use a projection",
				h.Kind, h.Hidden, h.Out)
		}
		if h.Kind == "" {
			h.Kind = LinearHead
		}
	case ProjectionHead:
		if h.Hidden == 0 {
			h.Hidden = features
		}
		if h.Hidden < 1 || h.Out < 1 {
			return h, fmt.Errorf("nn: a projection with %d hidden units and %d outputs. Use at least 1 of each", h.Hidden, h.Out)
		}
	default:
		return h, fmt.Errorf("nn: the head %q is unknown. Use %s, %s or %s", h.Kind, LinearHead, CosineHead, ProjectionHead)
	}
	return h, nil
}

// Head adds the head of so many classes on the features, after which [Builder.Build] follows. name is the name of the
// parameters of a linear or cosine head; those of a projection are called head.0 and head.2, as SCR's authors have
// them. It is an error where h is no head, where there is one already, or where there is no layer with features before
// it.
func (b *Builder) Head(name string, h Head, classes int) error {
	h, err := h.check(b.net.info.FeatureDim)
	if err != nil {
		return err
	}
	if b.net.info.Head.Kind != "" {
		return fmt.Errorf("nn: a %s head behind a %s head. Add one head, as the last", h.Kind, b.net.info.Head.Kind)
	}
	if h.Kind != LinearHead && b.net.info.FeatureDim == 0 {
		return fmt.Errorf("nn: a %s head on a network without features. Add average pooling, a linear layer with a ReLU or Flatten before it",
			h.Kind)
	}
	n := b.net
	n.info.Head, n.info.Capacity, n.trunk = h, classes, len(n.layers)
	switch h.Kind {
	case LinearHead:
		b.Linear(name, classes, false)
	case CosineHead:
		b.cosine(name, classes, h.Scale)
	case ProjectionHead:
		b.linear("head.0", h.Hidden, true)
		b.linear("head.2", h.Out, false)
	}
	b.end = len(n.layers)
	return nil
}

// headless makes the last layer the head, of a network whose builder was told of none.
func (b *Builder) headless() {
	n := b.net
	n.info.Head, n.info.Capacity, n.trunk = Head{Kind: LinearHead}, b.g.C, max(0, len(n.layers)-1)
}

// classed says of the parameters of the head which have the classes as outputs.
func (n *Network) classed() {
	last := len(n.info.Named)
	switch n.info.Head.Kind {
	case LinearHead:
		for i := max(0, last-2); i < last; i++ {
			n.info.Named[i].Classes = true
		}
	case CosineHead:
		n.info.Named[last-2].Classes = true
	}
}

// HeadRow writes to dst [D] the weights of class k of a network, and returns its bias: output k is their product with
// the features, plus the bias. In a cosine head they are σ·w_k/‖w_k‖ for features of length 1, and the bias is 0. It
// panics where the head has no output a class or where k is none of the active classes.
func HeadRow(n *Network, dst []float32, k int) (bias float32) {
	if !n.info.Head.PerClass() {
		panic("nn: HeadRow: a projection has no row a class. Ask Info().Head.PerClass() before")
	}
	first := len(n.info.Named) - 2
	w, other := n.info.Named[first], n.info.Named[first+1]
	if len(dst) != w.In || k < 0 || k >= n.classes() {
		panic(fmt.Sprintf("nn: HeadRow: room for %d values of logit %d. Give room for %d values of a logit in [0, %d)",
			len(dst), k, w.In, n.classes()))
	}
	for i := range dst {
		dst[i] = n.params[w.Offset+i*w.Out+k]
	}
	if n.info.Head.Kind == LinearHead {
		return n.params[other.Offset+k]
	}
	scale := float64(n.params[other.Offset]) * inverseLength(dst)
	for i, v := range dst {
		dst[i] = float32(float64(v) * scale)
	}
	return 0
}

// inverseLength is 1/‖v‖, or 0 for the zero vector, summed in float64.
func inverseLength(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(float64(x) * float64(x))
	}
	return inverseRoot(sum)
}

func inverseRoot(sum float64) float64 {
	if sum == 0 {
		return 0
	}
	return 1 / math.Sqrt(sum)
}
