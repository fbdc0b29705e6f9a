package nn_test

import (
	"math"
	"math/rand/v2"
	"slices"

	"ocl/nn"
	"ocl/nn/tensor"
)

// reference computes a network in float64 from its description, [nn.Info], and from nothing else of the
// engine. With a source of noise, every sum gets an error as float32 arithmetic makes it, so that two runs tell how
// much such errors change a result.
type reference struct {
	net     *nn.Network
	mode    nn.Mode
	noise   *rand.Rand  // nil: none
	grads   []float64   // of parameters, at their offsets
	running []float64   // statistics after the pass
	inputs  [][]float64 // of each ReLU, in order
	back    []func()
}

// layerMap is the values of a batch between two layers, and their gradients, both [n,c,h,w].
type layerMap struct {
	n, c, h, w int
	x, d       []float64
}

func newLayerMap(n, c, h, w int) *layerMap {
	return &layerMap{n, c, h, w, make([]float64, n*c*h*w), make([]float64, n*c*h*w)}
}

// image is the values of an image [c,h,w], and where they begin among those of the batch.
func (v *layerMap) image(i int) (x []float64, first int) {
	size := v.c * v.h * v.w
	return v.x[i*size:][:size], i * size
}

// newReference runs the forward pass of images [B,C,H,W] in a mode and returns the logits [B,K]. run.backward follows.
func newReference(net *nn.Network, x *tensor.Tensor, mode nn.Mode, noise *rand.Rand) (run *reference,
	logits *layerMap) {
	var running []float64
	for _, v := range net.Running() {
		running = append(running, float64(v))
	}
	return referenceAfter(running, net, x, mode, noise)
}

// referenceAfter is newReference where an earlier pass has left the running statistics.
func referenceAfter(running []float64, net *nn.Network, x *tensor.Tensor, mode nn.Mode,
	noise *rand.Rand) (run *reference, logits *layerMap) {
	run = &reference{net: net, mode: mode, noise: noise, grads: make([]float64, len(net.Params())),
		running: slices.Clone(running)}
	in := net.Info().Input
	m := newLayerMap(x.Dim(0), in[0], in[1], in[2])
	for i, v := range x.Data {
		m.x[i] = float64(v)
	}
	for _, l := range net.Info().Layers {
		switch l.Kind {
		case nn.StemLayer:
			m = run.relu(run.convolution(l.Convs[0], m))
		case nn.BlockLayer:
			y := run.convolution(l.Convs[1], run.relu(run.convolution(l.Convs[0], m)))
			if len(l.Convs) > 2 {
				m = run.convolution(l.Convs[2], m)
			}
			m = run.relu(run.sum(y, m))
		case nn.PoolLayer:
			m = run.pool(l.Side, m)
		case nn.LinearLayer:
			m = run.linear(l, m)
			if l.ReLU {
				m = run.relu(m)
			}
		case nn.CosineLayer:
			m = run.cosine(l, m)
		}
	}
	return run, m
}

// backward adds the gradients of the parameters to run.grads, given those of the logits in their d.
func (run *reference) backward() {
	for i := len(run.back) - 1; i >= 0; i-- {
		run.back[i]()
	}
}

// rounded is a sum with the error of a float32 sum of terms whose absolute values have the sum size.
func (run *reference) rounded(sum, size float64) float64 {
	if run.noise == nil {
		return sum
	}
	return sum + size*0x1p-24*run.noise.NormFloat64()
}

// sums adds terms to values, each of which is a sum of many, and then rounds every value that got some, as rounded
// does.
type sums struct {
	run   *reference
	to    []float64
	sizes []float64 // of the absolute values of the terms
}

func (run *reference) newSums(to []float64) sums { return sums{run, to, make([]float64, len(to))} }

func (s sums) add(i int, term float64) {
	s.to[i] += term
	s.sizes[i] += math.Abs(term)
}

func (s sums) round() {
	for i, size := range s.sizes {
		if size > 0 {
			s.to[i] = s.run.rounded(s.to[i], size)
		}
	}
}

func (run *reference) param(i int) float64 { return float64(run.net.Params()[i]) }

func (run *reference) relu(m *layerMap) *layerMap {
	y := newLayerMap(m.n, m.c, m.h, m.w)
	for i, v := range m.x {
		y.x[i] = max(v, 0)
	}
	run.inputs = append(run.inputs, m.x)
	run.back = append(run.back, func() {
		for i, v := range m.x {
			if v > 0 {
				m.d[i] += y.d[i]
			}
		}
	})
	return y
}

