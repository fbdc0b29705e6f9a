package nn_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// mustPanic fails unless call panics with a text that holds all parts.
func mustPanic(t *testing.T, what string, call func(), parts ...string) {
	t.Helper()
	defer func() {
		t.Helper()
		got := fmt.Sprint(recover())
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s: panic %q, want one with %q", what, got, part)
			}
		}
	}()
	call()
}

// averaged is a network for images of h×w with one block of the given stride, pooled to one pixel: its parameters are
// as many for all sizes and strides.
func averaged(t *testing.T, h, w, stride int) *nn.Network {
	t.Helper()
	b, err := nn.NewBuilder(3, h, w, nn.Engine{}, rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	b.Stem("conv1", "bn1", 4)
	b.Block("layer1.0", 8, stride)
	if err := b.AvgPool((min(h, w) + stride - 1) / stride); err != nil {
		t.Fatal(err)
	}
	b.Linear("linear", 5, false)
	return must(b.Build())
}

func perceptron(t *testing.T, c, h, w int, hidden ...int) *nn.Network {
	t.Helper()
	net, err := arch.MLP(arch.Config{Channels: c, Height: h, Width: w, Classes: 5, Hidden: hidden}, rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// TestWorkspaceRefusesOtherShapes: a workspace serves no network whose activations lie otherwise, though it has as many
// parameters, by whichever call it comes.
func TestWorkspaceRefusesOtherShapes(t *testing.T) {
	for _, c := range []struct {
		own, other *nn.Network
		texts      []string
	}{
		{averaged(t, 32, 32, 2), averaged(t, 48, 48, 2), []string{"images of 3×32×32", "images of 3×48×48"}},
		{averaged(t, 48, 48, 2), averaged(t, 32, 32, 2), []string{"images of 3×48×48", "images of 3×32×32"}},
		{averaged(t, 32, 36, 2), averaged(t, 36, 32, 2), []string{"images of 3×32×36", "images of 3×36×32"}},
		{averaged(t, 33, 33, 2), averaged(t, 33, 33, 1), []string{"layer 2: block of 8 channels, stride 2", "stride 1"}},
		{perceptron(t, 3, 4, 5, 7), perceptron(t, 3, 5, 4, 7), []string{"images of 3×4×5", "images of 3×5×4"}},
		{perceptron(t, 1, 2, 3, 4, 13), perceptron(t, 1, 2, 3, 14, 3),
			[]string{"layer 1: linear layer of 4 outputs, with a ReLU", "layer 1: linear layer of 14 outputs"}},
	} {
		if len(c.own.Params()) != len(c.other.Params()) {
			t.Fatalf("%v: %d and %d parameters; the test wants as many", c.texts, len(c.own.Params()), len(c.other.Params()))
		}
		x, y := randomImages(c.own, 2), randomImages(c.other, 2)
		apart := [][]float32{make([]float32, len(c.own.Params()))}
		for _, workers := range []int{1, 2} {
			fresh, used := c.own.NewWorkspace(workers), c.own.NewWorkspace(workers)
			defer fresh.Close()
			defer used.Close()
			c.own.Forward(used, x, nn.Train)
			c.own.Predict(used, x)
			c.own.ForwardPair(used, c.own.Clone(), x, nn.BatchOnly)
			if err := c.own.Accumulate(used, nn.Accumulation{Batches: []*tensor.Tensor{x, x}, Loss: objectiveOf}); err != nil {
				t.Fatal(err)
			}
			for what, call := range map[string]func(ws *nn.Workspace){
				"Forward": func(ws *nn.Workspace) { c.other.Forward(ws, y, nn.Train) },
				"Predict": func(ws *nn.Workspace) { c.other.Predict(ws, y) },
				"Accumulate": func(ws *nn.Workspace) {
					_ = c.other.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{y}, Loss: objectiveOf})
				},
				"Accumulate two": func(ws *nn.Workspace) {
					_ = c.other.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{y, y}, Loss: objectiveOf})
				},
				"Accumulate apart": func(ws *nn.Workspace) {
					_ = c.other.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{y, y}, Apart: apart, Loss: objectiveOf})
				},
				"ForwardPair, first":  func(ws *nn.Workspace) { c.other.ForwardPair(ws, c.own, y, nn.BatchOnly) },
				"ForwardPair, second": func(ws *nn.Workspace) { c.own.ForwardPair(ws, c.other, x, nn.BatchOnly) },
				"StepFrom, to":        func(ws *nn.Workspace) { c.other.StepFrom(ws, c.own, 0.1) },
				"StepFrom, from":      func(ws *nn.Workspace) { c.own.StepFrom(ws, c.other, 0.1) },
				"beside": func(ws *nn.Workspace) {
					beside := ws.Beside()
					c.own.Predict(beside, x)
					c.other.Predict(beside, y)
				},
			} {
				mustPanic(t, what+" in a fresh workspace", func() { call(fresh) }, append(c.texts, "workspace")...)
				mustPanic(t, what+" in a used workspace", func() { call(used) }, append(c.texts, "workspace")...)
			}
		}
		mustPanic(t, "CopyFrom", func() { c.own.CopyFrom(c.other) }, append(c.texts, "CopyFrom")...)
	}
}

