package nn

import (
	"fmt"
	"math"

	"ocl/tensor"
)

// Likelihood is the end of a decoder: a transposed convolution to the channels of an image, a sigmoid, and how unlikely
// an image is where each value is normal around what the decoder says, with one variance:
//
//	nll = Σ [ ((x − x̂)² + 0.001) / (2·e^v + 1e-8) + ½·(ln 2π + v) ]        v = LogVariance
//
// The 0.001 and the 1e-8 are those of CN-DPM's authors. A row of the wiring is a decoded image; several may belong to one
// target.
type Likelihood struct {
	LogVariance float64
	// Of says for each row which target it belongs to, and Weight what its nll counts in a backward pass.
	Of     []int32
	Weight []float32
	NLL    []float64 // of each row, after a forward pass

	l       Weights
	in      *Map
	c       int       // channels of an image
	targets []float32 // [B,H/2·W/2,4·C], in phases
	bias    []float32
	sums    []float32 // [N,C] gradients of the biases
	back    bool
}

// Likelihood adds the end of a decoder to a section.
func (s *Section) Likelihood(l Weights, in *Map, logVariance float64) *Likelihood {
	phases := s.phases(l, in)
	n := s.w.n
	k := &Likelihood{LogVariance: logVariance, l: l, in: phases, c: l.out,
		Of: make([]int32, n), Weight: make([]float32, n), NLL: make([]float64, n), sums: make([]float32, n*l.out)}
	s.layer(k, phases)
	return k
}

// Targets sets the images [B,C,H,W] that rows are compared with.
func (k *Likelihood) Targets(x *tensor.Tensor) {
	h, w := k.in.g.H, k.in.g.W
	x.CheckShape("targets of a likelihood", -1, k.c, 2*h, 2*w)
	if len(k.targets) != len(x.Data) {
		k.targets = make([]float32, len(x.Data))
	}
	for img := range x.Dim(0) {
		row, to := x.Row(img), k.targets[img*x.RowLen():(img+1)*x.RowLen()]
		k.eachValue(func(value, at int) { to[at] = row[value] })
	}
}

// Image copies the decoded image of a row to dst [C,H,W].
func (k *Likelihood) Image(dst []float32, row int) {
	g := k.in.g
	k.eachValue(func(value, at int) {
		dst[value] = k.in.x[g.PixelAt(row, 0, 0)+at/(4*k.c)*g.PixelStride+at%(4*k.c)]
	})
}

// eachValue calls f for each value of an image [C,H,W] and its place in phases.
func (k *Likelihood) eachValue(f func(value, at int)) {
	h, w := 2*k.in.g.H, 2*k.in.g.W
	for c := range k.c {
		for y := range h {
			for x := range w {
				f((c*h+y)*w+x, (y/2*(w/2)+x/2)*4*k.c+(y%2*2+x%2)*k.c+c)
			}
		}
	}
}

func (k *Likelihood) forward(s *Section, images int) {
	for _, of := range k.Of[:images] {
		if of < 0 || (int(of)+1)*k.in.g.Pixels()*4*k.c > len(k.targets) {
			panic(fmt.Sprintf("nn: Likelihood: a row of target %d, which is not set", of))
		}
	}
	k.bias, k.back = s.net.params[k.l.bias:k.l.bias+k.c], false
	s.w.ws.team.Run(k, images)
}

func (k *Likelihood) backward(s *Section, images int) {
	k.back = true
	s.w.ws.team.Run(k, images)
	k.in.written = true
	dst := s.net.grads[k.l.bias : k.l.bias+k.c]
	for img := range images {
		s.w.set.Add(dst, k.sums[img*k.c:(img+1)*k.c])
	}
}

// DoChunk implements [workers.Task].
func (k *Likelihood) DoChunk(_, img int) {
	g, n := k.in.g, 4*k.c
	precision := 1 / (2*math.Exp(k.LogVariance) + 1e-8)
	target := k.targets[int(k.Of[img])*g.Pixels()*n:][:g.Pixels()*n]
	x := k.in.x[g.PixelAt(img, 0, 0):]
	if !k.back {
		sum := 0.0
		for p := range g.Pixels() {
			v, t := x[p*g.PixelStride:][:n], target[p*n:][:n]
			c := 0
			for i := range v {
				y := sigmoid(v[i] + k.bias[c])
				v[i] = y
				d := float64(t[i]) - float64(y)
				sum += float64(d * d)
				if c++; c == k.c {
					c = 0
				}
			}
		}
		values := float64(g.Pixels() * n)
		k.NLL[img] = float64((sum+float64(values*0.001))*precision) + float64(values*0.5)*(math.Log(2*math.Pi)+k.LogVariance)
		return
	}
	sums := k.sums[img*k.c : (img+1)*k.c]
	clear(sums)
	d := k.in.d[g.PixelAt(img, 0, 0):]
	f := float32(2 * precision * float64(k.Weight[img]))
	for p := range g.Pixels() {
		v, t, dst := x[p*g.PixelStride:][:n], target[p*n:][:n], d[p*g.PixelStride:][:n]
		c := 0
		for i, y := range v {
			gradient := float32(f*(y-t[i])) * float32(y*(1-y))
			dst[i] = gradient
			sums[c] += gradient
			if c++; c == k.c {
				c = 0
			}
		}
	}
}

