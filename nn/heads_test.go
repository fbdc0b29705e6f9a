package nn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// TestHeads: a network says what its head is, how many outputs it has and what its parameters are called. The trunk
// does not depend on the head: it is drawn the same and has the same features.
func TestHeads(t *testing.T) {
	for _, of := range []arch.Config{{Channels: 3, Height: 26, Width: 27, NF: 2, Classes: 5},
		{Channels: 1, Height: 3, Width: 5, Hidden: []int{7, 16}, Classes: 5},
		{Channels: 2, Height: 4, Width: 2, Classes: 5}} {
		build := buildOf(of)
		x := images(3, of.Channels, of.Height, of.Width, 1)
		var features []float32
		for _, c := range []struct {
			head, want nn.Head
			outputs    int
			names      string
		}{
			{nn.Head{}, nn.Head{Kind: "linear"}, 5, "linear.weight [5 16] linear.bias [5]"},
			{nn.Head{Kind: "linear"}, nn.Head{Kind: "linear"}, 5, "linear.weight [5 16] linear.bias [5]"},
			{nn.Head{Kind: "cosine"}, nn.Head{Kind: "cosine"}, 5, "linear.weight [5 16] linear.sigma [1]"},
			{nn.Head{Kind: "cosine", Scale: 10}, nn.Head{Kind: "cosine", Scale: 10}, 5, "linear.weight [5 16] linear.sigma [1]"},
			{nn.Head{Kind: "projection", Out: 9}, nn.Head{Kind: "projection", Hidden: 16, Out: 9}, 9,
				"head.0.weight [16 16] head.0.bias [16] head.2.weight [9 16] head.2.bias [9]"},
			{nn.Head{Kind: "projection", Hidden: 3, Out: 2}, nn.Head{Kind: "projection", Hidden: 3, Out: 2}, 2,
				"head.0.weight [3 16] head.0.bias [3] head.2.weight [2 3] head.2.bias [2]"},
		} {
			of.Head = c.head
			net := must(build(of, rng.New(1, "net")))
			if net.Info().Head != c.want || net.Info().Classes != 5 || net.Info().Capacity != 5 ||
				net.Info().Outputs != c.outputs ||
				net.Info().FeatureDim != 16 {
				t.Errorf("%v: head %v, %d of %d classes, %d outputs, %d features", c.head, net.Info().Head, net.Info().Classes,
					net.Info().Capacity, net.Info().Outputs, net.Info().FeatureDim)
			}
			if names := strings.Join(namesOf(net), " "); !strings.HasSuffix(names, c.names) {
				t.Errorf("%v: parameters %s, want them to end with %s", c.head, names, c.names)
			}
			ws := net.NewWorkspace(2)
			out := net.Predict(ws, x)
			if out.Logits.Dim(1) != c.outputs {
				t.Errorf("%v: outputs %v", c.head, out.Logits.Shape)
			}
			if features == nil {
				features = slices.Clone(out.Features.Data)
			}
			net.Forward(ws, x, nn.Eval)
			if !sameBits(out.Features.Data, features) || !sameBits(ws.Features().Data, features) {
				t.Errorf("%v: other features than with a linear head", c.head)
			}
			head := 0
			for _, l := range net.Info().Layers {
				if l.Head {
					head++
				}
			}
			if want := strings.Count(c.names, "weight"); head != want || !net.Info().Layers[len(net.Info().Layers)-1].Head {
				t.Errorf("%v: %d layers are the head's, want the last %d", c.head, head, want)
			}
			ws.Close()
		}
	}
}

// buildOf is what makes the network that a config is of: a head alone, where it has no width and no hidden layers.
func buildOf(c arch.Config) func(arch.Config, *rng.Source) (*nn.Network, error) {
	switch {
	case c.NF > 0:
		return arch.ResNet18
	case c.Hidden != nil:
		return arch.MLP
	}
	return arch.Linear
}

// TestFlatten: the features of a network of a head alone are the values of the images, for any number of them, and only
// images are flattened.
func TestFlatten(t *testing.T) {
	net := must(arch.Linear(arch.Config{Channels: 3, Height: 5, Width: 7, Classes: 6}, rng.New(1, "net")))
	for _, workers := range []int{1, 2} {
		ws := net.NewWorkspace(workers)
		defer ws.Close()
		for _, n := range []int{1, 3, 100} {
			x := images(n, 3, 5, 7, 1)
			out := net.Predict(ws, x)
			if !sameBits(out.Features.Data, x.Data) {
				t.Errorf("%d images, %d workers: the features are not their values", n, workers)
			}
			row := make([]float32, 3*5*7)
			for k, got := range out.Logits.Row(n - 1) {
				want := float64(nn.HeadRow(net, row, k))
				for i, v := range x.Row(n - 1) {
					want += float64(float64(v) * float64(row[i]))
				}
				if diff := float64(got) - want; !(max(diff, -diff) <= 1e-5) {
					t.Errorf("%d images: logit %d is %v, want %v", n, k, got, want)
				}
			}
		}
	}
	b := must(nn.NewBuilder(1, 2, 2, nn.Engine{}, rng.New(1, "net")))
	b.Linear("hidden", 4, true)
	if err := b.Flatten(); err == nil || !strings.Contains(err.Error(), "flattening behind 1 layers") {
		t.Errorf("flattening features: %v", err)
	}
}

