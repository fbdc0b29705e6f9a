package method_test

import (
	"slices"
	"testing"

	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/memory"
	"ocl/learn/method"
	"ocl/learn/optim"
	"ocl/nn/arch"
	"ocl/rng"
)

// TestGDumbPresets compares the catalogue's GDumb with the settings of docs/deviations.md, GDumb's learner: by default
// the survey's 30 epochs in batches of 16 at the optimiser's rate, clipped at 10; as the original, momentum, weight
// decay, schedule, crops and mixtures of its own paper, whatever the optimiser.
func TestGDumbPresets(t *testing.T) {
	network := perceptron
	images := learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6}
	for _, c := range []struct {
		preset string
		want   learner.GDumb
	}{
		{"survey", learner.GDumb{
			Opt: optim.SGD{LR: 0.1, WeightDecay: 0.01}, Epochs: 30, Batch: 16, Clip: 10,
		}},
		{"original", learner.GDumb{
			Opt: optim.SGD{LR: 0.05, Momentum: 0.9, WeightDecay: 1e-6}, Epochs: 30, Batch: 16, Clip: 10,
			Rate: learner.CosineRestarts(0.05, 0.0005), Crop: true, CutMix: 0.5,
		}},
	} {
		got, want := build("gdumb", network, func(s *method.Setup) {
			s.InitSeed = 3
			s.Opt, s.Memory, s.Options = optim.SGD{LR: 0.1, WeightDecay: 0.01}, 50, map[string]any{"preset": c.preset}
		})(t, 1).(*learner.GDumb), &c.want
		net, err := arch.MLP(network, rng.New(2, "elsewhere"))
		if err != nil {
			t.Fatal(err)
		}
		want.Net, want.WS, want.Memory = net, net.NewWorkspace(1), memory.NewStore(50, images.Shape, nil)
		want.Seed, want.InitSeed = 1, 3
		defer want.WS.Close()
		batches := images.Batches(1, 14, 5)
		learnertest.Observe(t, got, batches)
		learnertest.Observe(t, want, batches)
		learnertest.Predict(t, got, batches[0].X)
		learnertest.Predict(t, want, batches[0].X)
		if !slices.Equal(got.Net.Params(), want.Net.Params()) {
			t.Errorf("preset %s: trains otherwise than by its settings", c.preset)
		}
	}
}
