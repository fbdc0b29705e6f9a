package nn_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"ocl/checkpoint"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// latentNets calls f with each network and each number of frozen stages: frozen is the network that learns from images,
// latent the one that learns from activations.
func latentNets(t *testing.T, f func(name string, frozen, latent *nn.Network, x *tensor.Tensor)) {
	t.Helper()
	for _, c := range networks(t) {
		if c.name == "resnet 36×27" && testing.Short() {
			continue
		}
		warm(c.net, c.x)
		for depth := 1; depth <= len(c.net.Info().Stages); depth++ {
			frozen, latent := c.net.Clone(), c.net.Clone()
			freeze(t, frozen, depth)
			if err := latent.Freeze(depth, true); err != nil {
				t.Fatal(err)
			}
			f(c.name+", "+c.net.Info().Stages[depth-1], frozen, latent, c.x)
		}
	}
}

// near says whether v is as far from want as rounding explains.
func near(v, want []float32) bool {
	distance, length := 0.0, 0.0
	for i := range want {
		d := float64(v[i] - want[i])
		distance += d * d
		length += float64(want[i]) * float64(want[i])
	}
	return len(v) == len(want) && distance <= 1e-8*length
}

// TestLatentLearns: what a network learns from activations is what it learns from the images of them with the stages
// frozen, in all ways in which it learns, and with the same bits for any number of workers.
func TestLatentLearns(t *testing.T) {
	latentNets(t, func(name string, frozen, latent *nn.Network, x *tensor.Tensor) {
		ws := frozen.NewWorkspace(1)
		defer ws.Close()
		y := images(2, x.Dim(1), x.Dim(2), x.Dim(3), 6)
		start := latent.Clone()
		if err := frozen.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{x, y}, Loss: objectiveOf}); err != nil {
			t.Fatal(err)
		}
		var first, running []float32
		for _, workers := range []int{1, 2, 3} {
			got := start.Clone()
			ws := got.NewWorkspace(workers)
			defer ws.Close()
			a := got.Activations(ws, x).Clone()
			b := got.Activations(ws, y).Clone()
			if g := got.Info().Latent; !slices.Equal(a.Shape, append([]int{x.Dim(0)}, g[:]...)) {
				t.Fatalf("%s: activations %v, and the shape is %v", name, a.Shape, g)
			}
			if err := got.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{a, b}, Loss: objectiveOf}); err != nil {
				t.Fatal(err)
			}
			if !near(got.Grads(), frozen.Grads()) || !near(got.Running(), frozen.Running()) {
				t.Fatalf("%s: gradients or running statistics are not those of learning from images", name)
			}
			if workers == 1 {
				first, running = slices.Clone(got.Grads()), slices.Clone(got.Running())
			} else if !slices.Equal(got.Grads(), first) || !slices.Equal(got.Running(), running) {
				t.Errorf("%s: %d workers give other bits than one", name, workers)
			}
			d := tensor.New(x.Dim(0), got.Info().Outputs)
			for _, mode := range []nn.Mode{nn.Train, nn.BatchOnly, nn.Eval} {
				want := frozen.Clone()
				own := want.NewWorkspace(1)
				defer own.Close()
				net := want.Clone()
				if err := net.Freeze(want.Info().Frozen.Stages, true); err != nil {
					t.Fatal(err)
				}
				logits := want.Forward(own, x, mode)
				if got := net.Forward(ws, a, mode); !near(got.Data, logits.Data) {
					t.Fatalf("%s, mode %d: logits differ", name, mode)
				}
				objective(logits, d)
				clear(want.Grads())
				clear(net.Grads())
				own.Backward(d)
				ws.Backward(d)
				if !near(net.Grads(), want.Grads()) {
					t.Errorf("%s, mode %d: gradients differ", name, mode)
				}
			}
		}
	})
}

