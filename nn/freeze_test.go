package nn_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/rng"
)

// warm gives batch norms running statistics that are not those of a new network.
func warm(net *nn.Network, x *tensor.Tensor) {
	ws := net.NewWorkspace(1)
	defer ws.Close()
	for range 3 {
		net.Forward(ws, x, nn.Train)
	}
}

func freeze(t *testing.T, net *nn.Network, stages int) {
	t.Helper()
	if err := net.Freeze(stages, false); err != nil {
		t.Fatal(err)
	}
}

// TestStages: each network says what can be frozen, and refuses more.
func TestStages(t *testing.T) {
	for _, c := range networks(t) {
		want := []string{"stem", "layer1", "layer2", "layer3", "layer4"}
		switch {
		case strings.HasPrefix(c.name, "mlp with a projection"):
			want = []string{"hidden.0"}
		case strings.HasPrefix(c.name, "mlp"):
			want = []string{"hidden.0", "hidden.1"}
		case strings.HasPrefix(c.name, "linear"):
			want = nil
		}
		if got := c.net.Info().Stages; !slices.Equal(got, want) {
			t.Errorf("%s: stages %q, want %q", c.name, got, want)
		}
		err := c.net.Freeze(len(want)+1, false)
		if err == nil || !strings.Contains(err.Error(), strings.Join(want, ", ")) || c.net.Info().Frozen.Params != 0 {
			t.Errorf("%s: one stage too many: %v, %d parameters frozen", c.name, err, c.net.Info().Frozen.Params)
		}
		if err := c.net.Freeze(-1, false); err == nil {
			t.Errorf("%s: -1 stages are frozen", c.name)
		}
	}
	b, err := nn.NewBuilder(3, 16, 16, nn.Engine{}, rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	b.Stem("conv1", "bn1", 4)
	b.Block("layer1.0", 4, 1)
	if err := b.AvgPool(4); err != nil {
		t.Fatal(err)
	}
	b.Linear("hidden", 5, true)
	if err := b.Head("linear", nn.Head{}, 3); err != nil {
		t.Fatal(err)
	}
	net, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := net.Info().Stages, []string{"conv1", "layer1.0", "hidden"}; !slices.Equal(got, want) {
		t.Errorf("stages of a builder that names none: %q, want %q", got, want)
	}
}

// TestFrozenGradients: with the frozen stages in inference, the gradients of the others are those of the same network
// that is not frozen, wholly in inference; those of frozen stages are 0.
func TestFrozenGradients(t *testing.T) {
	for _, c := range networks(t) {
		warm(c.net, c.x)
		for depth := 1; depth <= len(c.net.Info().Stages); depth++ {
			run := func(net *nn.Network) (logits, grads []float32) {
				ws := net.NewWorkspace(2)
				defer ws.Close()
				l := net.Forward(ws, c.x, nn.Eval)
				d := tensor.New(c.x.Dim(0), net.Info().Outputs)
				objective(l, d)
				logits = slices.Clone(l.Data)
				clear(net.Grads())
				ws.Backward(d)
				return logits, slices.Clone(net.Grads())
			}
			whole := c.net.Clone()
			frozen := c.net.Clone()
			freeze(t, frozen, depth)
			wantLogits, want := run(whole)
			logits, got := run(frozen)
			for i, v := range wantLogits {
				if !(math.Abs(float64(logits[i]-v)) <= 1e-4*(1+math.Abs(float64(v)))) {
					t.Fatalf("%s, %d stages: logit %d is %v, want %v", c.name, depth, i, logits[i], v)
				}
			}
			n := frozen.Info().Frozen.Params
			if n == 0 || n >= len(got) {
				t.Fatalf("%s: %d of %d parameters are frozen", c.name, n, len(got))
			}
			for i, g := range got[:n] {
				if g != 0 {
					t.Fatalf("%s, %d stages: the gradient of the frozen parameter %d is %v", c.name, depth, i, g)
				}
			}
			distance, length := 0.0, 0.0
			for i, g := range got[n:] {
				e := float64(g - want[n+i])
				distance += e * e
				length += float64(want[n+i]) * float64(want[n+i])
			}
			if !(math.Sqrt(distance) <= 1e-4*math.Sqrt(length)) || length == 0 {
				t.Errorf("%s, %d stages: gradients of length %v differ by %v", c.name, depth, math.Sqrt(length),
					math.Sqrt(distance))
			}
		}
	}
}

// TestFrozenPerceptronGradients compares the gradients of what is not frozen with central differences.
func TestFrozenPerceptronGradients(t *testing.T) {
	for _, c := range networks(t)[3:6] {
		freeze(t, c.net, 1)
		ws := c.net.NewWorkspace(1)
		defer ws.Close()
		d := tensor.New(c.x.Dim(0), c.net.Info().Outputs)
		objective(c.net.Forward(ws, c.x, nn.Train), d)
		clear(c.net.Grads())
		ws.Backward(d)
		for i := c.net.Info().Frozen.Params; i < len(c.net.Params()); i += 17 {
			const h = 1.0 / 4096
			v := c.net.Params()
			old := v[i]
			eval := func(x float32) float64 {
				v[i] = x
				c.net.Changed()
				return objective(c.net.Forward(ws, c.x, nn.Train), nil)
			}
			num := (eval(old+h) - eval(old-h)) / (2 * h)
			v[i] = old
			c.net.Changed()
			if tol := 0.01*math.Abs(num) + 0.01; !(math.Abs(num-float64(c.net.Grads()[i])) <= tol) {
				t.Errorf("%s: parameter %d: gradient %g, central difference %g", c.name, i, c.net.Grads()[i], num)
			}
		}
	}
}

// TestFrozenStagesInfer: in every way in which a network runs, the frozen stages normalise with the running statistics
// and leave them alone, for any number of workers with the same bits.
func TestFrozenStagesInfer(t *testing.T) {
	for _, c := range networks(t)[:2] {
		warm(c.net, c.x)
		for depth := 1; depth <= len(c.net.Info().Stages); depth++ {
			type outcome struct{ grads, running, own, other []float32 }
			var first outcome
			for _, workers := range []int{1, 2, 3} {
				net := c.net.Clone()
				freeze(t, net, depth)
				ws := net.NewWorkspace(workers)
				defer ws.Close()
				loss := func(_ int, l, d *tensor.Tensor) error { objective(l, d); return nil }
				y := images(2, c.x.Dim(1), c.x.Dim(2), c.x.Dim(3), 6)
				clear(net.Grads())
				if err := net.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{c.x, y}, Loss: loss}); err != nil {
					t.Fatal(err)
				}
				if err := net.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{c.x, y},
					Joint: func(l, d []*tensor.Tensor) error {
						objective(l[0], d[0])
						objective(l[1], d[1])
						return nil
					}}); err != nil {
					t.Fatal(err)
				}
				own, other := net.ForwardPair(ws, net.Clone(), c.x, nn.Train)
				got := outcome{slices.Clone(net.Grads()), slices.Clone(net.Running()), slices.Clone(own.Data),
					slices.Clone(other.Data)}
				still := 0
				for _, s := range net.Info().Statistics {
					name, _, _ := strings.Cut(s.Name, ".")
					stage := map[string]int{"bn1": 1, "layer1": 2, "layer2": 3, "layer3": 4, "layer4": 5}[name]
					moved := !slices.Equal(got.running[s.Offset:][:s.Out], c.net.Running()[s.Offset:][:s.Out])
					if moved == (stage <= depth) {
						t.Errorf("%s, %d stages: %s moved: %v", c.name, depth, s.Name, moved)
					}
					if !moved {
						still++
					}
				}
				if still == 0 {
					t.Errorf("%s, %d stages: all statistics move", c.name, depth)
				}
				if workers == 1 {
					first = got
					continue
				}
				if !slices.Equal(got.grads, first.grads) || !slices.Equal(got.running, first.running) ||
					!slices.Equal(got.own, first.own) || !slices.Equal(got.other, first.other) {
					t.Errorf("%s, %d stages: %d workers give other bits than one", c.name, depth, workers)
				}
			}
		}
	}
}

