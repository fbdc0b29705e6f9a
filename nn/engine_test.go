package nn_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"ocl/internal/kernel"
	"ocl/internal/samebits"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// everything runs all that a network, its workspace and its optimisers do through some steps of training, and returns
// the bits of all that comes of it. between is called between the steps.
func everything(t *testing.T, e nn.Engine, between func()) []byte {
	t.Helper()
	c := arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 5, NF: 8, Engine: e}
	net, err := arch.ResNet18(c, rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	ws := net.NewWorkspace(2)
	defer ws.Close()
	beside := ws.Beside()
	var bits []byte
	keep := func(x []float32) {
		for _, v := range x {
			bits = binary.LittleEndian.AppendUint32(bits, math.Float32bits(v))
		}
	}
	batches := []*tensor.Tensor{images(3, 3, 32, 32, 1), images(2, 3, 32, 32, 2)}
	part := make([]float32, len(net.Params()))
	for i, opt := range []optim.Optimizer{
		optim.SGD{LR: 0.01}.New(), optim.SGD{LR: 0.01, Momentum: 0.9, WeightDecay: 1e-3}.New(),
		optim.Adam{LR: 1e-3}.New(), optim.Adam{LR: 1e-3, WeightDecay: 1e-3}.New(),
	} {
		clear(net.Grads())
		if i%2 == 0 {
			err = net.Accumulate(ws, nn.Accumulation{Batches: batches, Loss: objectiveOf})
		} else {
			err = net.Accumulate(ws, nn.Accumulation{Batches: batches, Apart: [][]float32{part}, Loss: objectiveOf})
			dot := ws.Dot(net.Grads(), part)
			keep([]float32{float32(dot), float32(dot - float64(float32(dot)))})
			ws.AddScaled(net.Grads(), part, 0.3)
		}
		if err != nil {
			t.Fatal(err)
		}
		optim.ClipNorm(net, ws, 0.5)
		between()
		ahead := net.Clone()
		ahead.StepFrom(ws, net, 0.01)
		keep(ahead.Params())
		now, then := net.ForwardPair(ws, ahead, batches[0], nn.BatchOnly)
		keep(now.Data)
		keep(then.Data)
		opt.Step(net, ws)
		teacher := net.Clone()
		keep(teacher.Forward(beside, batches[1], nn.BatchOnly).Data)
		cosines := make([]float64, 2)
		ws.Cosines(cosines, net.Params(), slices.Concat(net.Grads(), part), len(part))
		keep([]float32{float32(cosines[0]), float32(cosines[0] - float64(float32(cosines[0]))), float32(cosines[1])})
		between()
	}
	d := tensor.New(3, 5)
	objective(net.Forward(ws, batches[0], nn.Train), d)
	ws.Backward(d)
	opt := optim.SGD{LR: 0.01}.New()
	opt.Step(net, nil)
	objective(net.Forward(ws, batches[0], nn.Eval), d)
	samples := make([]float32, 3*len(net.Params()))
	ws.BackwardPerSample(d, samples)
	keep(samples)
	keep(net.Predict(ws, batches[0]).Features.Data)
	keep(net.Predict(ws, batches[0]).Logits.Data)
	keep(net.Params())
	keep(net.Running())
	return bits
}

// TestEngineOfANetwork: a network with a chosen engine gives the bits of a process in which that engine is in use,
// whatever else is in use and changes between two steps, and networks of other engines may work beside it.
func TestEngineOfANetwork(t *testing.T) {
	if len(nn.Kernels()) == 1 {
		t.Skip("the machine has one kernel set")
	}
	fastest, slowest := nn.Kernels()[0], nn.Kernels()[1]
	want := map[string][]byte{}
	for _, name := range []string{fastest, slowest} {
		t.Run(name+" in use", func(t *testing.T) {
			nn.Use(t, nn.Engine{Kernel: name})
			want[name] = everything(t, nn.Engine{}, func() {})
		})
	}
	if slices.Equal(want[fastest], want[slowest]) {
		t.Fatal("both sets give the same bits: the test shows nothing")
	}
	for name, other := range map[string]string{fastest: slowest, slowest: fastest} {
		t.Run(name+" where "+other+" is in use", func(t *testing.T) {
			nn.Use(t, nn.Engine{Kernel: other})
			if got := everything(t, nn.Engine{Kernel: name}, func() {}); !slices.Equal(got, want[name]) {
				t.Error("other bits than where it is in use")
			}
		})
	}
	t.Run("chosen by nobody", func(t *testing.T) {
		nn.Use(t, nn.Engine{Kernel: fastest})
		got := everything(t, nn.Engine{}, func() { nn.Use(t, nn.Engine{Kernel: slowest}) })
		if !slices.Equal(got, want[fastest]) {
			t.Error("a set that comes into use later changes a network that was there before")
		}
	})
}

