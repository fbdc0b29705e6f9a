package nn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/rng"
)

// errorBound is how many times the error of a random rounding of every sum an engine's error may be, both as root mean
// squares over the values of a parameter, of all logits or of all statistics (docs/engine.md).
const errorBound = 16

// FuzzNetworks runs random small networks by every kernel set and both algorithms of convolutions, with one, two and
// three workers. Logits, gradients and running statistics are near those of float64 and do not depend on the workers.
func FuzzNetworks(f *testing.F) {
	for seed := range uint64(32) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 36))
		var layers randomNetwork
		var generic *nn.Network
		batch := 1 + r.IntN(4)
		for generic == nil || generic.Info().FLOPs*int64(batch) > 2<<20 { // the reference is slow
			layers = randomLayers(r)
			generic = layers.build(t, nn.Engine{Kernel: "generic"}, seed)
		}
		x := images(batch, layers.c, layers.h, layers.w, seed)
		mode := []nn.Mode{nn.Train, nn.Train, nn.BatchOnly, nn.Eval}[r.IntN(4)]
		dlogits := tensor.New(x.Dim(0), generic.Info().Outputs)
		for i := range dlogits.Data {
			dlogits.Data[i] = float32(r.NormFloat64())
		}
		exact := newRun(generic, x, dlogits, mode, nil)
		var rounded [3]run
		for i := range rounded {
			rounded[i] = newRun(generic, x, dlogits, mode, rand.New(rand.NewPCG(seed, uint64(i))))
		}
		for _, kernel := range nn.Kernels() {
			for _, algorithm := range []string{"direct", "winograd"} {
				net := layers.build(t, nn.Engine{Kernel: kernel, Convolution: algorithm}, seed)
				what := fmt.Sprintf("seed %d: %v, %d images, mode %d, %s, %s", seed, layers, x.Dim(0), mode, kernel, algorithm)
				got := runEngine(t, what, net, x, dlogits, mode)
				got.compare(t, what, net, exact, rounded[:])
			}
		}
		fuzzTogether(t, layers, seed, x)
	})
}

// randomNetwork is the layers of a network for images of c channels and h×w pixels.
type randomNetwork struct {
	c, h, w, classes int
	stem             int   // channels, 0 for a network of linear layers
	blocks           []int // channels of each, times 2 with a stride of 2
	pool             int
	hidden           []int
	head             nn.Head
}

func randomLayers(r *rand.Rand) randomNetwork {
	n := randomNetwork{c: 1 + r.IntN(4), h: 1 + r.IntN(10), w: 14 + r.IntN(10), classes: 1 + r.IntN(11)}
	if r.IntN(8) > 0 {
		channels := []int{1, 3, 7, 8, 15, 16, 17, 20, 33, 64, 80}
		n.stem = channels[r.IntN(len(channels))]
		for range r.IntN(4) {
			out := n.stem // no third convolution
			if r.IntN(2) == 0 {
				out = channels[r.IntN(len(channels))]
			}
			n.blocks = append(n.blocks, 2*out+r.IntN(2))
		}
		h, w := n.h, n.w
		for _, b := range n.blocks {
			h, w = (h+b%2)/(1+b%2), (w+b%2)/(1+b%2)
		}
		n.pool = 1 + r.IntN(min(h, w))
	}
	for range r.IntN(3) {
		n.hidden = append(n.hidden, 1+r.IntN(40))
	}
	if n.stem > 0 || len(n.hidden) > 0 {
		n.head = []nn.Head{{}, {Kind: nn.CosineHead}, {Kind: nn.ProjectionHead, Out: 1 + r.IntN(20)}}[r.IntN(3)]
	}
	return n
}

func (l randomNetwork) String() string {
	return fmt.Sprintf("images %d×%d×%d, stem %d, blocks %v, pool %d, hidden %v, head %v, classes %d", l.c, l.h, l.w,
		l.stem, l.blocks, l.pool, l.hidden, l.head, l.classes)
}

