package nn_test

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"ocl/internal/goldentest"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/internal/conv"
	"ocl/nn/tensor"
	"ocl/rng"
)

// golden is a case of testdata/README.md.
type golden struct {
	Format, Size, Batch, Classes, NF, Steps int
	LR                                      float64 `json:"lr"`
	WeightDecay                             float64 `json:"weight_decay"`
	Parameters                              []struct {
		Name  string
		Shape []int
	}
	Loss       []struct{ Value, Tol float64 }
	Quantities []quantity
	values     []float32
	at         map[string]quantity
}

type quantity struct {
	Name           string
	Shape          []int
	Stride, Offset int
	Tol            float64
	Sum            float64
	SumTol         float64 `json:"sum_tol"`
	Norm           float64
	NormTol        float64 `json:"norm_tol"`
}

func readGolden(t *testing.T, size int) *golden {
	t.Helper()
	path := fmt.Sprintf("testdata/resnet18-%d", size)
	head, err := os.ReadFile(path + ".json")
	if err != nil {
		t.Fatal(err)
	}
	g := &golden{at: map[string]quantity{}}
	if err := json.Unmarshal(head, g); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path + ".f32")
	if err != nil {
		t.Fatal(err)
	}
	g.values = make([]float32, len(raw)/4)
	if _, err := binary.Decode(raw, binary.LittleEndian, g.values); err != nil {
		t.Fatal(err)
	}
	for _, q := range g.Quantities {
		g.at[q.Name] = q
	}
	if g.Format != 1 || len(g.Loss) != g.Steps || len(g.Quantities) == 0 {
		t.Fatalf("%s: format %d, %d losses of %d steps, %d quantities", path, g.Format, len(g.Loss), g.Steps,
			len(g.Quantities))
	}
	return g
}

// batch is the images and labels of a step.
func (g *golden) batch(step int) (*tensor.Tensor, []int) {
	x, n := tensor.New(g.Batch, 3, g.Size, g.Size), (g.Size+7)/8
	for i := range x.Data {
		plane, row, col := i/(g.Size*g.Size), i/g.Size%g.Size, i%g.Size
		x.Data[i] = float32(0.75*goldentest.Uniform(3000+step, (plane*n+row/8)*n+col/8) + 0.25*goldentest.Uniform(1000+step, i))
	}
	y := make([]int, g.Batch)
	for i := range y {
		y[i] = int(goldentest.Hash(2000+step, i) % uint64(g.Classes))
	}
	return x, y
}

// start is parameter number i at the start, in PyTorch's order.
func (g *golden) start(i int) []float32 {
	p := g.Parameters[i]
	n, fan := 1, 1
	for axis, d := range p.Shape {
		n *= d
		if axis > 0 {
			fan *= d
		}
	}
	if q, ok := g.at["start/"+p.Name]; ok {
		return g.values[q.Offset : q.Offset+n]
	}
	value := func(v float64) float64 { return 0.3 + float64(0.03*v) }
	switch {
	case p.Name == "linear.bias":
		value = func(v float64) float64 { return 0.1 * v }
	case p.Name == "linear.weight":
		value = func(v float64) float64 { return 0.3 * v / math.Sqrt(float64(fan)) }
	case len(p.Shape) > 1:
		value = func(v float64) float64 { return v / math.Sqrt(float64(fan)) }
	}
	out := make([]float32, n)
	for e := range out {
		out[e] = float32(value(2*goldentest.Uniform(i, e) - 1))
	}
	return out
}