// TestVectorsOfAWorkspace: work on vectors uses the kernels of the network that made the workspace or, in a workspace
// of Beside, of the first network in it, and not those of the process. The kernel sets give different bits, so the test
// can tell. A network with other kernels is refused.
func TestVectorsOfAWorkspace(t *testing.T) {
	if len(nn.Kernels()) == 1 {
		t.Skip("the machine has one kernel set")
	}
	fastest, slowest := nn.Kernels()[0], nn.Kernels()[1]
	build := func(name string) *nn.Network {
		net, err := arch.MLP(arch.Config{Channels: 3, Height: 5, Width: 4, Classes: 6, Hidden: []int{9},
			Engine: nn.Engine{Kernel: name}}, rng.New(1, "net"))
		if err != nil {
			t.Fatal(err)
		}
		return net
	}
	const n = 40000
	a, b := noise(1, n), noise(2, n)
	vectors := func(ws *nn.Workspace) (bits []uint64) {
		bits = append(bits, math.Float64bits(ws.Dot(a, b)))
		sum := slices.Clone(a)
		ws.AddScaled(sum, b, 0.3)
		for _, v := range sum {
			bits = append(bits, uint64(math.Float32bits(v)))
		}
		cosines := make([]float64, 4)
		ws.Cosines(cosines, a, b, n/2)
		for _, v := range cosines {
			bits = append(bits, math.Float64bits(v))
		}
		return bits
	}
	fast, slow := build(fastest), build(slowest)
	want := map[*nn.Network][]uint64{}
	for _, net := range []*nn.Network{fast, slow} {
		t.Run(net.Info().Engine.Kernel+" in use", func(t *testing.T) {
			nn.Use(t, nn.Engine{Kernel: net.Info().Engine.Kernel})
			ws := net.NewWorkspace(2)
			defer ws.Close()
			want[net] = vectors(ws)
		})
	}
	if slices.Equal(want[fast], want[slow]) {
		t.Fatal("both sets give the same bits: the test shows nothing")
	}
	for own, other := range map[*nn.Network]*nn.Network{fast: slow, slow: fast} {
		t.Run(own.Info().Engine.Kernel+" where "+other.Info().Engine.Kernel+" is in use", func(t *testing.T) {
			nn.Use(t, nn.Engine{Kernel: other.Info().Engine.Kernel})
			ws := own.NewWorkspace(2)
			defer ws.Close()
			x := randomImages(own, 2)
			if !slices.Equal(vectors(ws), want[own]) {
				t.Error("a fresh workspace gives other bits")
			}
			mustPanic(t, "a network of other kernels", func() { other.Predict(ws, x) }, "kernel set "+own.Info().Engine.Kernel,
				"kernel set "+other.Info().Engine.Kernel)
			own.Predict(ws, x)
			beside := ws.Beside()
			other.Predict(beside, x)
			if !slices.Equal(vectors(beside), want[other]) || !slices.Equal(vectors(ws), want[own]) {
				t.Error("a workspace beside, of a network of other kernels, gives other bits")
			}
		})
	}
}

// TestAlgorithmOfANetwork is the same for the algorithm of convolutions.
func TestAlgorithmOfANetwork(t *testing.T) {
	nn.Use(t, nn.Engine{Convolution: "direct"})
	want := everything(t, nn.Engine{}, func() {})
	nn.Use(t, nn.Engine{Convolution: "winograd"})
	if got := everything(t, nn.Engine{Convolution: "direct"}, func() {}); !slices.Equal(got, want) {
		t.Error("direct, chosen where winograd is in use, gives other bits than where direct is in use")
	}
	if slices.Equal(everything(t, nn.Engine{}, func() {}), want) {
		t.Error("both algorithms give the same bits: the test shows nothing")
	}
}

// TestSetsOfTheSameBits: where a machine lacks a set, one with its bits stands in, and the network says which.
func TestSetsOfTheSameBits(t *testing.T) {
	here := nn.Kernels()
	for _, name := range append(nn.AllKernels(), "neon", "sve") {
		stand := name
		if i := slices.IndexFunc(here, func(s string) bool { return samebits.Same(s, name) }); i >= 0 &&
			!slices.Contains(here, name) {
			stand = here[i]
		}
		e := nn.Engine{Kernel: name}
		if err := e.Check(); err != nil {
			if slices.Contains(here, stand) {
				t.Errorf("%s, in whose place stands %s: %v", name, stand, err)
			}
			continue
		}
		net, err := arch.MLP(arch.Config{Channels: 1, Height: 4, Width: 4, Classes: 2, Hidden: []int{3}, Engine: e},
			rng.New(1, "net"))
		if err != nil || net.Info().Engine.Kernel != stand {
			t.Errorf("a network for the %s kernels has %v (%v), want %s", name, net.Info().Engine, err, stand)
		}
	}
}