// TestFreezingCountsLess: a backward pass counts the layers that it goes through, and a workspace is for one depth.
func TestFreezingCountsLess(t *testing.T) {
	c := networks(t)[0]
	last := int64(0)
	for depth := len(c.net.Info().Stages); depth >= 0; depth-- {
		net := c.net.Clone()
		freeze(t, net, depth)
		ws := net.NewWorkspace(1)
		defer ws.Close()
		if err := net.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{c.x},
			Loss: func(_ int, l, d *tensor.Tensor) error { objective(l, d); return nil }}); err != nil {
			t.Fatal(err)
		}
		if ws.FLOPs() <= last {
			t.Errorf("%d stages: %d operations, and %d with one more", depth, ws.FLOPs(), last)
		}
		if last = ws.FLOPs(); depth == 0 && last != 3*3*net.Info().FLOPs {
			t.Errorf("%d operations for three images, want 9 times %d", last, net.Info().FLOPs)
		}
		func() {
			defer func() {
				if r := recover(); (r != nil) != (depth > 0) {
					t.Errorf("a workspace of %d frozen stages, used with none: %v", depth, r)
				}
			}()
			c.net.Forward(ws, c.x, nn.Eval)
		}()
	}
}

// TestFrozenStagesAreThoseOfPrediction: with all stages frozen, the logits are those of a prediction in every mode.
func TestFrozenStagesAreThoseOfPrediction(t *testing.T) {
	for _, c := range networks(t)[:3] {
		warm(c.net, c.x)
		freeze(t, c.net, len(c.net.Info().Stages))
		ws := c.net.NewWorkspace(2)
		defer ws.Close()
		want := slices.Clone(c.net.Predict(ws, c.x).Logits.Data)
		for _, mode := range []nn.Mode{nn.Train, nn.BatchOnly, nn.Eval} {
			for i, v := range c.net.Forward(ws, c.x, mode).Data {
				if !(math.Abs(float64(v-want[i])) <= 1e-5*(1+math.Abs(float64(want[i])))) {
					t.Errorf("%s, mode %d: logit %d is %v, and predicted %v", c.name, mode, i, v, want[i])
				}
			}
		}
	}
}