// namesOf are the names and shapes of all parameters.
func namesOf(net *nn.Network) (names []string) {
	for _, p := range net.Info().Named {
		names = append(names, fmt.Sprint(p.Name, " ", p.Shape()))
	}
	return names
}

// TestHeadRefuses: what is no head is an error, and so is one without features.
func TestHeadRefuses(t *testing.T) {
	for _, c := range []struct {
		head nn.Head
		want string
	}{
		{nn.Head{Kind: "cosin"}, `nn: the head "cosin" is unknown. Use linear, cosine or projection`},
		{nn.Head{Kind: "projection"}, "nn: a projection with 7 hidden units and 0 outputs. Use at least 1 of each"},
		{nn.Head{Kind: "projection", Hidden: -1, Out: 3}, "-1 hidden units and 3 outputs"},
		{nn.Head{Out: 3}, `nn: a "" head with 0 hidden units and 3 outputs of its own. Leave both at 0, or use a projection`},
		{nn.Head{Kind: "cosine", Hidden: 3}, `a "cosine" head with 3 hidden units`},
	} {
		_, err := arch.MLP(arch.Config{Channels: 1, Height: 3, Width: 5, Classes: 2, Hidden: []int{7}, Head: c.head},
			rng.New(1, "net"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one with %q", c.head, err, c.want)
		}
	}
	for _, head := range []nn.Head{{Kind: nn.CosineHead}, {Kind: nn.ProjectionHead, Out: 1}} {
		b := must(nn.NewBuilder(1, 2, 2, nn.Engine{}, rng.New(1, "net")))
		if err := b.Head("linear", head, 3); err == nil {
			t.Errorf("%v on images: want an error", head)
		}
	}
	b := must(nn.NewBuilder(1, 2, 2, nn.Engine{}, rng.New(1, "net")))
	b.Linear("hidden", 4, true)
	if err := b.Head("linear", nn.Head{}, 3); err != nil {
		t.Fatal(err)
	}
	if err := b.Head("other", nn.Head{Kind: nn.CosineHead}, 3); err == nil ||
		!strings.Contains(err.Error(), "a cosine head behind a linear head") {
		t.Errorf("two heads: %v", err)
	}
	b.Linear("more", 3, false)
	if _, err := b.Build(); err == nil || !strings.Contains(err.Error(), "nn: 1 layer behind the head") {
		t.Errorf("a layer behind the head: %v", err)
	}
}

// TestCosineOfNothing: features or weights of length 0 have the cosine 0, and no gradient that is not a number.
func TestCosineOfNothing(t *testing.T) {
	net := must(arch.MLP(arch.Config{Channels: 1, Height: 1, Width: 2, Classes: 3, Hidden: []int{4},
		Head: nn.Head{Kind: nn.CosineHead}}, rng.New(1, "net")))
	for _, p := range net.Info().Named {
		for i := range p.Len() {
			v := float32(1)
			if p.Name == "hidden.0.bias" || p.Name == "linear.weight" && i%3 == 1 {
				v = 0
			}
			net.Params()[p.Offset+i] = v
		}
	}
	net.Changed()
	ws := net.NewWorkspace(1)
	defer ws.Close()
	x := tensor.Of([]float32{0, 0, 1, 1}, 2, 1, 1, 2) // the features of the first are 0
	z := net.Forward(ws, x, nn.Train)
	for i, want := range []float32{0, 0, 0, 1, 0, 1} {
		if !(max(z.Data[i]-want, want-z.Data[i]) <= 1e-6) {
			t.Errorf("logit %d is %v, want %v", i, z.Data[i], want)
		}
	}
	d := tensor.Of([]float32{1, 1, 1, 0, 1, 0}, 2, 3)
	ws.Backward(d)
	for i, g := range net.Grads() {
		if g != 0 {
			t.Errorf("gradient %d is %v, want 0", i, g)
		}
	}
}

// TestProjectionGrows: a projection has nothing of the classes, so an heir takes all of its parameters, and a class
// that becomes active changes nothing.
func TestProjectionGrows(t *testing.T) {
	c := arch.Config{Channels: 1, Height: 3, Width: 5, Hidden: []int{7}, Head: nn.Head{Kind: nn.ProjectionHead, Out: 4}}
	old, heir := grown(t, c, 1, 3), grown(t, c, 2, 8)
	old.SetActive(2)
	heir.Inherit(3)
	if err := heir.LoadState(saved(t, old)); err != nil || !slices.Equal(heir.Params(), old.Params()) ||
		heir.Info().Classes != 2 || heir.Info().Outputs != 4 {
		t.Errorf("%v, %d classes, %d outputs", err, heir.Info().Classes, heir.Info().Outputs)
	}
	before := slices.Clone(old.Params())
	for i := range old.Grads() {
		old.Grads()[i] = 1
	}
	optim.SGD{LR: 0.1}.New().Step(old, nil)
	for i, v := range old.Params() {
		if v == before[i] {
			t.Fatalf("parameter %d was left alone as one of an inactive class", i)
		}
	}
	mustPanic(t, "another number of classes", func() { heir.CopyFrom(old) }, "8 classes", "3 classes")
}
