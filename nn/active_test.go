package nn_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ocl/checkpoint"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
)

// activeConfigs are a residual network and perceptrons.
var activeConfigs = []arch.Config{{Channels: 3, Height: 26, Width: 27, NF: 2},
	{Channels: 1, Height: 3, Width: 5, Hidden: []int{7, 19}},
	{Channels: 1, Height: 3, Width: 5, Hidden: []int{7, 19}, Head: nn.Head{Kind: nn.CosineHead}}}

// columns are the first k of each row of [B,K].
func columns(x *tensor.Tensor, k int) (v []float32) {
	for i := range x.Dim(0) {
		v = append(v, x.Row(i)[:k]...)
	}
	return v
}

// ofClasses says for each parameter of a network whether it belongs to an output from first to limit-1.
func ofClasses(net *nn.Network, first, limit int) []bool {
	is := make([]bool, len(net.Params()))
	for _, p := range net.Info().Named {
		if p.Name != "linear.weight" && p.Name != "linear.bias" {
			continue
		}
		for i := range p.Len() {
			is[p.Offset+i] = i%p.Out >= first && i%p.Out < limit
		}
	}
	return is
}

// TestActiveOutputs: every kind of pass gives the first columns of the logits of a network without inactive outputs,
// and the gradients of one whose further logits have none.
func TestActiveOutputs(t *testing.T) {
	const all, k = 7, 3
	for _, c := range activeConfigs {
		whole, net := grown(t, c, 1, all), grown(t, c, 1, all)
		net.SetActive(k)
		if net.Info().Classes != k || net.Info().Capacity != all || whole.Info().Classes != all ||
			whole.Info().Capacity != all {
			t.Fatalf("%d of %d active, and %d of %d", net.Info().Classes, net.Info().Capacity, whole.Info().Classes,
				whole.Info().Capacity)
		}
		x, y := images(3, c.Channels, c.Height, c.Width, 1), images(2, c.Channels, c.Height, c.Width, 2)
		for _, workers := range []int{1, 2} {
			a, b := whole.NewWorkspace(workers), net.NewWorkspace(workers)
			defer a.Close()
			defer b.Close()
			check := func(what string, whole, active *tensor.Tensor) {
				t.Helper()
				if active.Dim(1) != k || !sameBits(active.Data, columns(whole, k)) {
					t.Errorf("%s, %d workers: logits %v are not the first columns of all", what, workers, active.Shape)
				}
			}
			check("predicted", whole.Predict(a, x).Logits, net.Predict(b, x).Logits)
			check("predicted with features", whole.Predict(a, x).Logits, net.Predict(b, x).Logits)
			reader := net.Readers(1, workers)[0]
			check("read", whole.Predict(a, x).Logits, net.Predict(reader, x).Logits)
			reader.Close()
			now, then := whole.ForwardPair(a, whole.Clone(), x, nn.BatchOnly)
			nowActive, thenAll := net.ForwardPair(b, whole.Clone(), x, nn.BatchOnly)
			check("forward beside", now, nowActive)
			if !sameBits(then.Data, thenAll.Data) {
				t.Errorf("forward beside, %d workers: logits of the network without inactive outputs differ", workers)
			}
			gradients := func(what string, run func(net *nn.Network, ws *nn.Workspace) []float32) {
				t.Helper()
				p, q := whole.Clone(), net.Clone()
				if !sameBits(run(p, a), run(q, b)) || !sameBits(p.Running(), q.Running()) {
					t.Errorf("%s, %d workers: gradients or running statistics differ from those of a network whose other logits have none",
						what, workers)
				}
				for i, inactive := range ofClasses(q, k, all) {
					if inactive && q.Grads()[i] != 0 {
						t.Fatalf("%s, %d workers: gradient %d of an inactive output is %v", what, workers, i, q.Grads()[i])
					}
				}
			}
			loss := func(_ int, z, d *tensor.Tensor) error {
				active, g := tensor.Of(columns(z, k), z.Dim(0), k), tensor.New(z.Dim(0), k)
				objective(active, g)
				clear(d.Data)
				for i := range z.Dim(0) {
					copy(d.Row(i), g.Row(i))
				}
				return nil
			}
			gradients("forward and backward", func(net *nn.Network, ws *nn.Workspace) []float32 {
				full := whole.Clone() // leaves gradients of all logits in the buffer
				ws.Backward(full.Forward(ws, x, nn.Train))
				z := net.Forward(ws, x, nn.Train)
				d := tensor.New(z.Shape...)
				if err := loss(0, z, d); err != nil {
					t.Fatal(err)
				}
				ws.Backward(d)
				return net.Grads()
			})
			gradients("accumulated", func(net *nn.Network, ws *nn.Workspace) []float32 {
				if err := net.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{x, y}, Loss: loss}); err != nil {
					t.Fatal(err)
				}
				return net.Grads()
			})
			gradients("together", func(net *nn.Network, ws *nn.Workspace) []float32 {
				if err := net.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{y, x},
					Joint: func(z, d []*tensor.Tensor) error {
						for i := range z {
							if err := loss(i, z[i], d[i]); err != nil {
								return err
							}
						}
						return nil
					}}); err != nil {
					t.Fatal(err)
				}
				return net.Grads()
			})
			gradients("by sample", func(net *nn.Network, ws *nn.Workspace) []float32 {
				z := net.Forward(ws, x, nn.Eval)
				d := tensor.New(z.Shape...)
				samples := make([]float32, 3*len(net.Params()))
				if err := loss(0, z, d); err != nil {
					t.Fatal(err)
				}
				ws.BackwardPerSample(d, samples)
				return samples
			})
		}
	}
}

