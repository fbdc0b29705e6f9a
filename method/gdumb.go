package method

import (
	"ocl"
	"ocl/learner"
	"ocl/memory"
	"ocl/optim"
)

// Choices of GDumb's options.
const (
	gdumbSurvey    = "survey"
	gdumbOriginal  = "original"
	gdumbGreedy    = "greedy"
	gdumbReservoir = "reservoir"
)

var (
	gdumbEpochs = Option{Name: "epochs", Default: 30, Meaning: "passes over the memory in a training", Least: 1, Most: 10_000}
	gdumbBatch  = Option{Name: "batch", Default: 16, Meaning: "samples a step of a training; an incomplete last batch is left out", Least: 1, Most: 100_000}
	gdumbClip   = Option{Name: "clip", Default: 10.0, Meaning: "longest gradient of a step, as its Euclidean norm; longer ones are scaled to it",
		Range: "a number, at least 1e-06", Least: 1e-6}
	gdumbPreset = Option{Name: "preset", Default: gdumbSurvey, Choices: []string{gdumbSurvey, gdumbOriginal},
		Meaning: "survey trains by the settings of optimizer, at a constant learning rate, on the images as they are; original as the " +
			"method's own paper, whatever optimizer says: SGD with momentum 0.9 and weight decay 1e-6, cosine restarts from 0.05 to 0.0005, crops, " +
			"flips and cut-mix in half of the batches; epochs, batch and clip stay as they are set"}
	gdumbUpdate = Option{Name: "update", Default: gdumbGreedy, Choices: []string{gdumbGreedy, gdumbReservoir},
		Meaning: "how samples are chosen: greedy balances classes, and in a domain-incremental stream keeps the earliest; reservoir keeps each with the same probability"}
)

var gdumb = Info{
	Name:    "gdumb",
	Title:   "GDumb",
	Summary: "Only store, balanced by class; train a new network on the memory when asked to predict.",
	Idea: "While the stream passes nothing is learned: a greedy sampler fills the memory so that all classes seen have equally many " +
		"samples. Whenever predictions are wanted, a fresh network is trained on the memory alone. It knows nothing of tasks and " +
		"forgets nothing but what it did not store. It asks of every other method whether it does better than its memory.",
	Formula:  "M ← Greedy(B_n, M);  before a prediction: θ ← fresh, then epochs times for B ⊂ M: θ ← θ − α·clip(∇ℓ(B))",
	Citation: "Prabhu et al., GDumb: A Simple Approach that Questions Our Progress in Continual Learning, ECCV 2020",
	Look:     4,
	Traits: Traits{
		UsesMemory: true, Deferred: true,
		Prediction: "the class of the largest logit of a network trained for it from scratch",
	},
	Settings: []string{"memory"},
	Options:  []Option{gdumbEpochs, gdumbBatch, gdumbClip, gdumbPreset, gdumbUpdate},
	Paper:    grid([]any{0.001, 0.01, 0.1}, []any{0.0001, 0.000001}),
	Authors:  grid([]any{0.001, 0.01, 0.1}, []any{0.0001, 0.000001}),
	CostPerStep: "nearly nothing; 3 passes over 30 times the memory before each evaluation, which for 5,000 samples is what Finetune " +
		"pays for 150,000 (`--eval final` trains once)",
	Expect: "The best of the survey where memory is large: the balance of classes is worth more than the samples not stored. " +
		"CIFAR-100 in the survey: 10.4, 22.1 and 28.8 % average accuracy with 1,000, 5,000 and 10,000 samples.",
	Refuses: map[string]string{
		"kdc":  "it trains from scratch, so that there is nothing to distil",
		"kdc*": "it trains from scratch, so that there is nothing to distil",
		"lb":   "it learns from a memory with all classes in balance, and not from incoming batches",
		"mi":   "it makes no step on an incoming batch",
		"rv":   "it learns from nothing but the memory, many times",
		"ss":   "it learns all classes anew and at once, so that none is old",
	},
	prepared: func(stored int, s Setup) int { return stored * option[int](s, gdumbEpochs) },
	passes:   func(s Setup, _ int) []Pass { return learn(s, option[int](s, gdumbBatch)) },
	build: func(s Setup) (ocl.Learner, error) {
		g := &learner.GDumb{
			Net: s.Net, WS: s.WS, Opt: s.Opt, Memory: s.store(), Seed: s.Seed, InitSeed: s.InitSeed,
			Epochs: option[int](s, gdumbEpochs), Batch: option[int](s, gdumbBatch), Clip: option[float64](s, gdumbClip),
		}
		if option[string](s, gdumbUpdate) == gdumbReservoir {
			g.Update = memory.Reservoir{}
		}
		if option[string](s, gdumbPreset) == gdumbOriginal {
			const high, low = 0.05, 0.0005
			g.Opt = optim.NewSGD(optim.SGD{LR: high, Momentum: 0.9, WeightDecay: 1e-6})
			g.Rate, g.Crop, g.CutMix = learner.CosineRestarts(high, low), true, 0.5
		}
		return g, nil
	},
}