// TestWorkspaceServesOneShape: networks of one shape share it, whether copies or built apart, and one beside serves
// another shape.
func TestWorkspaceServesOneShape(t *testing.T) {
	net, twin, other := averaged(t, 32, 32, 2), averaged(t, 32, 32, 2), perceptron(t, 3, 4, 5, 7)
	for i := range twin.Params() {
		twin.Params()[i] *= 0.5
	}
	twin.Changed()
	ws, own := net.NewWorkspace(2), twin.NewWorkspace(2)
	defer ws.Close()
	defer own.Close()
	beside := ws.Beside()
	x, y := randomImages(net, 3), randomImages(other, 3)
	want := slices.Clone(twin.Predict(own, x).Logits.Data)
	net.Predict(ws, x)
	other.Predict(beside, y)
	if !slices.Equal(twin.Predict(ws, x).Logits.Data, want) {
		t.Error("a network gives other logits in a workspace of another one of its shape")
	}
	net.CopyFrom(twin)
	if !slices.Equal(net.Predict(ws, x).Logits.Data, want) {
		t.Error("a copy gives other logits")
	}
}

// TestWorkspaceOfOneForward: a backward pass is that of the network that went forward.
func TestWorkspaceOfOneForward(t *testing.T) {
	net := averaged(t, 32, 32, 2)
	copied := net.Clone()
	ws := net.NewWorkspace(1)
	defer ws.Close()
	x := randomImages(net, 2)
	copied.Forward(ws, x, nn.Eval)
	ws.Backward(net.Forward(ws, x, nn.Eval))
	if zero := make([]float32, len(net.Grads())); slices.Equal(net.Grads(), zero) || !slices.Equal(copied.Grads(), zero) {
		t.Error("the gradients are not those of the network of the last Forward")
	}
}

// TestWorkspaceUsedTwice: a loss or a task that uses the workspace that runs it panics, on one worker as on many, and
// so does what is beside it.
func TestWorkspaceUsedTwice(t *testing.T) {
	net := averaged(t, 32, 32, 2)
	other := net.Clone()
	x := randomImages(net, 2)
	for _, workers := range []int{1, 2, 3} {
		ws := net.NewWorkspace(workers)
		defer ws.Close()
		beside := ws.Beside()
		other.Forward(beside, x, nn.BatchOnly)
		net.ForwardPair(ws, other, x, nn.BatchOnly)
		v := make([]float32, 40000)
		for what, call := range map[string]func(){
			"Dot":            func() { ws.Dot(v, v) },
			"Share":          func() { ws.Share(doing(func() {}), 10) },
			"ShareSum":       func() { ws.ShareSum(doing(func() {}), 10) },
			"Forward beside": func() { other.Forward(beside, x, nn.BatchOnly) },
			"Predict":        func() { net.Predict(ws, x) },
			"StepFrom":       func() { other.StepFrom(ws, net, 0.1) },
			"Close":          func() { ws.Close() },
			"Accumulate again": func() {
				_ = net.Accumulate(ws,
					nn.Accumulation{Batches: []*tensor.Tensor{x}, Loss: objectiveOf})
			},
		} {
			for _, batches := range [][]*tensor.Tensor{{x}, {x, x}} {
				mustPanic(t, fmt.Sprintf("%s in a loss, %d workers, %d batches", what, workers, len(batches)), func() {
					_ = net.Accumulate(ws, nn.Accumulation{Batches: batches, Loss: func(int, *tensor.Tensor, *tensor.Tensor) error {
						call()
						return nil
					}})
				}, "at work")
			}
			mustPanic(t, fmt.Sprintf("%s in a task, %d workers", what, workers), func() { ws.Share(doing(call), 40000) },
				"at work")
		}
		own, _ := net.ForwardPair(ws, other, x, nn.BatchOnly)
		if !slices.Equal(own.Data, net.Forward(ws, x, nn.BatchOnly).Data) {
			t.Errorf("%d workers, afterwards: other scores", workers)
		}
		if err := net.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{x, x}, Loss: objectiveOf}); err != nil {
			t.Errorf("%d workers, afterwards: %v", workers, err)
		}
	}
}