func (run *reference) sum(a, b *layerMap) *layerMap {
	y := newLayerMap(a.n, a.c, a.h, a.w)
	for i := range y.x {
		y.x[i] = run.rounded(a.x[i]+b.x[i], math.Abs(a.x[i]+b.x[i]))
	}
	run.back = append(run.back, func() {
		for i, g := range y.d {
			a.d[i] += g
			b.d[i] += g
		}
	})
	return y
}

func (run *reference) pool(side int, m *layerMap) *layerMap {
	y := newLayerMap(m.n, m.c, m.h/side, m.w/side)
	at := func(i, k int) int {
		ch, oy, ox := i/(y.h*y.w), i/y.w%y.h, i%y.w // ch counts through the images
		return (ch*m.h+oy*side+k/side)*m.w + ox*side + k%side
	}
	area := float64(side * side)
	for i := range y.x {
		for k := range side * side {
			y.x[i] += m.x[at(i, k)] / area
		}
	}
	run.back = append(run.back, func() {
		for i, g := range y.d {
			for k := range side * side {
				m.d[at(i, k)] += g / area
			}
		}
	})
	return y
}

// linear is a linear layer with bias of values that are flattened in the order (c, y, x).
func (run *reference) linear(l nn.LayerInfo, m *layerMap) *layerMap {
	y := newLayerMap(m.n, l.Weight.Out, 1, 1)
	weight := func(i, o int) int { return l.Weight.Offset + i*l.Weight.Out + o }
	for img := range m.n {
		x, _ := m.image(img)
		to, _ := y.image(img)
		for o := range to {
			sum := run.param(l.Bias.Offset + o)
			size := math.Abs(sum)
			for i, v := range x {
				sum += v * run.param(weight(i, o))
				size += math.Abs(v * run.param(weight(i, o)))
			}
			to[o] = run.rounded(sum, size)
		}
	}
	run.back = append(run.back, func() {
		params, inputs := run.newSums(run.grads), run.newSums(m.d)
		for img := range m.n {
			x, first := m.image(img)
			g := y.d[img*len(y.d)/m.n:][:len(y.d)/m.n]
			for o, g := range g {
				params.add(l.Bias.Offset+o, g)
				for i, v := range x {
					params.add(weight(i, o), g*v)
					inputs.add(first+i, g*run.param(weight(i, o)))
				}
			}
		}
		params.round()
		inputs.round()
	})
	return y
}

// cosine is a layer of cosines of features and weights, times a scale.
func (run *reference) cosine(l nn.LayerInfo, m *layerMap) *layerMap {
	y := newLayerMap(m.n, l.Weight.Out, 1, 1)
	weight := func(i, o int) int { return l.Weight.Offset + i*l.Weight.Out + o }
	scale := run.param(l.Scale.Offset)
	length := func(n int, at func(i int) float64) float64 {
		sum := 0.0
		for i := range n {
			sum += square(at(i))
		}
		return math.Sqrt(run.rounded(sum, sum))
	}
	cosines, columns, rows := make([]float64, len(y.x)), make([]float64, l.Weight.Out), make([]float64, m.n)
	for o := range columns {
		columns[o] = length(m.c*m.h*m.w, func(i int) float64 { return run.param(weight(i, o)) })
	}
	for img := range m.n {
		x, _ := m.image(img)
		to, first := y.image(img)
		rows[img] = length(m.c*m.h*m.w, func(i int) float64 { return x[i] })
		for o := range to {
			sum, size := 0.0, 0.0
			for i, v := range x {
				sum += v * run.param(weight(i, o))
				size += math.Abs(v * run.param(weight(i, o)))
			}
			if lengths := rows[img] * columns[o]; lengths > 0 {
				cosines[first+o] = run.rounded(sum, size) / lengths
			}
			to[o] = scale * cosines[first+o]
		}
	}
	run.back = append(run.back, func() {
		params, inputs := run.newSums(run.grads), run.newSums(m.d)
		for img := range m.n {
			x, first := m.image(img)
			for o := range l.Weight.Out {
				g, cos := y.d[img*l.Weight.Out+o], cosines[img*l.Weight.Out+o]
				params.add(l.Scale.Offset, g*cos)
				if rows[img]*columns[o] == 0 {
					continue
				}
				g *= scale
				for i, v := range x {
					w := run.param(weight(i, o))
					params.add(weight(i, o), g*v/(rows[img]*columns[o]))
					params.add(weight(i, o), -g*cos*w/square(columns[o]))
					inputs.add(first+i, g*w/(rows[img]*columns[o]))
					inputs.add(first+i, -g*cos*v/square(rows[img]))
				}
			}
		}
		params.round()
		inputs.round()
	})
	return y
}

