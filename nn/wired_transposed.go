package nn

import "ocl/nn/internal/conv"

// transposedTaps is the pixels of the kernel of a transposed convolution: 4×4.
const transposedTaps = 16

// A transposed convolution with a kernel of 4×4 pixels, stride 2 and padding 1 makes of each input pixel four outputs,
// its phases (even or odd row, even or odd column). Each phase sums 2×2 of the 3×3 input pixels around. So it is a 3×3
// convolution to four times the channels, of whose taps five of nine are zero, and the engine's kernels compute it with
// both gradients; Winograd's algorithm makes up for the zeros. Output pixel (2y+i, 2x+j) of channel o is channel
// (2i+j)·outs + o of pixel (y, x).

// transposed turns weights [in][4×4][out] into those of the 3×3 convolution and its gradient back.
type transposed struct {
	ins, outs int
	w         []float32 // expanded; the taps that are zero stay zero
	dw        []float32
}

// each calls f with the first weight of each tap of an input in the network and in the 3×3 convolution.
func (t *transposed) each(f func(from, to int)) {
	for phase := range 4 {
		for tap := range 9 {
			ky, kx := phase/2+1-2*(tap/3-1), phase%2+1-2*(tap%3-1)
			if ky < 0 || ky > 3 || kx < 0 || kx > 3 {
				continue
			}
			for i := range t.ins {
				f((i*transposedTaps+ky*4+kx)*t.outs, (i*9+tap)*4*t.outs+phase*t.outs)
			}
		}
	}
}

func (t *transposed) expand(w []float32) []float32 {
	t.each(func(from, to int) { copy(t.w[to:to+t.outs], w[from:]) })
	return t.w
}

func (t *transposed) gradient(c *wiredConv, s *Section, images int) {
	clear(t.dw)
	c.conv.WeightGradient(s.w.ws.team, t.dw, c.out.d, c.in.x, 0, images)
	dst := c.l.w.of(s.net.grads)
	t.each(func(from, to int) { s.w.set.Add(dst[from:from+t.outs], t.dw[to:to+t.outs]) })
}

// phases adds a transposed convolution whose outputs stay in phases, without its bias: 4·C channels of the input's size.
func (s *Section) phases(l Weights, in *Map) *Map {
	out := s.newMap(4*l.out, in.g.H, in.g.W)
	c := &wiredConv{l: l, in: in, out: out, transposed: &transposed{ins: l.in, outs: l.out,
		w: make([]float32, l.in*9*4*l.out), dw: make([]float32, l.in*9*4*l.out)}}
	c.make(s, in.g, in.dg, out.g, conv.Window{Taps: 9, Stride: 1})
	s.count(l.in, transposedTaps, l.out, in.g.Pixels())
	s.layer(c, in)
	return out
}

// Transposed adds a transposed convolution with a kernel of 4×4 pixels, stride 2 and padding 1, which doubles the sides of
// a map, and a ReLU behind it if relu is set.
func (s *Section) Transposed(l Weights, in *Map, relu bool) *Map {
	phases := s.phases(l, in)
	out := s.newMap(l.out, 2*in.g.H, 2*in.g.W)
	u := &unphased{l: l, in: phases, out: out, relu: relu, biases: biasGradient{m: out, at: l.bias}}
	s.layer(u, phases)
	return out
}

// unphased puts the phases of a map together and adds the bias.
type unphased struct {
	l       Weights
	in, out *Map
	relu    bool
	back    bool
	bias    []float32 // of the pass that is going on
	biases  biasGradient
}

func (u *unphased) forward(s *Section, images int) {
	u.bias, u.back = s.net.params[u.l.bias:u.l.bias+u.l.out], false
	s.w.ws.team.Run(u, images)
}

func (u *unphased) backward(s *Section, images int) {
	u.biases.run(s, images, u.relu)
	u.back = true
	s.w.ws.team.Run(u, images)
	u.in.written = true
}

// DoChunk implements [workers.Task].
func (u *unphased) DoChunk(_, img int) {
	in, out, outs := u.in.g, u.out.g, u.l.out
	for y := range in.H {
		for i := range 2 {
			for x := range in.W {
				from, to := in.PixelAt(img, y, x)+2*i*outs, out.PixelAt(img, 2*y+i, 2*x)
				for range 2 {
					if u.back {
						copy(u.in.d[from:][:outs], u.out.d[to:])
					} else {
						addBias(u.out.x[to:][:outs], u.in.x[from:], u.bias, u.relu)
					}
					from, to = from+outs, to+out.PixelStride
				}
			}
		}
	}
}

// addBias writes y = relu?(x + b).
func addBias(y, x, b []float32, relu bool) {
	x, b = x[:len(y)], b[:len(y)]
	if !relu {
		for i := range y {
			y[i] = x[i] + b[i]
		}
		return
	}
	for i := range y {
		y[i] = max(x[i]+b[i], 0)
	}
}