func (l randomNetwork) build(t *testing.T, e nn.Engine, seed uint64) *nn.Network {
	b, err := nn.NewBuilder(l.c, l.h, l.w, e, rng.New(seed, "network"))
	if err != nil {
		t.Fatal(err)
	}
	if l.stem > 0 {
		b.Stem("conv1", "bn1", l.stem)
		for i, block := range l.blocks {
			b.Block(fmt.Sprintf("layer%d", i), block/2, 1+block%2)
		}
		if err := b.AvgPool(l.pool); err != nil {
			t.Fatal(err)
		}
	}
	for i, out := range l.hidden {
		b.Linear(fmt.Sprintf("hidden%d", i), out, true)
	}
	if err := b.Head("linear", l.head, l.classes); err != nil {
		t.Fatal(err)
	}
	net := must(b.Build())
	r := rand.New(rand.NewPCG(seed, 37))
	for _, p := range net.Info().Named {
		if p.In == 0 { // γ, β and biases differ from their first values
			for i := range p.Len() {
				net.Params()[p.Offset+i] += 0.2 * float32(r.NormFloat64())
			}
		}
	}
	for i, p := range net.Info().Statistics {
		for j := range p.Len() {
			net.Running()[p.Offset+j] = float32([]float64{0.1 * r.NormFloat64(), 0.05 + r.Float64()}[i%2])
		}
	}
	net.Changed()
	return net
}

// engineRun is the results of a pass forward and back by an engine.
type engineRun struct{ logits, grads, running []float32 }

// runEngine runs the passes with one worker, and with more, which must give the same bits.
func runEngine(t *testing.T, what string, net *nn.Network, x, dlogits *tensor.Tensor, mode nn.Mode) engineRun {
	var runs [3]engineRun
	for i := range runs {
		again := net.Clone()
		ws := again.NewWorkspace(i + 1)
		runs[i].logits = slices.Clone(again.Forward(ws, x, mode).Data)
		ws.Backward(dlogits)
		ws.Close()
		runs[i].grads, runs[i].running = again.Grads(), again.Running()
		if !sameBits(runs[i].logits, runs[0].logits) || !sameBits(runs[i].grads, runs[0].grads) ||
			!sameBits(runs[i].running, runs[0].running) {
			t.Errorf("%s: logits, gradients or running statistics of 1 and of %d workers differ", what, i+1)
		}
	}
	return runs[0]
}

// compare tells whether the errors of an engine are as small as errorBound wants them. Gradients are compared in about
// nine of ten networks: not where a ReLU has an input near 0.
func (r engineRun) compare(t *testing.T, what string, net *nn.Network, exact run, rounded []run) {
	check := func(name string, got []float32, of func(run) []float64) {
		want := of(exact)
		found, allowed := 0.0, 0.0
		for i, v := range got {
			found += square(float64(v) - want[i])
			allowed += square(want[i] * 0x1p-24)
			for _, n := range rounded {
				allowed += square(of(n)[i]-want[i]) / float64(len(rounded))
			}
		}
		if ratio := math.Sqrt(found / (allowed + 1e-60)); !(ratio <= errorBound) {
			t.Errorf("%s: the error of %s is %.3g times that of rounded sums; it may be %d times", what, name, ratio, errorBound)
		}
	}
	check("the logits", r.logits, func(r run) []float64 { return r.logits })
	check("the running statistics", r.running, func(r run) []float64 { return r.running })
	if exact.nearKink(rounded) {
		return
	}
	for _, p := range net.Info().Named {
		check("the gradient of "+p.Name, r.grads[p.Offset:][:p.Len()],
			func(r run) []float64 { return r.grads[p.Offset:][:p.Len()] })
	}
}

// run is the results of a pass forward and back by the reference.
type run struct {
	logits, grads, running []float64
	inputs                 [][]float64
}

func newRun(net *nn.Network, x, dlogits *tensor.Tensor, mode nn.Mode, noise *rand.Rand) run {
	ref, logits := newReference(net, x, mode, noise)
	for i, g := range dlogits.Data {
		logits.d[i] = float64(g)
	}
	ref.backward()
	return run{logits.x, ref.grads, ref.running, ref.inputs}
}

// nearKink says that the input of a ReLU is so near 0 that an allowed error may change its sign, and with it the
// gradient.
func (r run) nearKink(noisy []run) bool {
	for layer, in := range r.inputs {
		scale := 0.0
		for _, n := range noisy {
			for i, v := range n.inputs[layer] {
				scale += square(v-in[i]) / float64(len(in)*len(noisy))
			}
		}
		for _, v := range in {
			if v != 0 && square(v) < square(errorBound)*scale {
				return true
			}
		}
	}
	return false
}

func square(v float64) float64 { return v * v }

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