// TestFreezeEndsWorkspaces: a workspace that was used before a Freeze has passes of another shape, and refuses the
// network. One that was not used serves it.
func TestFreezeEndsWorkspaces(t *testing.T) {
	for _, latent := range []bool{false, true} {
		net := averaged(t, 32, 32, 2)
		x, d := randomImages(net, 2), tensor.New(2, 5)
		fresh, used, between := net.NewWorkspace(1), net.NewWorkspace(1), net.NewWorkspace(1)
		reader := net.Readers(1, 1)[0]
		for _, ws := range []*nn.Workspace{fresh, used, between, reader} {
			defer ws.Close()
		}
		beside := used.Beside()
		net.Predict(beside, x)
		net.Predict(used, x)
		used.Backward(net.Forward(used, x, nn.Train))
		net.Forward(between, x, nn.Eval)
		if err := net.Freeze(1, latent); err != nil {
			t.Fatal(err)
		}
		mustPanic(t, "Backward of a Forward before Freeze", func() { between.Backward(d) }, "1 frozen stage", "workspace")
		for what, ws := range map[string]*nn.Workspace{"used": used, "beside": beside, "reader": reader} {
			mustPanic(t, what+": Predict", func() { net.Predict(ws, x) }, "1 frozen stage", "workspace")
			if !latent {
				mustPanic(t, what+": Forward", func() { net.Forward(ws, x, nn.Train) }, "workspace")
			}
		}
		net.Predict(fresh, x)
	}
}
