package nn_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"ocl/checkpoint"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// forEachSet runs f with every kernel set of this machine.
func forEachSet(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	for _, name := range nn.Kernels() {
		t.Run(name, func(t *testing.T) {
			nn.Use(t, nn.Engine{Kernel: name})
			f(t)
		})
	}
}

// partOfAPass is what a kind of pass gives.
type partOfAPass struct {
	name   string
	values []float32
}

// passes makes each kind of pass, with optimisers' steps between, and returns what each gives.
func passes(t *testing.T, c arch.Config, workers int) (parts []partOfAPass) {
	t.Helper()
	net, err := arch.ResNet18(c, rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	ws := net.NewWorkspace(workers)
	defer ws.Close()
	keep := func(name string, values ...[]float32) {
		parts = append(parts, partOfAPass{name, slices.Concat(values...)})
	}
	x, y := images(3, c.Channels, c.Height, c.Width, 1), images(2, c.Channels, c.Height, c.Width, 2)
	d := tensor.New(x.Dim(0), c.Classes)
	opt := optim.SGD{LR: 0.01, Momentum: 0.5, WeightDecay: 1e-4}.New()
	objective(net.Forward(ws, x, nn.Train), d)
	keep("features", ws.Features().Data)
	ws.Backward(d)
	keep("forward and backward", d.Data, net.Grads())
	opt.Step(net, ws)
	keep("step", net.Params(), net.Running())
	for _, batches := range [][]*tensor.Tensor{{x, y}, {x, y, x}} {
		clear(net.Grads())
		if err := net.Accumulate(ws, nn.Accumulation{Batches: batches, Loss: objectiveOf}); err != nil {
			t.Fatal(err)
		}
		keep(fmt.Sprint("accumulated, ", len(batches), " batches"), net.Grads(), net.Running())
	}
	apart := make([]float32, len(net.Params()))
	clear(net.Grads())
	if err := net.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{x, y}, Apart: [][]float32{apart},
		Loss: objectiveOf}); err != nil {
		t.Fatal(err)
	}
	keep("accumulated apart", net.Grads(), apart, net.Running())
	ahead := net.Clone()
	ahead.StepFrom(ws, net, 0.01)
	keep("step ahead", ahead.Params())
	now, then := net.ForwardPair(ws, ahead, x, nn.BatchOnly)
	keep("probe", now.Data, then.Data)
	optim.Adam{LR: 1e-3}.New().Step(net, ws)
	keep("step by adam", net.Params())
	objective(net.Forward(ws, y, nn.Eval), d.Rows(0, y.Dim(0)))
	samples := make([]float32, y.Dim(0)*len(net.Params()))
	ws.BackwardPerSample(d.Rows(0, y.Dim(0)), samples)
	keep("gradients of samples", samples)
	keep("prediction", net.Predict(ws, images(7, c.Channels, c.Height, c.Width, 9)).Logits.Data)
	return parts
}

// TestWorkersGiveTheSameBits: every kind of pass, at two sizes of images, whatever the number of workers.
func TestWorkersGiveTheSameBits(t *testing.T) {
	forEachSet(t, func(t *testing.T) {
		for _, side := range []int{32, 46} {
			c := arch.Config{Channels: 3, Height: side, Width: side, Classes: 10, NF: 16} // Winograd's algorithm in every stage
			// plain Go is slow, above all under the race detector
			if nn.DefaultEngine().Kernel == "generic" {
				c.NF = 3
			}
			want := passes(t, c, 1)
			for _, workers := range []int{2, 3, 8} {
				got := passes(t, c, workers)
				for i, p := range got {
					if !slices.Equal(p.values, want[i].values) {
						t.Errorf("%d pixels, %d workers: %s: not the bits of one worker", side, workers, p.name)
					}
				}
			}
		}
	})
}

func objectiveOf(_ int, logits, d *tensor.Tensor) error {
	objective(logits, d)
	return nil
}

