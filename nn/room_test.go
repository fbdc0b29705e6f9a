package nn_test

import (
	"runtime"
	"slices"
	"testing"

	"ocl/internal/rng"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/tensor"
)

// surveyAt is the survey's network for images of a side.
func surveyAt(t *testing.T, side int) *nn.Network {
	t.Helper()
	net, err := arch.ResNet18(arch.Config{Channels: 3, Height: side, Width: side, Classes: 100, NF: 20}, rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// TestBuffersOfAStep bounds what a step of the survey at 84×84 allocates with two workers, from a first step without
// memory to an evaluation. With buffers of their own for all gradients it was 528 MiB before the evaluation.
func TestBuffersOfAStep(t *testing.T) {
	const most = 460 << 20
	net := surveyAt(t, 84)
	ws := net.NewWorkspace(2)
	defer ws.Close()
	x, test := randomImages(net, 10), randomImages(net, 50)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, batches := range [][]*tensor.Tensor{{x}, {x, x}} {
		if err := net.Accumulate(ws, batches, objectiveOf); err != nil {
			t.Fatal(err)
		}
	}
	net.Predict(ws, test)
	net.Predict(ws, test.Rows(0, 2))
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > most {
		t.Errorf("a step and an evaluation allocate %d MiB, want at most %d", got>>20, most>>20)
	}
}

// TestPredictionsShareMemoryWithSteps: predictions between steps, which use the memory of the lanes, have the bits of a
// workspace of their own and change no bit of the steps.
func TestPredictionsShareMemoryWithSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the test trains the network of the survey at three sizes")
	}
	for _, side := range []int{32, 50, 84} {
		net := surveyAt(t, side)
		x, test := randomImages(net, 4), randomImages(net, 9)
		train := func(between bool) (grads []float32, logits [][]float32) {
			own := net.Clone()
			ws := own.NewWorkspace(2)
			defer ws.Close()
			for range 2 {
				if err := own.Accumulate(ws, []*tensor.Tensor{x, x.Rows(0, 3)}, objectiveOf); err != nil {
					t.Fatal(err)
				}
				for _, images := range []*tensor.Tensor{test, test.Rows(0, 1)} {
					apart := own.NewWorkspace(2)
					use := apart
					if between {
						use = ws
					}
					logits = append(logits, slices.Clone(own.Predict(use, images).Data))
					apart.Close()
				}
			}
			return append(slices.Clone(own.Grads()), own.Running()...), logits
		}
		wantGrads, wantLogits := train(false)
		gotGrads, gotLogits := train(true)
		if !slices.Equal(gotGrads, wantGrads) {
			t.Errorf("%d pixels: predictions between steps change them", side)
		}
		if !slices.EqualFunc(gotLogits, wantLogits, slices.Equal) {
			t.Errorf("%d pixels: predictions in the workspace of the steps have other logits", side)
		}
	}
}
