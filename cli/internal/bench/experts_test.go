package bench

import (
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

var expertSides = flag.String("sides", "32", "sides in pixels of the images of BenchmarkExperts, separated by commas")

const (
	sleepBatch = 50 // images of a step of a sleep in the code of CN-DPM's authors
	draws      = 16 // codes that are decoded for an image
	latent     = 64 // values of a code
)

// experts is CN-DPM's networks for square images of one side, as the survey sizes them.
type experts struct {
	v    arch.VAEConfig
	c    arch.SharingConfig
	vaes []*arch.VAE
	nets []*arch.Sharing
	ws   *nn.Workspace
	opt  optim.Optimizer
}

func newExperts(tb testing.TB, side, n, workers int) *experts {
	tb.Helper()
	e := &experts{
		v:   arch.VAEConfig{Channels: 3, Height: side, Width: side, Features: 32, Growth: 4, Latent: latent, Draws: draws},
		c:   arch.SharingConfig{Channels: 3, Height: side, Width: side, Classes: classes, Features: 20, Growth: 4, Blocks: 1},
		opt: optim.SGD{LR: rate, WeightDecay: 2e-5}.New(),
	}
	for k := range n {
		vae, err := e.v.New(k, rng.New(uint64(k), "bench/vae"))
		if err != nil {
			tb.Fatal(err)
		}
		net, err := e.c.New(k, rng.New(uint64(k), "bench/classifier"))
		if err != nil {
			tb.Fatal(err)
		}
		e.vaes, e.nets = append(e.vaes, vae), append(e.nets, net)
	}
	e.ws = e.vaes[0].Decoder.NewWorkspace(workers)
	tb.Cleanup(e.ws.Close)
	return e
}

// images draws a batch, and normals the numbers that its codes are drawn with.
func (e *experts) images(n int) *tensor.Tensor {
	x, src := tensor.New(n, 3, e.v.Height, e.v.Width), rng.New(1, "bench/images")
	for i := range x.Data {
		x.Data[i] = src.Float32()
	}
	return x
}

func normals(n int) []float32 {
	v, src := make([]float32, n*draws*latent), rng.New(1, "bench/normals")
	for i := range v {
		v[i] = float32(src.NormFloat64())
	}
	return v
}

// even is the weights of n images whose nlls are averaged.
func even(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = 1 / float32(n)
	}
	return v
}

// step updates networks that have gradients.
func (e *experts) step(nets ...*nn.Network) {
	for _, n := range nets {
		e.opt.Step(n, e.ws)
	}
}

// sleepVAE is a step of the last VAE's sleep: the codes of a batch by all encoders, its decodes, both gradients, one
// update.
func (e *experts) sleepVAE() func() {
	k := len(e.vaes) - 1
	p := e.v.Pass(e.ws, e.vaes, sleepBatch, k)
	x, eps, nll, weight := e.images(sleepBatch), normals(sleepBatch), make([]float64, sleepBatch), even(sleepBatch)
	return func() {
		clear(e.vaes[k].Encoder.Grads())
		clear(e.vaes[k].Decoder.Grads())
		p.Encode(x)
		p.Learn(nll, k, eps, weight)
		e.step(e.vaes[k].Encoder, e.vaes[k].Decoder)
	}
}

// sleepClassifier is a step of the last classifier's sleep.
func (e *experts) sleepClassifier() func() {
	k := len(e.nets) - 1
	p := e.c.Pass(e.ws, e.nets, sleepBatch, k)
	x, d := e.images(sleepBatch), expertLoss(sleepBatch)
	return func() {
		clear(e.nets[k].Net.Grads())
		p.Classify(x)
		p.Learn(k, d)
		e.step(e.nets[k].Net)
	}
}

// expertLoss is gradients of logits as large as those of a mean cross entropy.
func expertLoss(n int) *tensor.Tensor {
	d := tensor.New(n, classes)
	for i := range n {
		for k := range classes {
			d.Row(i)[k] = 0.01 / float32(n)
		}
		d.Row(i)[i%classes] = -0.99 / float32(n)
	}
	return d
}

// wake is a step on an incoming batch: the nlls of all experts, then the gradients and an update of those that are
// responsible, each for some images.
func (e *experts) wake() func() {
	v, c := e.v.Pass(e.ws, e.vaes, batch, 0), e.c.Pass(e.ws, e.nets, batch, 0)
	x, eps, nll, d := e.images(batch), normals(batch), make([]float64, batch), expertLoss(batch)
	weight := make([]float32, batch)
	return func() {
		v.Encode(x)
		c.Classify(x)
		for k := range e.vaes {
			v.NLL(nll, k, eps)
		}
		for k := range min(batch, len(e.vaes)) {
			for i := range weight {
				weight[i] = 0
				if i%len(e.vaes) == k {
					weight[i] = 1
				}
			}
			nets := []*nn.Network{e.vaes[k].Encoder, e.vaes[k].Decoder, e.nets[k].Net}
			for _, n := range nets {
				clear(n.Grads())
			}
			v.Learn(nll, k, eps, weight)
			c.Learn(k, d)
			e.step(nets...)
		}
	}
}

// predict is the prediction of a batch: the nlls and logits of all experts.
func (e *experts) predict() func() {
	v, c := e.v.Pass(e.ws, e.vaes, sleepBatch, len(e.vaes)), e.c.Pass(e.ws, e.nets, sleepBatch, len(e.nets))
	x, eps, nll := e.images(sleepBatch), normals(sleepBatch), make([]float64, sleepBatch)
	return func() {
		v.Encode(x)
		c.Classify(x)
		for k := range e.vaes {
			v.NLL(nll, k, eps)
		}
	}
}

// BenchmarkExperts measures the steps of CN-DPM with one expert and with ten, on two workers or -cpu of them.
// Operations are counted as those of direct convolutions, and the FMA peak is measured between the steps.
func BenchmarkExperts(b *testing.B) {
	for _, word := range strings.Split(*expertSides, ",") {
		side, err := strconv.Atoi(word)
		if err != nil {
			b.Fatal(err)
		}
		for _, n := range []int{1, 10} {
			for _, w := range []struct {
				name string
				step func(*experts) func()
			}{{"sleep-vae", (*experts).sleepVAE}, {"sleep-classifier", (*experts).sleepClassifier}, {"wake", (*experts).wake},
				{"predict", (*experts).predict}} {
				b.Run(fmt.Sprintf("%s/%d/expert%d", w.name, side, n), func(b *testing.B) {
					workers := runtime.GOMAXPROCS(0)
					e := newExperts(b, side, n, workers)
					step := w.step(e)
					step() // buffers are made
					before, peak, steps := e.ws.FLOPs(), []float64{fmaPeak(workers)}, 0
					for b.Loop() {
						step()
						if steps++; steps%10 == 0 {
							b.StopTimer()
							peak = append(peak, fmaPeak(workers))
							b.StartTimer()
						}
					}
					gflops := float64(e.ws.FLOPs()-before) / b.Elapsed().Seconds() / 1e9
					b.ReportMetric(gflops, "GFLOP/s")
					b.ReportMetric(100*shareOf(gflops, median(peak)), "%peak")
				})
			}
		}
	}
}