// TestNewClassMovesNoBit: a network in which a class becomes active between steps, without a gradient of its own, goes
// on with the bits of one in which none does, by every optimiser, and the parameters of the new class are as drawn.
func TestNewClassMovesNoBit(t *testing.T) {
	const all, k = 7, 3
	for _, c := range activeConfigs {
		for name, settings := range map[string]optim.Settings{
			"sgd": optim.SGD{LR: 0.05, WeightDecay: 0.1}, "momentum": optim.SGD{LR: 0.05, WeightDecay: 0.1, Momentum: 0.9},
			"adam": optim.Adam{LR: 0.01, WeightDecay: 0.1},
		} {
			x := images(3, c.Channels, c.Height, c.Width, 1)
			drawn := grown(t, c, 1, all)
			train := func(newAt, steps int) *nn.Network {
				net, opt := grown(t, c, 1, all), settings.New()
				ws := net.NewWorkspace(2)
				defer ws.Close()
				net.SetActive(k)
				for step := range steps {
					if step == newAt {
						net.SetActive(k + 1)
					}
					z := net.Forward(ws, x, nn.Train)
					old, g, d := tensor.Of(columns(z, k), 3, k), tensor.New(3, k), tensor.New(z.Shape...)
					objective(old, g)
					for i := range 3 {
						copy(d.Row(i), g.Row(i))
					}
					clear(net.Grads())
					ws.Backward(d)
					opt.Step(net, ws)
				}
				return net
			}
			never, late := train(-1, 4), train(2, 4)
			before := train(2, 2)
			for i, inactive := range ofClasses(drawn, k, all) {
				if inactive && (before.Params()[i] != drawn.Params()[i] || never.Params()[i] != drawn.Params()[i]) {
					t.Fatalf("%s: parameter %d of an inactive output is %v, and was drawn as %v", name, i, never.Params()[i],
						drawn.Params()[i])
				}
			}
			for i, of := range ofClasses(drawn, k, k+1) {
				if !of && never.Params()[i] != late.Params()[i] {
					t.Fatalf("%s: parameter %d is %v with a new class and %v without", name, i, late.Params()[i], never.Params()[i])
				}
			}
			if slices.Equal(never.Params()[:20], drawn.Params()[:20]) {
				t.Fatalf("%s: nothing was learned", name)
			}
		}
	}
}

// TestInactiveOutputsHaveNoTrace: an output that was active and is no more stays as it is, and begins without momentum
// when it comes back. ClipValue gives it no gradient.
func TestInactiveOutputsHaveNoTrace(t *testing.T) {
	for name, settings := range map[string]optim.Settings{"momentum": optim.SGD{LR: 0.1, Momentum: 0.9},
		"adam": optim.Adam{LR: 0.01}} {
		net, opt := grown(t, activeConfigs[1], 1, 5), settings.New()
		for i := range net.Grads() {
			net.Grads()[i] = 1
		}
		opt.Step(net, nil)
		before := slices.Clone(net.Params())
		clear(net.Grads())
		net.SetActive(4)
		optim.ClipValue(net, nil, 0.5, 9)
		opt.Step(net, nil)
		net.SetActive(5)
		opt.Step(net, nil)
		for i, last := range ofClasses(net, 4, 5) {
			if last && (net.Params()[i] != before[i] || net.Grads()[i] != 0) {
				t.Fatalf("%s: parameter %d moved from %v to %v by the gradient %v", name, i, before[i], net.Params()[i],
					net.Grads()[i])
			}
		}
	}
}