// doing is work that calls a function and sums nothing.
type doing func()

func (d doing) Do(int, int)          { d() }
func (d doing) Sum(int, int) float64 { d(); return 0 }

// TestWorkspaceClose: Close ends all goroutines that passes started, twice is harmless, and a closed workspace panics,
// as does closing one beside another.
func TestWorkspaceClose(t *testing.T) {
	net := averaged(t, 32, 32, 2)
	ahead, x := net.Clone(), randomImages(net, 3)
	d := tensor.New(3, 5)
	before := runtime.NumGoroutine()
	for _, workers := range []int{1, 2, 5, 8} {
		ws := net.NewWorkspace(workers)
		beside := ws.Beside()
		for _, batches := range [][]*tensor.Tensor{{x, x}, {x}, {x, x, x}} { // lanes, no lanes, other lanes
			if err := net.Accumulate(ws, nn.Accumulation{Batches: batches, Loss: objectiveOf}); err != nil {
				t.Fatal(err)
			}
		}
		net.ForwardPair(ws, ahead, x, nn.BatchOnly)
		ahead.Forward(beside, x, nn.BatchOnly)
		ahead.Predict(beside, x)
		net.Predict(ws, x)
		net.Forward(ws, x, nn.Train)
		ws.Backward(d)
		for what, call := range map[string]func(){
			"Close": beside.Close,
			"Accumulate": func() {
				_ = net.Accumulate(beside,
					nn.Accumulation{Batches: []*tensor.Tensor{x}, Loss: objectiveOf})
			},
			"ForwardPair": func() { net.ForwardPair(beside, ahead, x, nn.BatchOnly) },
		} {
			mustPanic(t, what+" beside", call, what, "beside")
		}
		ws.Close()
		ws.Close()
		for what, call := range map[string]func(){
			"Forward":        func() { net.Forward(ws, x, nn.Train) },
			"Forward beside": func() { net.Forward(beside, x, nn.Train) },
			"Backward":       func() { ws.Backward(d) },
			"Predict":        func() { net.Predict(ws, x) },
			"Accumulate": func() {
				_ = net.Accumulate(ws,
					nn.Accumulation{Batches: []*tensor.Tensor{x, x}, Loss: objectiveOf})
			},
			"ForwardPair": func() { net.ForwardPair(ws, ahead, x, nn.BatchOnly) },
			"StepFrom":    func() { ahead.StepFrom(ws, net, 0.1) },
			"Dot":         func() { ws.Dot(net.Params(), net.Params()) },
		} {
			mustPanic(t, fmt.Sprintf("%s after Close, %d workers", what, workers), call, "was closed")
		}
	}
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left, there were %d before", runtime.NumGoroutine(), before)
		}
	}
}

// TestRefusedWorkLeavesTheOther: work that is refused because the workers are at work changes nothing of the work that
// they do.
func TestRefusedWorkLeavesTheOther(t *testing.T) {
	net := averaged(t, 32, 32, 2)
	for _, workers := range []int{1, 2, 3} {
		ws := net.NewWorkspace(workers)
		defer ws.Close()
		outer, inner := &marks{make([]int32, 200_000), func() {}}, &marks{make([]int32, 200_000), func() {}}
		outer.first = func() {
			mustPanic(t, "Share in a task", func() { ws.Share(inner, len(inner.seen)) }, "at work")
			mustPanic(t, "ShareSum in a task", func() { ws.ShareSum(inner, len(inner.seen)) }, "at work")
		}
		ws.Share(outer, len(outer.seen))
		ws.ShareSum(outer, len(outer.seen))
		if i := slices.IndexFunc(outer.seen, func(n int32) bool { return n != 2 }); i >= 0 {
			t.Errorf("%d workers: element %d was worked on %d times, want 2", workers, i, outer.seen[i])
		}
		if slices.Contains(inner.seen, 1) {
			t.Errorf("%d workers: work that was refused was done", workers)
		}
	}
}

// marks is work that counts how often it is done, and does something before.
type marks struct {
	seen  []int32
	first func()
}

func (m *marks) Do(lo, hi int) {
	m.first()
	for i := lo; i < hi; i++ {
		m.seen[i]++
	}
}

func (m *marks) Sum(lo, hi int) float64 { m.Do(lo, hi); return 0 }

// must is what a call returns that cannot fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