// TestAccumulateIsPassByPass compares Accumulate with passes one by one: gradients summed apart and added in order,
// running statistics moved in order.
func TestAccumulateIsPassByPass(t *testing.T) {
	for _, c := range networks(t) {
		batches := []*tensor.Tensor{c.x, c.x.Rows(1, 2), c.x.Rows(0, 2)}
		start := c.net.Clone()
		for i := range start.Grads() { // Accumulate adds
			start.Grads()[i] = float32(i % 7)
		}
		sum := slices.Clone(start.Grads())
		ws := c.net.NewWorkspace(1)
		defer ws.Close()
		for i, x := range batches {
			d := tensor.New(x.Dim(0), c.net.Info().Outputs)
			objective(c.net.Forward(ws, x, nn.Train), d)
			clear(c.net.Grads())
			if i == 0 { // the first batch adds where it computes
				copy(c.net.Grads(), sum)
				clear(sum)
			}
			ws.Backward(d)
			for i, g := range c.net.Grads() {
				sum[i] += g
			}
		}
		for _, workers := range []int{1, 2, 3, 7} {
			got := start.Clone()
			ws := got.NewWorkspace(workers)
			defer ws.Close()
			if err := got.Accumulate(ws, nn.Accumulation{Batches: batches, Loss: objectiveOf}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Grads(), sum) || !slices.Equal(got.Running(), c.net.Running()) {
				t.Errorf("%s, %d workers: gradients or running statistics differ from those of single passes", c.name, workers)
			}
			lost := errors.New("no loss")
			err := got.Accumulate(ws, nn.Accumulation{Batches: batches, Loss: func(i int, _, _ *tensor.Tensor) error {
				if i == 1 {
					return lost
				}
				return nil
			}})
			if !errors.Is(err, lost) {
				t.Errorf("%s, %d workers: error %v, want that of the loss", c.name, workers, err)
			}
		}
	}
}

func TestTrainingStepAllocatesNothing(t *testing.T) {
	for _, workers := range []int{1, 2} {
		net, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 10, NF: 10}, rng.New(1, "net"))
		if err != nil {
			t.Fatal(err)
		}
		ws := net.NewWorkspace(workers)
		defer ws.Close()
		opt := optim.SGD{LR: 1e-3}.New()
		x, d := images(10, 3, 32, 32, 1), tensor.New(10, 10)
		batches := []*tensor.Tensor{x, images(10, 3, 32, 32, 2)}
		step := func() {
			net.ZeroGrads()
			if err := net.Accumulate(ws, nn.Accumulation{Batches: batches, Loss: objectiveOf}); err != nil {
				t.Fatal(err)
			}
			objective(net.Forward(ws, x, nn.Train), d)
			ws.Backward(d)
			opt.Step(net, ws)
			net.Predict(ws, x)
			ws.Features()
		}
		step()
		if n := testing.AllocsPerRun(3, step); n != 0 {
			t.Errorf("%d workers: %v allocations a step, want 0", workers, n)
		}
	}
}

// TestPredictIsForwardInEvalMode: Predict and Forward in Eval mode give the same bits, and the result for an image does
// not depend on the other images of the batch.
func TestPredictIsForwardInEvalMode(t *testing.T) {
	forEachSet(t, func(t *testing.T) {
		for _, c := range networks(t) {
			ws := c.net.NewWorkspace(2)
			defer ws.Close()
			for range 2 { // move the running statistics
				c.net.Forward(ws, c.x, nn.Train)
			}
			want := slices.Clone(c.net.Forward(ws, c.x, nn.Eval).Data)
			if got := c.net.Predict(ws, c.x).Logits.Data; !slices.Equal(got, want) {
				t.Errorf("%s: Predict differs from Forward in Eval mode", c.name)
			}
			k := c.net.Info().Outputs
			if got := c.net.Predict(ws, c.x.Rows(1, 2)).Logits.Data; !slices.Equal(got, want[k:2*k]) {
				t.Errorf("%s: the prediction of an image depends on its neighbours", c.name)
			}
		}
	})
}

