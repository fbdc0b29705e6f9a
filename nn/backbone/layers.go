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
)

// Layer computes one value of another one. Values are counted: 0 is the picture [3,Side,Side].
type Layer struct {
	Kind     string
	Name     string // of its weights in the file
	In, Out  int    // values
	Residual int    // the value that is added before the activation; -1 is none
	// Weight [outputs, inputs of a group, Side, Side] and Bias [outputs] have the batch norm in them.
	Weight, Bias   []float32
	Shape          [4]int // of Weight
	Groups         int    // 1, or for a convolution of each channel by itself the number of channels
	Side, Stride   int    // of the square
	Before, Behind int    // pixels of zeros before the first and behind the last row and column
	ReLU           bool
	Most           float32 // of the output; 0 is no bound
}

// Layers are those from the picture to the features, in the order in which they run, for programs that write the
// network in another form. path is the file that was opened, which is read again, as a backbone keeps its weights
// packed; another file is an error. They are nil for a network of this project, see [Backbone.Own].
func (b *Backbone) Layers(path string) ([]Layer, error) {
	if b.own != nil {
		return nil, nil
	}
	if b.info.Feature != "" {
		return nil, fmt.Errorf("backbone: %s: a vision transformer cannot be written in another form yet. Keep the file beside the run",
			path)
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
		made := Layer{Name: l.name, In: int(l.in), Out: int(l.out), Residual: int(l.res), Groups: 1, ReLU: l.act != linear,
			Side: l.window.side, Stride: l.window.stride, Before: l.window.before, Behind: l.window.behind}
		if l.act == relu6 {
			made.Most = 6
		}
		switch l.kind {
		case maxPoolLayer:
			made.Kind = Maximum
		case meanLayer:
			made.Kind = Mean
		default:
			made.Kind = Convolution
			copy(made.Shape[:], b.net.shape(l))
			if l.kind == depthwiseLayer {
				made.Groups = made.Shape[0]
			}
			if made.Weight, err = finite(f, l.name+".weight"); err != nil {
				return nil, fmt.Errorf("backbone: %s: %w", path, err)
			}
			row := len(made.Weight) / made.Shape[0]
			for i := range made.Weight {
				made.Weight[i] *= l.scale[i/row]
			}
			made.Bias = l.shift[:made.Shape[0]]
		}
		list = append(list, made)
	}
	return list, nil
}

// Own is the network of a file that `ocl export` wrote, and nil for others. Its weights must not be changed.
func (b *Backbone) Own() *nn.Network { return b.own }
