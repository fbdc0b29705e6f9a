package nn_test

import (
	"slices"
	"testing"

	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// small is a residual network on 32×32 images and a perceptron on 5×4, made from a seed.
func small(t *testing.T, seed uint64) []*nn.Network {
	t.Helper()
	residual, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 6, NF: 2},
		rng.New(seed, "init"))
	if err != nil {
		t.Fatal(err)
	}
	perceptron, err := arch.MLP(arch.Config{Channels: 3, Height: 5, Width: 4, Classes: 6, Hidden: []int{9, 7}},
		rng.New(seed, "init"))
	if err != nil {
		t.Fatal(err)
	}
	return []*nn.Network{residual, perceptron}
}

// randomImages are n images for a network.
func randomImages(net *nn.Network, n int) *tensor.Tensor {
	in := net.Info().Input
	x, src := tensor.New(n, in[0], in[1], in[2]), rng.New(7, "pictures")
	for i := range x.Data {
		x.Data[i] = float32(src.Float64())
	}
	return x
}

// TestInitIsANewNetwork: a trained network that is drawn anew is the one that is built from the same source, packed
// weights included.
func TestInitIsANewNetwork(t *testing.T) {
	old, fresh := small(t, 1), small(t, 2)
	for i, net := range old {
		ws := net.NewWorkspace(1)
		defer ws.Close()
		x := randomImages(net, 5)
		net.Forward(ws, x, nn.Train) // moves the running statistics
		for k := range net.Params() {
			net.Params()[k] += 0.5
		}
		net.Changed()
		net.Predict(ws, x)
		net.Init(rng.New(2, "init"))
		if !slices.Equal(net.Params(), fresh[i].Params()) || !slices.Equal(net.Running(), fresh[i].Running()) {
			t.Errorf("network %d differs from a new one", i)
		}
		other := fresh[i].NewWorkspace(1)
		defer other.Close()
		if !slices.Equal(net.Predict(ws, x).Logits.Data, fresh[i].Predict(other, x).Logits.Data) {
			t.Errorf("network %d predicts by its old weights", i)
		}
	}
}

// TestPredictFeatures: the features are those of a forward pass in evaluation mode up to rounding, and those of an
// image do not depend on the others.
func TestPredictFeatures(t *testing.T) {
	for i, net := range small(t, 1) {
		ws, alone := net.NewWorkspace(3), net.NewWorkspace(1)
		defer ws.Close()
		defer alone.Close()
		x := randomImages(net, 37)
		got := net.Predict(ws, x).Features.Clone()
		got.CheckShape("features", 37, net.Info().FeatureDim)
		net.Forward(alone, x, nn.Eval)
		want := alone.Features()
		for k, v := range got.Data {
			if d := float64(v - want.Data[k]); !(d <= 1e-5 && d >= -1e-5) {
				t.Fatalf("network %d: feature %d is %v, want %v", i, k, v, want.Data[k])
			}
		}
		if part := net.Predict(alone, x.Rows(20, 23)).Features; !slices.Equal(part.Data, got.Rows(20, 23).Data) {
			t.Errorf("network %d: features of an image depend on the others", i)
		}
	}
}
