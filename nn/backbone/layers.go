package backbone

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/nn"
	"ocl/nn/safetensors"
)

// Kinds of layers.
const (
	Convolution = "convolution"
	Maximum     = "maximum" // over a square of pixels
	Mean        = "mean"    // over all pixels

	Tokens     = "tokens"     // [Rows, outputs] of the pixels of maps, behind First others; Start is added to all
	LayerNorm  = "layer norm" // of each token, times Weight, plus Bias
	Product    = "product"    // of each token
	Attention  = "attention"  // of the first Rows tokens to all; inputs are queries, keys and values of Heads heads
	ClassToken = "class token"
	ClassMean  = "class token and mean" // of the tokens from First on, beside the first token
)

// Layer computes one value of another one. Values are counted: 0 is the picture [3,Side,Side].
type Layer struct {
	Kind     string
	Name     string // of its weights in the file
	In, Out  int    // values
	Residual int    // the value that is added before the activation; -1 is none
	// Weight [outputs, inputs of a group, Side, Side] and Bias [outputs] have the batch norm in them. The weight of a
	// product is [inputs, outputs], that of a layer norm [outputs].
	Weight, Bias   []float32
	Shape          [4]int // of Weight; without one, the channels of the output
	Groups         int    // 1, or for a convolution of each channel by itself the number of channels
	Side, Stride   int    // of the square
	Before, Behind int    // pixels of zeros before the first and behind the last row and column
	ReLU           bool
	Most           float32 // of the output; 0 is no bound
	Rows, First    int     // tokens
	Heads          int
	Start          []float32
	Epsilon        float32 // of a layer norm
	GELU           string  // of a product: "erf", "quick" or ""
}

// Layers are those from the picture to the features, in the order in which they run, for programs that write the
// network in another form. path is the file that was opened, which is read again, as a backbone keeps its weights
// packed; another file is an error. They are nil for a network of this project, see [Backbone.Own].
func (b *Backbone) Layers(path string) ([]Layer, error) {
	if b.own != nil {
		return nil, nil
	}
	text, err := input.ReadFile(path, input.Want{Most: limit.Backbone})
	if err != nil {
		return nil, fmt.Errorf("backbone: %s: %w", path, cause.Of(err))
	}
	if digest := fmt.Sprintf("sha256:%x", sha256.Sum256(text)); digest != b.digest {
		return nil, fmt.Errorf("backbone: %s: the file has changed since it was opened: its digest was %s and is %s", path,
			b.digest, digest)
	}
	f, err := safetensors.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return nil, fmt.Errorf("backbone: %s: %w", path, err)
	}
	b.net.leaveOutPrefix(f)
	var list []Layer
	for _, l := range b.net.layers {
		if l.kind == logitsLayer {
			continue
		}
		made := Layer{Name: l.name, In: int(l.in), Out: int(l.out), Residual: int(l.res), Groups: 1,
			ReLU: l.act == relu || l.act == relu6, Side: l.window.side, Stride: l.window.stride, Before: l.window.before,
			Behind: l.window.behind, Rows: b.net.maps[l.out].rows, First: l.first, Heads: l.heads, Start: l.start,
			Epsilon: float32(l.epsilon)}
		switch l.act {
		case relu6:
			made.Most = 6
		case gelu:
			made.GELU = geluErf
		case quickGELU:
			made.GELU = geluQuick
		}
		made.Kind = kindNames[l.kind]
		made.Shape[0] = b.net.channels(l.out)
		if l.kind == layerNormLayer {
			made.Weight, made.Bias = l.scale, l.shift
		}
		if made.Kind == Convolution || made.Kind == Product {
			if err := b.weights(&made, l, f); err != nil {
				return nil, fmt.Errorf("backbone: %s: %w", path, err)
			}
		}
		list = append(list, made)
	}
	return list, nil
}

// kindNames are those of the kinds of layers.
var kindNames = map[kind]string{stemLayer: Convolution, denseLayer: Convolution, depthwiseLayer: Convolution,
	maxPoolLayer: Maximum, meanLayer: Mean, tokensLayer: Tokens, layerNormLayer: LayerNorm, attentionLayer: Attention,
	classLayer: ClassToken, classMeanLayer: ClassMean}

// weights reads those of a layer again, and multiplies them by what its sums are multiplied by.
func (b *Backbone) weights(made *Layer, l *layer, f *safetensors.Reader) error {
	w, err := b.net.floats(f, l.name+".weight")
	if err != nil {
		return err
	}
	outs := b.net.channels(l.out)
	made.Bias = l.shift[:outs]
	if l.flat {
		made.Kind, made.Weight = Product, b.order(l, w)
		made.Shape = [4]int{b.net.channels(l.in), outs}
		for i := range made.Weight {
			made.Weight[i] *= l.scale[i%outs]
		}
		return nil
	}
	copy(made.Shape[:], b.net.shape(l))
	if l.kind == depthwiseLayer {
		made.Groups = made.Shape[0]
	}
	for i := range w {
		w[i] *= l.scale[i/(len(w)/outs)]
	}
	made.Weight = w
	return nil
}

// Own is the network of a file that `ocl export` wrote, and nil for others. Its weights must not be changed.
func (b *Backbone) Own() *nn.Network { return b.own }