// TestLatentPredicts: predictions of images are those of the network that has no stage frozen, also through readers,
// and do not depend on the batch; those of activations are those of their images.
func TestLatentPredicts(t *testing.T) {
	latentNets(t, func(name string, frozen, latent *nn.Network, x *tensor.Tensor) {
		ws := frozen.NewWorkspace(2)
		defer ws.Close()
		out := frozen.Predict(ws, x)
		logits, features := slices.Clone(out.Logits.Data), slices.Clone(out.Features.Data)
		spaces := []*nn.Workspace{latent.NewWorkspace(1), latent.NewWorkspace(3)}
		spaces = append(spaces, latent.Readers(2, 2)...)
		var first []float32
		for i, ws := range spaces {
			defer ws.Close()
			out := latent.Predict(ws, x)
			if !near(out.Logits.Data, logits) || !near(out.Features.Data, features) {
				t.Fatalf("%s, workspace %d: predictions of images are not those of the whole network", name, i)
			}
			if first == nil {
				first = slices.Clone(out.Logits.Data)
			}
			a := latent.Activations(ws, x).Clone()
			if got := latent.Predict(ws, a).Logits.Data; !slices.Equal(got, first) {
				t.Errorf("%s, workspace %d: activations are predicted as %v, their images as %v", name, i, got, first)
			}
			if got := latent.Predict(ws, a).Features.Data; !near(got, features) {
				t.Errorf("%s, workspace %d: the features of activations are not those of their images", name, i)
			}
			for row := range x.Dim(0) {
				one := latent.Activations(ws, x.Rows(row, row+1)).Data
				if !slices.Equal(one, a.Row(row)) {
					t.Errorf("%s, workspace %d: activations of image %d depend on the batch", name, i, row)
				}
			}
		}
	})
}

// TestLatentFollowsItsNetwork: after its frozen parameters have changed, by loading a state or by hand, a network makes
// the activations that belong to them; and its state is that of a network that learns from images.
func TestLatentFollowsItsNetwork(t *testing.T) {
	c := networks(t)[0]
	warm(c.net, c.x)
	if err := c.net.Freeze(3, true); err != nil {
		t.Fatal(err)
	}
	ws := c.net.NewWorkspace(2)
	defer ws.Close()
	before := slices.Clone(c.net.Activations(ws, c.x).Data)
	other := networks(t)[0].net // not warm, and not frozen
	own := other.NewWorkspace(1)
	defer own.Close()
	for i := range other.Params() {
		other.Params()[i] *= 1.25
	}
	other.Changed()
	want := slices.Clone(other.Predict(own, c.x).Logits.Data)
	saved := checkpoint.NewContainer()
	if err := other.SaveState(saved.Encoder()); err != nil {
		t.Fatal(err)
	}
	if err := c.net.LoadState(saved.Decoder()); err != nil {
		t.Fatal(err)
	}
	if got := c.net.Predict(ws, c.x).Logits.Data; !near(got, want) {
		t.Errorf("after a state was loaded: %v, want %v", got, want)
	}
	if slices.Equal(c.net.Activations(ws, c.x).Data, before) {
		t.Error("after a state was loaded: the activations are the old ones")
	}
	c.net.Running()[0] += 0.5
	c.net.Changed()
	if got := c.net.Predict(ws, c.x).Logits.Data; near(got, want) {
		t.Error("after a running mean has changed: the predictions are the old ones")
	}
}

// TestLatentErrors: a network that nobody can feed with activations says so.
func TestLatentErrors(t *testing.T) {
	net := networks(t)[0].net
	if err := net.Freeze(0, true); err == nil || !strings.Contains(err.Error(), "Freeze at least one") {
		t.Errorf("nothing frozen: %v", err)
	}
	same, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 7, NF: 3}, rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	if err := same.Freeze(1, true); err == nil || !strings.Contains(err.Error(), "the shape of an image, 3×32×32") {
		t.Errorf("activations that look like images: %v", err)
	}
	if err := net.Freeze(2, true); err != nil {
		t.Fatal(err)
	}
	freeze(t, net, 2)
	if net.Info().Latent[0] > 0 {
		t.Error("a network that was frozen anew still takes activations")
	}
	if err := net.Freeze(2, true); err != nil {
		t.Fatal(err)
	}
	ws := net.NewWorkspace(1)
	defer ws.Close()
	defer func() {
		if v := recover(); v == nil || !strings.Contains(v.(string), "activations of frozen stages") {
			t.Errorf("learning from images: %v", v)
		}
	}()
	net.Forward(ws, images(1, 3, 32, 32, 1), nn.Train)
}

// TestLatentCounts: a step on activations counts the work above the frozen stages alone, and activations count the
// frozen ones.
func TestLatentCounts(t *testing.T) {
	latentNets(t, func(name string, frozen, latent *nn.Network, x *tensor.Tensor) {
		ws := latent.NewWorkspace(1)
		defer ws.Close()
		a := latent.Activations(ws, x).Clone()
		made := ws.FLOPs()
		if err := latent.Accumulate(ws, nn.Accumulation{Batches: []*tensor.Tensor{a}, Loss: objectiveOf}); err != nil {
			t.Fatal(err)
		}
		n := int64(x.Dim(0))
		if above := ws.FLOPs() - made; made < 1 || above < 1 || made+above/3 != n*latent.Info().FLOPs ||
			math.Mod(float64(above), 3) != 0 {
			t.Errorf("%s: activations count %d, a step %d, of %d images of %d", name, made, above, n, latent.Info().FLOPs)
		}
	})
}