// TestSumsOfTheSameBits: sets with the same bits cut sums at the same places. Everything in this package that decides
// by a set goes by its Lanes and NarrowOuts, or moves no sum.
func TestSumsOfTheSameBits(t *testing.T) {
	for _, name := range nn.AllKernels() {
		own, other := kernel.Named(name), kernel.Named(samebits.Of(name))
		if own.Lanes != other.Lanes || own.NarrowOuts != other.NarrowOuts {
			t.Errorf("%s, which has the bits of %s, sums otherwise: %+v and %+v", own.Name, other.Name, own, other)
		}
	}
}

// TestEngineIsKept: a network and its copies say how they compute.
func TestEngineIsKept(t *testing.T) {
	last := nn.Kernels()[len(nn.Kernels())-1]
	want := nn.Engine{Kernel: last, Convolution: "direct"}
	net, err := arch.MLP(arch.Config{Channels: 1, Height: 4, Width: 4, Classes: 2, Hidden: []int{3}, Engine: want},
		rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	if last != "generic" || net.Info().Engine != want || net.Clone().Info().Engine != want {
		t.Errorf("engine %v, of a clone %v; want %v", net.Info().Engine, net.Clone().Info().Engine, want)
	}
	net, err = arch.MLP(arch.Config{Channels: 1, Height: 4, Width: 4, Classes: 2, Hidden: []int{3}}, rng.New(1, "net"))
	if err != nil || net.Info().Engine != nn.DefaultEngine() {
		t.Errorf("engine %v (%v), want the default %v", net.Info().Engine, err, nn.DefaultEngine())
	}
}

// TestEngineRefuses: an error says what this machine has.
func TestEngineRefuses(t *testing.T) {
	for _, c := range []struct {
		e    nn.Engine
		want []string
	}{
		{nn.Engine{Kernel: "sve"}, append([]string{`nn: this machine cannot run "sve". Use one of `}, nn.Kernels()...)},
		{nn.Engine{Convolution: "fft"},
			[]string{`nn: algorithm of convolutions "fft" is unknown. Use direct, winograd or table`}},
	} {
		_, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 5, NF: 8, Engine: c.e},
			rng.New(1, "net"))
		for _, part := range c.want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v: error %v, want one with %q", c.e, err, part)
			}
		}
		if err := c.e.Check(); err == nil {
			t.Errorf("%v: checked without an error", c.e)
		}
	}
	if err := (nn.Engine{}).Check(); err != nil {
		t.Error(err)
	}
}

// TestEngineOfEnvironment: what nobody set is empty.
func TestEngineOfEnvironment(t *testing.T) {
	t.Setenv("OCL_KERNEL", "generic")
	t.Setenv("OCL_CONV", "")
	if got, want := nn.EngineOfEnvironment(), (nn.Engine{Kernel: "generic"}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestWrongEnvironment: if the environment names an unknown engine, building a network without an explicit engine is an
// error, and DefaultEngine panics. Both messages list the engines that exist. An explicit engine works.
func TestWrongEnvironment(t *testing.T) {
	build := func(e nn.Engine) (*nn.Network, error) {
		return arch.MLP(arch.Config{Channels: 1, Height: 4, Width: 4, Classes: 2, Hidden: []int{3}, Engine: e},
			rng.New(1, "net"))
	}
	if os.Getenv("OCL_TEST_CHILD") != "" {
		_, err := build(nn.Engine{})
		fmt.Println("error:", err)
		_, err = build(nn.Engine{Kernel: "generic", Convolution: "direct"})
		fmt.Println("chosen:", err)
		defer func() { fmt.Println("panic:", recover()) }()
		fmt.Println("default:", nn.DefaultEngine())
		return
	}
	for variable, want := range map[string]string{
		"OCL_KERNEL=avx513": `kernel: OCL_KERNEL: this machine cannot run "avx513". Use one of ` + strings.Join(nn.Kernels(),
			", ") + ", or unset it to use the fastest",
		"OCL_CONV=fourier": `nn: OCL_CONV: "fourier" is unknown. Use direct, winograd or table, or unset the variable`,
	} {
		c := exec.Command(os.Args[0], "-test.run=^TestWrongEnvironment$")
		c.Env = append(os.Environ(), "OCL_TEST_CHILD=1", "OCL_KERNEL=", "OCL_CONV=", variable)
		out, err := c.CombinedOutput()
		if wanted := "error: " + want + "\nchosen: <nil>\npanic: " + want + "\n"; err != nil ||
			!strings.HasPrefix(string(out), wanted) {
			t.Errorf("%s: %v, %s, want %s", variable, err, out, wanted)
		}
	}
}