// network builds the case's network with its initial parameters.
func (g *golden) network(t *testing.T) *nn.Network {
	t.Helper()
	net, err := arch.ResNet18(arch.Config{Channels: 3, Height: g.Size, Width: g.Size, Classes: g.Classes, NF: g.NF},
		rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	place := map[string]nn.Param{}
	for _, p := range net.Info().Named {
		place[p.Name] = p
	}
	if len(place) != len(g.Parameters) {
		t.Fatalf("%d parameter tensors, PyTorch has %d", len(place), len(g.Parameters))
	}
	for i, want := range g.Parameters {
		p, ok := place[want.Name]
		src := g.start(i)
		if !ok || p.Len() != len(src) || !slices.Equal(p.Shape(), want.Shape) {
			t.Fatalf("%s: %d elements of shape %v (%v), PyTorch has %d of %v", want.Name, p.Len(), p.Shape(), ok, len(src),
				want.Shape)
		}
		p.FromTorch(net.Params()[p.Offset:][:p.Len()], src)
	}
	net.Changed()
	return net
}

// checker compares quantities with the file and remembers which it has seen.
type checker struct {
	*testing.T
	g      *golden
	seen   map[string]bool
	margin map[string]float64 // share of the tolerance that is used
	wider  float64            // factor of the tolerances
}

// check compares all elements of a quantity, in PyTorch's order, through the stored ones, their sum and their norm.
func (c checker) check(name string, got []float32) {
	c.Helper()
	q, ok := c.g.at[name]
	q.Tol, q.SumTol, q.NormTol = c.wider*q.Tol, c.wider*q.SumTol, c.wider*q.NormTol
	n := 1
	for _, d := range q.Shape {
		n *= d
	}
	if !ok || n != len(got) {
		c.Fatalf("%s: %d elements, the file has %d", name, len(got), n)
	}
	c.seen[name] = true
	sum, norm, worst, where := 0.0, 0.0, 0.0, 0
	for i, v := range got {
		sum += float64(v)
		norm += float64(v) * float64(v)
		if i%q.Stride == 0 {
			d := math.Abs(float64(v) - float64(c.g.values[q.Offset+i/q.Stride]))
			if !(d <= worst) {
				worst, where = d, i
			}
		}
	}
	c.margin[name] = worst / q.Tol
	if !(worst <= q.Tol) {
		c.Errorf("%s: element %d is %g, want %g ± %g", name, where, got[where], c.g.values[q.Offset+where/q.Stride], q.Tol)
	}
	if d := math.Abs(sum - q.Sum); !(d <= q.SumTol) {
		c.Errorf("%s: the sum is %g, want %g ± %g", name, sum, q.Sum, q.SumTol)
	}
	if d := math.Abs(math.Sqrt(norm) - q.Norm); !(d <= q.NormTol) {
		c.Errorf("%s: the norm is %g, want %g ± %g", name, math.Sqrt(norm), q.Norm, q.NormTol)
	}
}

// all compares every tensor of a flat vector.
func (c checker) all(prefix string, list []nn.Param, flat []float32) {
	c.Helper()
	for _, p := range list {
		torch := make([]float32, p.Len())
		p.ToTorch(torch, flat[p.Offset:][:p.Len()])
		c.check(prefix+p.Name, torch)
	}
}

// crossEntropy writes the gradient of the mean cross entropy to d and returns the loss.
func crossEntropy(d, logits *tensor.Tensor, y []int) float64 {
	total := 0.0
	for i, label := range y {
		row, sum := logits.Row(i), 0.0
		for _, l := range row {
			sum += math.Exp(float64(l))
		}
		for k, l := range row {
			p := math.Exp(float64(l)) / sum
			if k == label {
				total -= math.Log(p)
				p--
			}
			d.Row(i)[k] = float32(p / float64(len(y)))
		}
	}
	return total / float64(len(y))
}

// TestGolden repeats ten SGD steps of PyTorch: logits, losses, gradients, running statistics and parameters. Plain Go
// makes the first step of the smallest images, and the slower sets of vector kernels those of larger ones. The
// tolerances come from the distance of float32 runs of PyTorch from a float64 run; those of Winograd's algorithm are
// wider by what conv.TestWinogradRounding measures against float64, and those of plain Go by √2: it rounds every
// product and every sum, where PyTorch's fused multiply-adds round once.
func TestGolden(t *testing.T) {
	for _, size := range []int{32, 84, 128} {
		g := readGolden(t, size)
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			forEachSet(t, func(t *testing.T) {
				steps := g.Steps
				switch {
				case size == 32 && nn.DefaultEngine().Kernel != "generic":
				case nn.DefaultEngine().Kernel == "generic" && size > 32:
					t.Skip("plain Go is slow, and its kernels do not know sizes")
				case nn.DefaultEngine().Kernel == "generic":
					steps = 1
				case nn.DefaultEngine().Kernel != nn.Kernels()[0]:
					steps = 2
				}
				for name, wider := range map[string]float64{"direct": 1, "winograd": conv.WinogradRounding} {
					if nn.DefaultEngine().Kernel == "generic" {
						wider *= math.Sqrt2
					}
					t.Run(name, func(t *testing.T) {
						nn.Use(t, nn.Engine{Convolution: name})
						g.replay(t, steps, wider)
					})
				}
			})
		})
	}
}

func (g *golden) replay(t *testing.T, steps int, wider float64) {
	net, c := g.network(t), checker{t, g, map[string]bool{}, map[string]float64{}, wider}
	ws := net.NewWorkspace(2)
	defer ws.Close()
	opt := optim.SGD{LR: g.LR, WeightDecay: g.WeightDecay}.New()
	d := tensor.New(g.Batch, g.Classes)
	for step := 1; step <= steps; step++ {
		x, y := g.batch(step)
		logits := net.Forward(ws, x, nn.Train)
		if step == 1 {
			c.check("features", ws.Features().Data)
			c.check("logits", logits.Data)
		}
		want := g.Loss[step-1]
		if loss := crossEntropy(d, logits, y); !(math.Abs(loss-want.Value) <= wider*want.Tol) {
			t.Errorf("step %d: the loss is %.9g, want %.9g ± %g", step, loss, want.Value, wider*want.Tol)
		}
		clear(net.Grads())
		ws.Backward(d)
		if step == 1 {
			c.all("grad/", net.Info().Named, net.Grads())
			c.all("state1/", net.Info().Statistics, net.Running())
		}
		opt.Step(net, ws)
		if step == 2 || step == g.Steps {
			prefix := fmt.Sprintf("state%d/", step)
			c.all(prefix, net.Info().Named, net.Params())
			c.all(prefix, net.Info().Statistics, net.Running())
		}
	}
	defer func() {
		most := slices.MaxFunc(slices.Collect(maps.Keys(c.margin)),
			func(a, b string) int { return cmp.Compare(c.margin[a], c.margin[b]) })
		t.Logf("%s uses most of its tolerance: %.0f %%", most, 100*c.margin[most])
	}()
	if steps < g.Steps {
		return
	}
	x, _ := g.batch(g.Steps + 1)
	c.check("eval_logits", net.Forward(ws, x, nn.Eval).Data)
	c.check("eval_logits", net.Predict(ws, x).Logits.Data)
	for _, q := range g.Quantities {
		// nobody asks for the gradient of the images
		if !c.seen[q.Name] && !strings.HasPrefix(q.Name, "start/") && q.Name != "input_grad" {
			t.Errorf("%s: in the file, never compared", q.Name)
		}
	}
}
