package nn_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

type joint = func(outputs, d []*tensor.Tensor) error

// apart is a loss that pushes the outputs of two passes towards each other: the mean of ½w(u−v)² + 0.1·uv over them.
func apart[F float32 | float64](u, v, du, dv []F) {
	for i := range u {
		w := F(1 + math.Cos(float64(i)))
		du[i] = ((u[i]-v[i])*w + 0.1*v[i]) / F(len(u))
		dv[i] = ((v[i]-u[i])*w + 0.1*u[i]) / F(len(u))
	}
}

func apartOf(outputs, d []*tensor.Tensor) error {
	apart(outputs[0].Data, outputs[1].Data, d[0].Data, d[1].Data)
	return nil
}

// sumOf is the loss of objectiveOf, summed over the batches.
func sumOf(outputs, d []*tensor.Tensor) error {
	for i := range outputs {
		objective(outputs[i], d[i])
	}
	return nil
}

// fuzzTogether runs a loss over two passes by every engine: bits do not depend on the workers, and gradients and
// running statistics are near those of float64.
func fuzzTogether(t *testing.T, layers randomNetwork, seed uint64, x *tensor.Tensor) {
	y := images(x.Dim(0), layers.c, layers.h, layers.w, seed+1)
	generic := layers.build(t, nn.Engine{Kernel: "generic"}, seed)
	exact := newJointRun(generic, x, y, nil)
	var rounded [3]run
	for i := range rounded {
		rounded[i] = newJointRun(generic, x, y, rand.New(rand.NewPCG(seed, uint64(i))))
	}
	for _, kernel := range nn.Kernels() {
		net := layers.build(t, nn.Engine{Kernel: kernel}, seed)
		what := fmt.Sprintf("seed %d: %v, twice %d images together, %s", seed, layers, x.Dim(0), kernel)
		got := runTogether(t, what, net, []*tensor.Tensor{x, y}, apartOf)
		got.compare(t, what, net, exact, rounded[:])
	}
}

// newJointRun is the reference of two passes and the loss apart.
func newJointRun(net *nn.Network, x, y *tensor.Tensor, noise *rand.Rand) run {
	a, u := newReference(net, x, nn.Train, noise)
	b, v := referenceAfter(a.running, net, y, nn.Train, noise)
	apart(u.x, v.x, u.d, v.d)
	a.backward()
	b.backward()
	for i, g := range b.grads {
		a.grads[i] += g
	}
	return run{slices.Concat(u.x, v.x), a.grads, b.running, append(a.inputs, b.inputs...)}
}

// runTogether runs the passes with one worker, and with more, which must give the same bits.
func runTogether(t *testing.T, what string, net *nn.Network, batches []*tensor.Tensor,
	loss joint) (first engineRun) {
	t.Helper()
	for _, workers := range []int{1, 2, 3, 5} {
		again := net.Clone()
		ws := again.NewWorkspace(workers)
		var logits []float32
		if err := again.Accumulate(ws, nn.Accumulation{Batches: batches, Joint: func(outputs, d []*tensor.Tensor) error {
			for _, o := range outputs {
				logits = append(logits, o.Data...)
			}
			return loss(outputs, d)
		}}); err != nil {
			t.Fatal(err)
		}
		ws.Close()
		got := engineRun{logits, again.Grads(), again.Running()}
		if workers == 1 {
			first = got
		}
		if !sameBits(got.logits, first.logits) || !sameBits(got.grads, first.grads) || !sameBits(got.running, first.running) {
			t.Errorf("%s: logits, gradients or running statistics of 1 and of %d workers differ", what, workers)
		}
	}
	return first
}