// sigmoid is 1/(1 + e^−x), to within two units in the last place, and the same on every machine.
func sigmoid(x float32) float32 {
	// e^−|x| keeps the exponential at most 1
	e := expNegative(-float32(math.Abs(float64(x))))
	if x >= 0 {
		return 1 / (1 + e)
	}
	return e / (1 + e)
}

// expNegative is e^x for x ≤ 0: 2^k·e^r with |r| ≤ ½·ln 2, where e^r is a polynomial. Below −87 it is 0.
func expNegative(x float32) float32 {
	if !(x >= -87) {
		if x != x {
			return x
		}
		return 0
	}
	const (
		log2e = 1.44269504088896341
		// ln 2 in two parts, of which the first has few digits, so that its product with k is exact
		high = 0.693359375
		low  = -2.12194440e-4
	)
	k := int32(float32(x*log2e) - 0.5) // towards zero: the nearest whole number, as x ≤ 0
	f := float32(k)
	r := x - float32(f*high)
	r -= float32(f * low)
	p := float32(1.0 / 5040)
	for _, c := range [...]float32{1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1} {
		p = float32(p*r) + c
	}
	return p * math.Float32frombits(uint32(127+k)<<23)
}

// Deviations writes e^{v/2}, the standard deviations of log-variances v [Z].
func Deviations(dst, logVariance []float32) {
	for i, v := range logVariance {
		dst[i] = float32(math.Exp(0.5 * float64(v)))
	}
}

// Reparameterise writes z = μ + σ·ε, a draw from a normal distribution with means and [Deviations] [Z], given standard
// normal numbers.
func Reparameterise(z, mean, deviation, eps []float32) {
	for i := range z {
		z[i] = mean[i] + float32(deviation[i]*eps[i])
	}
}

// ReparameteriseGradient adds to the gradients of means and log-variances what follows from that of a draw z.
func ReparameteriseGradient(dMean, dLogVariance, dz, deviation, eps []float32) {
	for i, d := range dz {
		dMean[i] += d
		dLogVariance[i] += float32(float32(d*eps[i]) * float32(0.5*deviation[i]))
	}
}

// NormalKL is the divergence of a normal distribution with means μ and log-variances v [Z] from the standard one,
// ½ Σ (−v + e^v + μ² − 1).
func NormalKL(mean, logVariance []float32) float64 {
	sum := 0.0
	for i, v := range logVariance {
		m := float64(mean[i])
		sum += math.Exp(float64(v)) - float64(v) + float64(m*m) - 1
	}
	return 0.5 * sum
}

// NormalKLGradient adds weight times the gradient of [NormalKL] to those of means and log-variances.
func NormalKLGradient(dMean, dLogVariance, mean, logVariance []float32, weight float64) {
	for i, v := range logVariance {
		dMean[i] += float32(weight * float64(mean[i]))
		dLogVariance[i] += float32(weight * 0.5 * (math.Exp(float64(v)) - 1))
	}
}

// LogSoftmax writes log p_k = l_k − log Σ e^l of logits [K].
func LogSoftmax(dst []float64, logits []float32) {
	most := logits[0]
	for _, v := range logits[1:] {
		most = max(most, v)
	}
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - float64(most))
	}
	log := math.Log(sum) + float64(most)
	for i, v := range logits {
		dst[i] = float64(v) - log
	}
}

// LogSoftmaxGradient writes the gradient of the logits, d_k − p_k·Σ d, given log p and its gradient d [K].
func LogSoftmaxGradient(dst []float32, logP, d []float64) {
	sum := 0.0
	for _, v := range d {
		sum += v
	}
	for i, v := range d {
		dst[i] = float32(v - float64(math.Exp(logP[i])*sum))
	}
}