// TestHeadRow: logits are the product of the head's rows with the features, of length 1 for a cosine head. A projection
// has no rows.
func TestHeadRow(t *testing.T) {
	for _, c := range networks(t) {
		if !c.net.Info().Head.PerClass() {
			mustPanic(t, c.name, func() { nn.HeadRow(c.net, make([]float32, c.net.Info().FeatureDim), 0) }, "no row a class")
			continue
		}
		ws := c.net.NewWorkspace(1)
		defer ws.Close()
		out := c.net.Predict(ws, c.x)
		row := make([]float32, c.net.Info().FeatureDim)
		for k := range c.net.Info().Classes {
			bias := nn.HeadRow(c.net, row, k)
			for i := range c.x.Dim(0) {
				want, square := 0.0, 0.0
				for d, w := range row {
					f := float64(out.Features.Row(i)[d])
					want, square = want+float64(w)*f, square+f*f
				}
				if c.net.Info().Head.Kind == nn.CosineHead {
					want /= math.Sqrt(square)
				}
				want += float64(bias)
				if got := float64(out.Logits.Row(i)[k]); !(math.Abs(got-want) <= 1e-4*(1+math.Abs(want))) {
					t.Fatalf("%s: logit %d of image %d is %v, want %v", c.name, k, i, got, want)
				}
			}
		}
	}
}

func TestPerSampleGradientsAreOneByOneGradients(t *testing.T) {
	forEachSet(t, func(t *testing.T) {
		for _, c := range networks(t) {
			ws := c.net.NewWorkspace(2)
			defer ws.Close()
			p, b := len(c.net.Params()), c.x.Dim(0)
			d := tensor.New(b, c.net.Info().Outputs)
			objective(c.net.Forward(ws, c.x, nn.Eval), d)
			got := make([]float32, b*p)
			ws.BackwardPerSample(d, got)
			for i := range b {
				c.net.Forward(ws, c.x.Rows(i, i+1), nn.Eval)
				clear(c.net.Grads())
				ws.Backward(d.Rows(i, i+1))
				want := c.net.Grads()
				var scale, diff float64
				for j, w := range want {
					scale = max(scale, math.Abs(float64(w)))
					diff = max(diff, math.Abs(float64(w-got[i*p+j])))
				}
				if !(diff <= 1e-6*scale) { // sums of the same products in blocks of other sizes
					t.Errorf("%s: sample %d: differs by %g of %g", c.name, i, diff, scale)
				}
			}
		}
	})
}

func TestBatchOnlyLeavesStatisticsAlone(t *testing.T) {
	c := networks(t)[0]
	ws := c.net.NewWorkspace(1)
	defer ws.Close()
	before := slices.Clone(c.net.Running())
	probe := slices.Clone(c.net.Forward(ws, c.x, nn.BatchOnly).Data)
	if !slices.Equal(before, c.net.Running()) {
		t.Error("BatchOnly moved the running statistics")
	}
	if !slices.Equal(probe, c.net.Forward(ws, c.x, nn.Train).Data) {
		t.Error("BatchOnly and Train give other logits")
	}
	if slices.Equal(before, c.net.Running()) {
		t.Error("Train did not move the running statistics")
	}
}

