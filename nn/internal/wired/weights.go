package wired

import (
	"math"

	"ocl/nn"
)

// Weights says where the parameters of a layer of a [Wiring] lie in its network.
type Weights struct {
	name     string
	at, size int
	bias     int // offset of the biases; -1 is none
	in, out  int
	taps     int
}

// of is the part of v, a number for each parameter, that are the weights.
func (l Weights) of(v []float32) []float32 { return v[l.at:][:l.size] }

// weights adds a parameter whose layer sums fan numbers for an output, and a bias for each output if bias is set. Both
// are drawn as PyTorch draws them.
func weights(b *nn.Builder, p nn.Param, fan int, bias bool) Weights {
	bound := 1 / math.Sqrt(float64(fan))
	name := p.Name
	p.Name = name + ".weight"
	p = b.Param(p, bound)
	l := Weights{name: p.Name, at: p.Offset, size: p.Len(), bias: -1, in: p.In, out: p.Out, taps: p.Taps}
	if bias {
		l.bias = b.Param(nn.Param{Name: name + ".bias", Out: p.Out}, bound).Offset
	}
	return l
}

// Conv adds the parameters of a convolution to a network: a kernel of side×side pixels from in to out channels, and a
// bias for each output if bias is set.
func Conv(b *nn.Builder, name string, in, side, out int, bias bool) Weights {
	return weights(b, nn.Param{Name: name, In: in, Taps: side * side, Out: out, Conv: true}, in*side*side, bias)
}

// Transposed adds the parameters of a transposed convolution with a kernel of 4×4 pixels, stride 2 and padding 1, and a
// bias for each output. PyTorch takes the second dimension of the tensor, here the outputs, for the inputs.
func Transposed(b *nn.Builder, name string, in, out int) Weights {
	return weights(b, nn.Param{Name: name, In: in, Taps: transposedTaps, Out: out, Conv: true, Transposed: true},
		out*transposedTaps, true)
}

// Matrix adds the parameters of a linear layer with bias. The outputs of the last one are the network's classes.
func Matrix(b *nn.Builder, name string, in, out int) Weights {
	return weights(b, nn.Param{Name: name, In: in, Taps: 1, Out: out}, in, true)
}