// TestTogetherIsAccumulateForASum: for a loss that is a sum over the batches, a joint loss gives the bits of
// Accumulate, with one to five workers, whatever the workspace did before.
func TestTogetherIsAccumulateForASum(t *testing.T) {
	for _, c := range networks(t) {
		for _, batches := range [][]*tensor.Tensor{{c.x}, {c.x, c.x.Rows(1, 2)}, {c.x.Rows(0, 1), c.x, c.x.Rows(0, 2)}} {
			start := c.net.Clone()
			for i := range start.Grads() { // both add
				start.Grads()[i] = float32(i % 7)
			}
			want := start.Clone()
			ws := want.NewWorkspace(1)
			defer ws.Close()
			if err := want.Accumulate(ws, nn.Accumulation{Batches: batches, Loss: objectiveOf}); err != nil {
				t.Fatal(err)
			}
			for _, workers := range []int{1, 2, 3, 5} {
				ws := start.NewWorkspace(workers)
				defer ws.Close()
				for range 2 {
					got := start.Clone()
					if err := got.Accumulate(ws, nn.Accumulation{Batches: batches, Joint: sumOf}); err != nil {
						t.Fatal(err)
					}
					if !sameBits(got.Grads(), want.Grads()) || !sameBits(got.Running(), want.Running()) {
						t.Errorf("%s, %d batches, %d workers: gradients or running statistics differ from those of Accumulate", c.name,
							len(batches), workers)
					}
					// other lanes
					if err := start.Clone().Accumulate(ws, nn.Accumulation{Batches: append(batches, c.x),
						Loss: objectiveOf}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}

// TestTogetherRefuses: an error of the loss leaves gradients and running statistics as they were, gradients of another
// shape panic, and so does what Accumulate refuses too.
func TestTogetherRefuses(t *testing.T) {
	c := networks(t)[0]
	other := perceptron(t, 3, 4, 5, 7)
	x, d := c.x, tensor.New(c.x.Dim(0), c.net.Info().Outputs)
	two := []*tensor.Tensor{x, x}
	for _, workers := range []int{1, 2, 3} {
		ws := c.net.NewWorkspace(workers)
		defer ws.Close()
		beside := ws.Beside()
		reader := c.net.Readers(1, workers)[0]
		defer reader.Close()
		closed := c.net.NewWorkspace(workers)
		closed.Close()
		before := slices.Concat(c.net.Grads(), c.net.Running())
		lost := errors.New("no loss")
		calls := 0
		err := c.net.Accumulate(ws, nn.Accumulation{Batches: two, Joint: func(_, d []*tensor.Tensor) error {
			calls++
			d[0].Data[0] = 1
			return lost
		}})
		if !errors.Is(err, lost) || calls != 1 || !slices.Equal(slices.Concat(c.net.Grads(), c.net.Running()), before) {
			t.Errorf("%d workers: error %v after %d calls; want that of the loss after one, with gradients and statistics as before",
				workers, err, calls)
		}
		if err := c.net.Accumulate(ws, nn.Accumulation{Batches: nil,
			Joint: func(_, _ []*tensor.Tensor) error { return lost }}); err != nil {
			t.Errorf("%d workers: no batches: %v", workers, err)
		}
		refused := func(what string, ws *nn.Workspace, net *nn.Network, batches []*tensor.Tensor, loss joint,
			part string) {
			t.Helper()
			mustPanic(t, fmt.Sprintf("%s, %d workers", what, workers),
				func() { _ = net.Accumulate(ws, nn.Accumulation{Batches: batches, Joint: loss}) },
				part)
		}
		refused("beside", beside, c.net, two, sumOf, "beside another one")
		refused("a reader", reader, c.net, two, sumOf, "predict only")
		refused("closed", closed, c.net, two, sumOf, "was closed")
		refused("another network", ws, other, []*tensor.Tensor{randomImages(other, 2)}, sumOf, "the workspace was made for")
		refused("an empty batch", ws, c.net, []*tensor.Tensor{x, x.Rows(0, 0)}, sumOf, "empty batch")
		refused("images of another size", ws, c.net, []*tensor.Tensor{x, randomImages(other, 2)}, sumOf, "network input")
		refused("gradients of another shape", ws, c.net, two, func(_, d []*tensor.Tensor) error {
			d[1] = d[1].Rows(0, 1)
			return nil
		}, "gradient of the outputs")
		for what, call := range map[string]func(){
			"a pass in the loss":        func() { c.net.Predict(ws, x) },
			"a pass beside in the loss": func() { c.net.Clone().Forward(beside, x, nn.Eval) },
			"again in the loss":         func() { _ = c.net.Accumulate(ws, nn.Accumulation{Batches: two, Joint: sumOf}) },
			"Close in the loss":         func() { ws.Close() },
		} {
			for _, batches := range [][]*tensor.Tensor{two, {x}, {x, x, x, x}} {
				refused(what, ws, c.net, batches, func(_, _ []*tensor.Tensor) error { call(); return nil }, "at work")
			}
		}
		if err := c.net.Clone().Accumulate(ws, nn.Accumulation{Batches: two, Joint: sumOf}); err != nil {
			t.Errorf("%d workers, afterwards: %v", workers, err)
		}
		mustPanic(t, "Backward after a joint loss", func() { ws.Backward(d) }, "follow a Forward")
	}
}

// TestTogetherStartsWithoutGradient: what a loss does not write is 0, also after one that wrote it.
func TestTogetherStartsWithoutGradient(t *testing.T) {
	c := networks(t)[3]
	ws := c.net.NewWorkspace(2)
	defer ws.Close()
	for _, loss := range []joint{sumOf, func(_, _ []*tensor.Tensor) error { return nil }} {
		clear(c.net.Grads())
		if err := c.net.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{c.x, c.x}, Joint: loss}); err != nil {
			t.Fatal(err)
		}
	}
	if i := slices.IndexFunc(c.net.Grads(), func(g float32) bool { return g != 0 }); i >= 0 {
		t.Errorf("gradient %d is %v after a loss that wrote none", i, c.net.Grads()[i])
	}
}

func TestTogetherAllocatesNothing(t *testing.T) {
	for _, workers := range []int{1, 2} {
		net, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 10, NF: 4}, rng.New(1, "net"))
		if err != nil {
			t.Fatal(err)
		}
		ws := net.NewWorkspace(workers)
		defer ws.Close()
		opt := optim.SGD{LR: 1e-3}.New()
		batches := []*tensor.Tensor{images(10, 3, 32, 32, 1), images(10, 3, 32, 32, 2)}
		step := func() {
			clear(net.Grads())
			if err := net.Accumulate(ws, nn.Accumulation{Batches: batches, Joint: apartOf}); err != nil {
				t.Fatal(err)
			}
			opt.Step(net, ws)
		}
		step()
		if n := testing.AllocsPerRun(3, step); n != 0 {
			t.Errorf("%d workers: %v allocations a step, want 0", workers, n)
		}
	}
}