func TestCloneAndState(t *testing.T) {
	c := networks(t)[0]
	ws := c.net.NewWorkspace(1)
	defer ws.Close()
	c.net.Forward(ws, c.x, nn.Train)
	want := slices.Clone(c.net.Predict(ws, c.x).Logits.Data)
	clone := c.net.Clone()
	saved := checkpoint.NewContainer()
	if err := c.net.SaveState(saved.Encoder()); err != nil {
		t.Fatal(err)
	}
	for i := range c.net.Params() {
		c.net.Params()[i] *= 1.5
	}
	c.net.Changed()
	if slices.Equal(want, c.net.Predict(ws, c.x).Logits.Data) {
		t.Error("scaled parameters left the predictions alone")
	}
	if !slices.Equal(want, clone.Predict(ws, c.x).Logits.Data) {
		t.Error("the clone shares parameters")
	}
	if err := c.net.LoadState(saved.Decoder()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(want, c.net.Predict(ws, c.x).Logits.Data) {
		t.Error("loaded state gives other predictions")
	}
}

func TestParameterCounts(t *testing.T) {
	for _, c := range []struct {
		side, classes, features, want int
	}{{32, 100, 160, 1109240}, {32, 10, 160, 1094750}, {84, 100, 640, 1157240}, {128, 50, 2560, 1221190}} {
		net, err := arch.ResNet18(arch.Config{Channels: 3, Height: c.side, Width: c.side, Classes: c.classes, NF: 20},
			rng.New(1, ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(net.Params()); got != c.want || net.Info().FeatureDim != c.features {
			t.Errorf("side %d: %d parameters, %d features; want %d, %d", c.side, got, net.Info().FeatureDim, c.want, c.features)
		}
	}
	if _, err := arch.ResNet18(arch.Config{Channels: 3, Height: 20, Width: 20, Classes: 10, NF: 20},
		rng.New(1, "")); err == nil {
		t.Error("20×20 images: want an error, their last map is smaller than the pooling window")
	}
}

// TestConvolutionName: ConvolutionName returns the algorithm that the network uses, even if another one was requested.
func TestConvolutionName(t *testing.T) {
	residual := func(nf int) *nn.Network {
		net, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 10, NF: nf}, rng.New(1, "net"))
		if err != nil {
			t.Fatal(err)
		}
		return net
	}
	perceptron, err := arch.MLP(arch.Config{Channels: 3, Height: 5, Width: 4, Classes: 6, Hidden: []int{16}},
		rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		use  string
		net  func() *nn.Network
		want string
	}{
		{"direct", func() *nn.Network { return residual(20) }, "direct"},
		{"winograd", func() *nn.Network { return residual(20) }, "winograd"},
		{"table", func() *nn.Network { return residual(20) }, "winograd"},
		{"table", func() *nn.Network { return residual(8) }, "table"},
		{"winograd", func() *nn.Network { return residual(8) }, "winograd"},
		{"winograd", func() *nn.Network { return perceptron }, "direct"},
	} {
		t.Run(c.use+" "+c.want, func(t *testing.T) {
			nn.Use(t, nn.Engine{Convolution: c.use})
			if got := c.net().ConvolutionsUsed(); got != c.want {
				t.Errorf("%s; want %s", got, c.want)
			}
		})
	}
}

// TestWorkspaceRefuses: what would give wrong numbers panics.
func TestWorkspaceRefuses(t *testing.T) {
	c := networks(t)[0]
	ws := c.net.NewWorkspace(1)
	defer ws.Close()
	x, d := c.x, tensor.New(c.x.Dim(0), c.net.Info().Outputs)
	refused := func(what string, call func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: want a panic", what)
			}
		}()
		call()
	}
	refused("backward before forward", func() { ws.Backward(d) })
	c.net.Forward(ws, x, nn.Train)
	if err := c.net.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{x}, Loss: objectiveOf}); err != nil {
		t.Fatal(err)
	}
	refused("backward after Accumulate", func() { ws.Backward(d) })
	refused("features after Accumulate", func() { ws.Features() })
	if err := c.net.Accumulate(ws, nn.Accumulation{Batches: nil, Loss: objectiveOf}); err != nil {
		t.Error(err)
	}
	other := "direct"
	if c.net.ConvolutionsUsed() == other {
		other = "winograd"
	}
	nn.Use(t, nn.Engine{Convolution: other})
	stranger, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 10, NF: 20}, rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	refused("a network of another algorithm", func() { stranger.Predict(ws, x) })
}
