package nn

import (
	"fmt"
	"math"

	"ocl/internal/kernel"
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

	out     *Map      // the pixels in blocks, see transposed
	c       int       // channels of an image
	targets []float32 // [B] maps
	inside  []float32 // of a map: 1 for values of the image, 0 for what lies around it or is padding
	back    bool
	set     *kernel.Set
}

// Likelihood adds the end of a decoder to a section.
func (s *Section) Likelihood(l Weights, in *Map, logVariance float64) *Likelihood {
	n, out := s.w.n, s.newMap(4*l.out, in.g.H+1, in.g.W+1)
	s.blocks(l, in, out, l.out, false)
	k := &Likelihood{LogVariance: logVariance, out: out, c: l.out, set: s.w.set,
		Of: make([]int32, n), Weight: make([]float32, n), NLL: make([]float64, n)}
	k.inside = make([]float32, k.size())
	k.eachValue(func(_, at int) { k.inside[at] = 1 })
	s.layer(k)
	return k
}

// size is the floats of a map of one image.
func (k *Likelihood) size() int { return k.out.g.Pixels() * k.out.g.PixelStride }

// Targets sets the images [B,C,H,W] that rows are compared with.
func (k *Likelihood) Targets(x *tensor.Tensor) {
	h, w, size := k.sides()
	x.CheckShape("targets of a likelihood", -1, k.c, h, w)
	if n := x.Dim(0) * size; n != len(k.targets) {
		k.targets = make([]float32, n)
	}
	for img := range x.Dim(0) {
		row, to := x.Row(img), k.targets[img*size:][:size]
		k.eachValue(func(value, at int) { to[at] = row[value] })
	}
}

func (k *Likelihood) sides() (h, w, size int) {
	return 2 * (k.out.g.H - 1), 2 * (k.out.g.W - 1), k.size()
}

// Image copies the decoded image of a row to dst [C,H,W].
func (k *Likelihood) Image(dst []float32, row int) {
	x := k.out.x[k.out.at(row):]
	k.eachValue(func(value, at int) { dst[value] = x[at] })
}

// eachValue calls f for each value of an image [C,H,W] and its place in a map.
func (k *Likelihood) eachValue(f func(value, at int)) {
	h, w, _ := k.sides()
	for c := range k.c {
		for y := range h {
			for x := range w {
				f((c*h+y)*w+x, k.out.g.PixelAt(0, (y+1)/2, (x+1)/2)+((y+1)%2*2+(x+1)%2)*k.c+c)
			}
		}
	}
}

func (k *Likelihood) forward(s *Section, images int) {
	for _, of := range k.Of[:images] {
		if of < 0 || (int(of)+1)*k.size() > len(k.targets) {
			panic(fmt.Sprintf("nn: Likelihood: a row of target %d, which is not set", of))
		}
	}
	k.back = false
	s.w.ws.team.Run(k, images)
}

func (k *Likelihood) backward(s *Section, images int) {
	k.back = true
	s.w.ws.team.Run(k, images)
}

// DoChunk implements [workers.Task].
func (k *Likelihood) DoChunk(_, img int) {
	size, at := k.size(), k.out.at(img)
	precision := 1 / (2*math.Exp(k.LogVariance) + 1e-8)
	target, x := k.targets[int(k.Of[img])*size:][:size], k.out.x[at:][:size]
	if k.back {
		k.set.SigmoidErrorGrad(k.out.d[at:][:size], x, target, k.inside, float32(2*precision*float64(k.Weight[img])))
		return
	}
	h, w, _ := k.sides()
	values, sum := float64(k.c*h*w), k.set.SigmoidError(x, target, k.inside)
	k.NLL[img] = float64((sum+float64(values*0.001))*precision) + float64(values*0.5)*(math.Log(2*math.Pi)+k.LogVariance)
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
