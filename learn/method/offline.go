package method

import "ocl"

// Options that say how a stream is shown to a method that learns offline.
const (
	Epochs = "epochs"
	Batch  = "batch"
)

var offline = Info{
	Name: "offline",
	Text: Text{
		Title:   "Offline",
		Summary: "Train on all tasks at once, for many epochs; the upper bound.",
		Idea: "Train as Finetune does, but on the data of all tasks together, shuffled again for each of many epochs. This " +
			"shows what the network can learn from the data at all. Accuracy is measured once, after all tasks, so there is " +
			"no forgetting to measure.",
		Formula:     "epochs times, for B of all tasks in random order: θ ← θ − α·∇ℓ(B)",
		Citation:    surveyCitation,
		CostPerStep: "1 × Finetune for each sample and epoch, with 70 epochs",
		Expect:      "Far more than any online method reaches. The survey on CIFAR-100: 49.7 % average accuracy.",
	},
	Traits:   Traits{Offline: true},
	Signals:  []string{"all tasks at once"},
	Settings: []string{"replay.augment"},
	Options: []Option{
		{Name: Epochs, Default: 70, Meaning: "epochs over the data of all tasks", Least: 1, Most: 100_000},
		{Name: Batch, Default: 128, Meaning: "samples in each step; stream.batch is not used", Least: 1, Most: 100_000},
	},
	Tuning: Tuning{
		Authors: grid([]any{0.001, 0.01, 0.1}, decays2),
	},
	Refuses: refusing("ema kdc kdc* las lb lode mi mkd rar ss", allAtOnce, "ncm", withoutMemory["ncm"], "rv",
		withoutMemory["rv"]),
	Passes: LearnPasses,
	// The learner is Finetune, to the bit, and so it needs no golden file of its own: the stream is what differs.
	Build: func(s Setup) (ocl.Learner, error) {
		s.Iterations = 1
		return s.Replay(), nil
	},
}

// allAtOnce is why Offline refuses what is done for classes that come one after the other.
const allAtOnce = "it learns all classes at once, in many epochs, as the upper bound for methods and tricks"
