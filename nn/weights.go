package nn

import "math"

// Weights says where the parameters of a layer of a [Wiring] lie in its network. A [Builder] adds them.
type Weights struct {
	w         convRef
	bias      int // offset of the biases; -1 is none
	in, out   int
	taps      int
	transpose bool
}

// Conv adds the parameters of a convolution that a [Wiring] uses: a kernel of side×side pixels from in to out channels,
// and a bias for each output if bias is set. A wired network has no other layers.
func (b *Builder) Conv(name string, in, side, out int, bias bool) Weights {
	l := Weights{w: b.kernel(name+".weight", in, side*side, out), bias: -1, in: in, out: out, taps: side * side}
	if bias {
		l.bias = b.biases(name, out, in*side*side)
	}
	return l
}

// Transposed adds the parameters of a transposed convolution with a kernel of 4×4 pixels, stride 2 and padding 1, and a
// bias for each output.
func (b *Builder) Transposed(name string, in, out int) Weights {
	l := Weights{w: b.param(Param{Name: name + ".weight", In: in, Taps: transposedTaps, Out: out, Conv: true,
		Transposed: true}),
		in: in, out: out, taps: transposedTaps, transpose: true}
	// PyTorch takes the second dimension of the tensor, here the outputs, for the inputs
	b.net.initial[len(b.net.initial)-1].bound = 1 / math.Sqrt(float64(out*transposedTaps))
	l.bias = b.biases(name, out, out*transposedTaps)
	return l
}

// Matrix adds the parameters of a linear layer with bias. The outputs of the last one are the network's classes.
func (b *Builder) Matrix(name string, in, out int) Weights {
	l := Weights{w: b.param(Param{Name: name + ".weight", In: in, Taps: 1, Out: out}), in: in, out: out, taps: 1}
	l.bias = b.biases(name, out, in)
	b.g.C = out
	return l
}

// biases adds a vector that is drawn as PyTorch draws the biases of a layer whose outputs sum fan numbers.
func (b *Builder) biases(name string, n, fan int) int {
	at := b.vector(name+".bias", n, 0)
	b.net.initial[len(b.net.initial)-1].bound = 1 / math.Sqrt(float64(fan))
	return at
}