// TestActiveState: the number of active classes is saved, loaded, cloned, copied and inherited; a network on which it
// was never set has no further section, and a number that does not fit is an error.
func TestActiveState(t *testing.T) {
	c := activeConfigs[1]
	bytesOf := func(net *nn.Network) []byte {
		var b bytes.Buffer
		container := checkpoint.NewContainer()
		if err := net.SaveState(container.Encoder()); err != nil {
			t.Fatal(err)
		}
		if _, err := container.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	plain, active := grown(t, c, 1, 6), grown(t, c, 1, 6)
	active.SetActive(4)
	if saved(t, plain).Len("active") >= 0 || saved(t, active).Len("active") < 0 {
		t.Error("a network has the section if and only if SetActive was called")
	}
	other := grown(t, c, 2, 6)
	other.SetActive(1)
	if err := other.LoadState(saved(t, plain)); err != nil || other.Info().Classes != 6 ||
		!bytes.Equal(bytesOf(other), bytesOf(plain)) {
		t.Errorf("a state without the number: %v, %d classes", err, other.Info().Classes)
	}
	if err := other.LoadState(saved(t, active)); err != nil || other.Info().Classes != 4 ||
		!bytes.Equal(bytesOf(other), bytesOf(active)) {
		t.Errorf("a state of 4 active classes: %v, %d classes", err, other.Info().Classes)
	}
	teacher := plain.Clone()
	if teacher.CopyFrom(active); active.Clone().Info().Classes != 4 || teacher.Info().Classes != 4 ||
		teacher.Info().Capacity != 6 {
		t.Errorf("a clone has %d classes and a copy %d, want 4", active.Clone().Info().Classes, teacher.Info().Classes)
	}
	heir, drawn := grown(t, c, 2, 12), grown(t, c, 2, 12)
	heir.Inherit(6)
	if err := heir.LoadState(saved(t, active)); err != nil || heir.Info().Classes != 4 || heir.Info().Capacity != 12 {
		t.Errorf("an heir has %d of %d classes: %v", heir.Info().Classes, heir.Info().Capacity, err)
	}
	heir.SetActive(12)
	a, b := make([]float32, heir.Info().FeatureDim), make([]float32, heir.Info().FeatureDim)
	for y := range 12 {
		from := active
		if y >= 6 {
			from = drawn
		} else if y >= 4 {
			from = plain
		}
		if p, q := nn.HeadRow(heir, a, y), nn.HeadRow(from, b, y); p != q || !slices.Equal(a, b) {
			t.Errorf("row %d of the heir's head is not what it was", y)
		}
	}
	for _, k := range []int{0, -1, 7} {
		mustPanic(t, fmt.Sprint(k), func() { plain.SetActive(k) }, "Activate at least 1 and at most all")
	}
	mustPanic(t, "row of an inactive output", func() { nn.HeadRow(active, b, 4) }, "a logit in [0, 4)")
	container := checkpoint.NewContainer()
	params, seven := plain.Params(), int64(7)
	parts := checkpoint.Parts{checkpoint.List("params", &params), checkpoint.Numbers("running", plain.Running()),
		checkpoint.Values("active", &seven)}
	if err := parts.SaveState(container.Encoder()); err != nil {
		t.Fatal(err)
	}
	if err := active.LoadState(container.Decoder()); err == nil ||
		!strings.Contains(err.Error(), "7 active classes, but the network has 6") || active.Info().Classes != 4 {
		t.Errorf("7 of 6 active: %v, %d classes", err, active.Info().Classes)
	}
}

func TestActiveAllocatesNothing(t *testing.T) {
	for _, workers := range []int{1, 2} {
		net := grown(t, activeConfigs[1], 1, 9)
		ws := net.NewWorkspace(workers)
		defer ws.Close()
		opt := optim.Adam{LR: 1e-3, WeightDecay: 0.1}.New()
		x := images(3, 1, 3, 5, 1)
		batches := []*tensor.Tensor{x, x}
		step := func() {
			clear(net.Grads())
			if err := net.Accumulate(ws, nn.Accumulation{Batches: batches, Loss: objectiveOf}); err != nil {
				t.Fatal(err)
			}
			opt.Step(net, ws)
			net.Predict(ws, x)
		}
		for _, k := range []int{9, 2} { // the optimiser keeps the most with the fewest classes
			net.SetActive(k)
			step()
		}
		if n := testing.AllocsPerRun(3, step); n != 0 {
			t.Errorf("%d workers: %v allocations a step, want 0", workers, n)
		}
		k := 2
		if n := testing.AllocsPerRun(3, func() { k++; net.SetActive(k); step() }); n != 0 {
			t.Errorf("%d workers: %v allocations a step with a new class, want 0", workers, n)
		}
	}
}
