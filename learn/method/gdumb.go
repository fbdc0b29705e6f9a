package method

import (
	"ocl"
	"ocl/learn/learner"
	"ocl/learn/memory"
	"ocl/learn/optim"
)

// Choices of GDumb's options.
const (
	gdumbSurvey    = "survey"
	gdumbOriginal  = "original"
	gdumbGreedy    = "greedy"
	gdumbReservoir = "reservoir"
)

var (
	gdumbEpochs = Option{Name: "epochs", Default: 30, Meaning: "epochs over the memory in each training", Least: 1,
		Most: 10_000}
	gdumbBatch = Option{Name: "batch", Default: 16,
		Meaning: "samples in each training step; an incomplete last batch is left out", Least: 1, Most: 100_000}
	gdumbClip = Option{Name: "clip", Default: 10.0,
		Meaning: "largest Euclidean norm of a step's gradient; a larger gradient is scaled down to it",
		Range:   "a number, at least 1e-06", Least: 1e-6}
	gdumbPreset = Option{Name: "preset", Default: gdumbSurvey, Choices: []string{gdumbSurvey, gdumbOriginal},
		Meaning: "survey: train with the optimizer settings, at a constant learning rate, on the images as they are; original: " +
			"train as in the method's own paper and ignore the optimizer settings: SGD with momentum 0.9 and weight decay " +
			"1e-6, cosine restarts from 0.05 to 0.0005, crops, flips, and CutMix in half of the batches; epochs, batch and " +
			"clip apply to both"}
	gdumbUpdate = Option{Name: "update", Default: gdumbGreedy, Choices: []string{gdumbGreedy, gdumbReservoir},
		Meaning: "how samples are chosen: greedy balances the classes (in a domain-incremental stream it keeps the earliest " +
			"samples); reservoir keeps each sample with the same probability"}
)

var gdumb = Info{
	Name: "gdumb",
	Text: Text{
		Title:   "GDumb",
		Summary: "Only store samples, equally many of each class; train a new network on them when predictions are needed.",
		Idea: "Nothing is learned while the stream passes: a greedy sampler fills the memory so that all classes seen have " +
			"equally many samples. Before each evaluation a new network is trained on the memory alone. GDumb needs no task " +
			"boundaries and forgets only what it did not store. It is a test for other methods: do they learn more than " +
			"their memory holds?",
		Formula:  "M ← Greedy(B_n, M);  before a prediction: θ ← fresh, then epochs times for B ⊂ M: θ ← θ − α·clip(∇ℓ(B))",
		Citation: "Prabhu et al., GDumb: A Simple Approach that Questions Our Progress in Continual Learning, ECCV 2020",
		CostPerStep: "almost nothing in each step; before each evaluation 30 epochs over the memory, which with 5,000 samples cost as much " +
			"as 150,000 samples of Finetune (`--eval final` trains only once)",
		Expect: "The best method of the survey when the memory is large: balanced classes help more than the samples that are " +
			"not stored would. The survey on CIFAR-100: 10.4, 22.1 and 28.8 % average accuracy with 1,000, 5,000 and 10,000 " +
			"samples. ocl reaches about 22.5 % with 5,000.",
	},
	Traits: Traits{
		UsesMemory: true, Deferred: true,
		Prediction: "the class with the largest logit of a network trained from scratch on the memory",
	},
	Settings: []string{"memory"},
	Options:  []Option{gdumbEpochs, gdumbBatch, gdumbClip, gdumbPreset, gdumbUpdate},
	Tuning:   both(grid([]any{0.001, 0.01, 0.1}, []any{0.0001, 0.000001})),
	Refuses: refusing("ema kdc kdc* mkd", "it trains from scratch, so there is no earlier network",
		"las lb", "it trains on a memory with balanced classes, not on incoming batches",
		"mi rar", "it takes no step on an incoming batch", "rv", "it trains on the memory alone, many times",
		"lode ss", "it learns all classes again from scratch, so none of them is old"),
	Prepared: func(stored int, s Setup) int { return stored * OptionOf[int](s, gdumbEpochs) },
	Passes:   func(s Setup, _ int) []Pass { return LearnPasses(s, OptionOf[int](s, gdumbBatch)) },
	Build: func(s Setup) (ocl.Learner, error) {
		g := &learner.GDumb{
			Net: s.Net, WS: s.WS, Opt: s.Opt, Memory: s.Store(), Seed: s.Seed, InitSeed: s.InitSeed,
			Epochs: OptionOf[int](s, gdumbEpochs), Batch: OptionOf[int](s, gdumbBatch), Clip: OptionOf[float64](s, gdumbClip),
		}
		if OptionOf[string](s, gdumbUpdate) == gdumbReservoir {
			g.Update = memory.Reservoir{}
		}
		if OptionOf[string](s, gdumbPreset) == gdumbOriginal {
			const high, low = 0.05, 0.0005
			g.Opt = optim.SGD{LR: high, Momentum: 0.9, WeightDecay: 1e-6}
			g.Rate, g.Crop, g.CutMix = learner.CosineRestarts(high, low), true, 0.5
		}
		return g, nil
	},
}
