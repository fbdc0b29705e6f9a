package bench

import (
	"fmt"
	"math"
	"sync"
	"time"

	"ocl"
	"ocl/internal/budget"
	"ocl/internal/count"
	"ocl/learn/loss"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

const (
	// stepsFor is how long a round repeats the step of one size; one step at least.
	stepsFor = 200 * time.Millisecond
	// atOnceFor is how long each side of the comparison of runs at once lasts in a round.
	atOnceFor = 500 * time.Millisecond
	// rate is the learning rate: small, so that random labels drive no weight to infinity or into denormals.
	rate = 0.001
)

// rig is a network of one image size with everything a survey step needs, and the samples measured on it, in seconds.
type rig struct {
	size    int
	net     *nn.Network
	ws      *nn.Workspace
	opt     optim.Optimizer
	batches []*tensor.Tensor // incoming and replayed, each [batch,3,size,size]
	test    *tensor.Tensor   // [evaluated,3,size,size]
	labels  []ocl.Label

	step, eval []float64
	atOnce     []float64 // ratios
	solo       *rig      // one worker, alone; made when runs at once are measured
	crowd      []*rig    // one worker each, at once
}

// network draws a network for images of a size, or makes its outline without a source.
func network(size int, src *rng.Source) (*nn.Network, error) {
	return arch.ResNet18(arch.Config{Channels: 3, Height: size, Width: size, Classes: classes, NF: width}, src)
}

// fit is an error if so many rigs of each size take more memory than the process may use.
func fit(sizes []int, each int) error {
	sum := 0.0
	for _, size := range sizes {
		net, err := network(size, nil)
		if err != nil {
			return fmt.Errorf("%w: %d: %w", ErrSize, size, err)
		}
		f := net.Footprint()
		pass, err := f.Pass(2 * batch)
		if err != nil {
			return fmt.Errorf("%w: %d: %w", ErrSize, size, err)
		}
		images := float64(2*batch+evaluated) * 3 * float64(size*size)
		sum += float64(each) * (pass + f.Weights() + 4*(2*float64(f.Params())+images))
	}
	if have := budget.Bytes(); sum > float64(have) {
		return fmt.Errorf("%w: the measurement needs at least %s of memory, but this process may use %s: %w. Use smaller or fewer images (--size), or fewer runs at once (--at-once)",
			ErrSize, count.Bytes(int64(min(sum, math.MaxInt64/2))), count.Bytes(have), nn.ErrMemory)
	}
	return nil
}

// newRig draws a network and random images from fixed seeds.
func newRig(size, workers int) (*rig, error) {
	net, err := network(size, rng.New(1, "bench/network"))
	if err != nil {
		return nil, err
	}
	src := rng.New(1, "bench/images")
	images := func(n int) *tensor.Tensor {
		t := tensor.New(n, 3, size, size)
		for i := range t.Data {
			t.Data[i] = src.Float32()
		}
		return t
	}
	r := &rig{
		size: size, net: net, ws: net.NewWorkspace(workers),
		opt:     optim.SGD{LR: rate}.New(),
		batches: []*tensor.Tensor{images(batch), images(batch)}, test: images(evaluated),
		labels: make([]ocl.Label, batch),
	}
	for i := range r.labels {
		r.labels[i] = ocl.Label(src.IntN(classes))
	}
	return r, nil
}

func (r *rig) close() {
	r.ws.Close()
	if r.solo != nil {
		r.solo.close()
	}
	for _, c := range r.crowd {
		c.close()
	}
}

// once makes one survey step as ER does it: two passes whose gradients add up, one update.
func (r *rig) once() {
	r.net.ZeroGrads()
	_ = r.net.Accumulate(r.ws, nn.Accumulation{Batches: r.batches, Loss: r.loss}) // the loss knows no errors
	r.opt.Step(r.net, r.ws)
}

func (r *rig) loss(_ int, logits, d *tensor.Tensor) error {
	_, err := loss.CrossEntropy{}.Eval(d, loss.Input{Logits: logits, Y: r.labels})
	return err
}

// measure adds a round's samples.
func (r *rig) measure() {
	for begin := time.Now(); ; {
		t := time.Now()
		r.once()
		r.step = append(r.step, time.Since(t).Seconds())
		if time.Since(begin) >= stepsFor {
			break
		}
	}
	t := time.Now()
	r.net.Predict(r.ws, r.test)
	r.eval = append(r.eval, time.Since(t).Seconds())
}

// measureAtOnce adds one sample: the steps that n simultaneous runs make, divided by those of one run alone in the same
// time, with one worker each.
func (r *rig) measureAtOnce(n int) {
	if r.solo == nil {
		r.solo, _ = newRig(r.size, 1) // the size was accepted before
		for range n {
			c, _ := newRig(r.size, 1)
			r.crowd = append(r.crowd, c)
		}
		for _, c := range append(r.crowd, r.solo) {
			c.once() // buffers are made
		}
	}
	alone := r.solo.throughput()
	rates := make([]float64, n)
	var wg sync.WaitGroup
	for i, c := range r.crowd {
		wg.Go(func() { rates[i] = c.throughput() })
	}
	wg.Wait()
	sum := 0.0
	for _, v := range rates {
		sum += v
	}
	r.atOnce = append(r.atOnce, sum/alone)
}

// throughput is the number of steps a second over a fixed stretch of time.
func (r *rig) throughput() float64 {
	begin := time.Now()
	for n := 1; ; n++ {
		r.once()
		if d := time.Since(begin); d >= atOnceFor {
			return float64(n) / d.Seconds()
		}
	}
}