// convolution is a convolution and its batch norm.
func (run *reference) convolution(c nn.ConvInfo, m *layerMap) *layerMap {
	side := int(math.Sqrt(float64(c.Weight.Taps)))
	y := newLayerMap(m.n, c.Weight.Out, (m.h+c.Stride-1)/c.Stride, (m.w+c.Stride-1)/c.Stride)
	// each calls f for every product of the sum of an output: its place in the image and that of its weight.
	each := func(o, oy, ox int, f func(x, w int)) {
		for i := range m.c {
			for t := range side * side {
				iy, ix := oy*c.Stride+t/side-side/2, ox*c.Stride+t%side-side/2
				if iy >= 0 && iy < m.h && ix >= 0 && ix < m.w {
					f((i*m.h+iy)*m.w+ix, c.Weight.Offset+(i*side*side+t)*c.Weight.Out+o)
				}
			}
		}
	}
	for img := range m.n {
		x, _ := m.image(img)
		to, _ := y.image(img)
		for p := range to {
			sum, size := 0.0, 0.0
			each(p/(y.h*y.w), p/y.w%y.h, p%y.w, func(i, w int) {
				sum += x[i] * run.param(w)
				size += math.Abs(x[i] * run.param(w))
			})
			to[p] = run.rounded(sum, size)
		}
	}
	run.back = append(run.back, func() {
		params, inputs := run.newSums(run.grads), run.newSums(m.d)
		for img := range m.n {
			x, first := m.image(img)
			g := y.d[img*len(y.d)/m.n:][:len(y.d)/m.n]
			for p, g := range g {
				each(p/(y.h*y.w), p/y.w%y.h, p%y.w, func(i, w int) {
					params.add(w, g*x[i])
					inputs.add(first+i, g*run.param(w))
				})
			}
		}
		params.round()
		inputs.round()
	})
	return run.norm(c, y)
}

// norm is batch norm as PyTorch has it: running statistics move by a tenth, that of the variance by the unbiased one.
func (run *reference) norm(c nn.ConvInfo, m *layerMap) *layerMap {
	y := newLayerMap(m.n, m.c, m.h, m.w)
	pixels := m.h * m.w
	count := float64(m.n * pixels)
	for ch := range m.c {
		all := func(f func(i int)) {
			for img := range m.n {
				for p := range pixels {
					f((img*m.c+ch)*pixels + p)
				}
			}
		}
		mean, variance := run.running[c.Mean.Offset+ch], run.running[c.Variance.Offset+ch]
		batch := run.mode != nn.Eval
		if batch {
			mean, variance = 0, 0
			size := 0.0
			all(func(i int) { mean += m.x[i] / count; size += math.Abs(m.x[i]) / count })
			mean = run.rounded(mean, size)
			all(func(i int) { variance += (m.x[i] - mean) * (m.x[i] - mean) / count })
			variance = run.rounded(variance, variance)
			if run.mode == nn.Train {
				move := func(to *float64, v float64) { *to += 0.1 * (v - *to) }
				move(&run.running[c.Mean.Offset+ch], mean)
				move(&run.running[c.Variance.Offset+ch], variance*count/(count-1))
			}
		}
		gamma, beta := run.param(c.Gamma.Offset+ch), run.param(c.Beta.Offset+ch)
		inverse := 1 / math.Sqrt(variance+c.Eps)
		all(func(i int) {
			v := (m.x[i] - mean) * inverse * gamma
			y.x[i] = run.rounded(v+beta, math.Abs(m.x[i]*inverse*gamma)+math.Abs(mean*inverse*gamma)+math.Abs(beta))
		})
		run.back = append(run.back, func() {
			var sum, product, sizes, products float64 // of gradients, and of gradients and normalised values
			all(func(i int) {
				v := y.d[i] * (m.x[i] - mean) * inverse
				sum, product = sum+y.d[i], product+v
				sizes, products = sizes+math.Abs(y.d[i]), products+math.Abs(v)
			})
			sum, product = run.rounded(sum, sizes), run.rounded(product, products)
			run.grads[c.Beta.Offset+ch] += sum
			run.grads[c.Gamma.Offset+ch] += product
			all(func(i int) {
				g, size := y.d[i], math.Abs(y.d[i])
				if batch {
					slope := (m.x[i] - mean) * inverse * product / count
					g -= sum/count + slope
					size += math.Abs(sum/count) + math.Abs(slope)
				}
				m.d[i] += run.rounded(g*inverse*gamma, size*math.Abs(inverse*gamma))
			})
		})
	}
	return y
}
