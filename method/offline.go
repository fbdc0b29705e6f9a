package method

import "ocl"

// Options that say how a stream is shown to a method that learns offline.
const (
	Epochs = "epochs"
	Batch  = "batch"
)

var offline = Info{
	Name:    "offline",
	Title:   "Offline",
	Summary: "Learn all tasks at once, in many epochs; the upper bound.",
	Idea: "What Finetune learns when nothing is continual: the data of all tasks together, shuffled anew for each of many epochs. " +
		"It shows what the network can learn from these data at all. Its one row of accuracies is that after all tasks; there is " +
		"nothing to forget on the way.",
	Formula:  "epochs times, for B of all tasks in random order: θ ← θ − α·∇ℓ(B)",
	Citation: surveyCitation,
	Traits:   Traits{Offline: true},
	Signals:  []string{"all tasks at once"},
	Settings: []string{"replay.augment"},
	Options: []Option{
		{Name: Epochs, Default: 70, Meaning: "passes over the data of all tasks", Least: 1, Most: 100_000},
		{Name: Batch, Default: 128, Meaning: "samples a step; stream.batch is not read", Least: 1, Most: 100_000},
	},
	Authors:     grid([]any{0.001, 0.01, 0.1}, decays2),
	CostPerStep: "1 for each sample, and each sample 70 times",
	Expect:      "Far more than any online method reaches. CIFAR-100 in the survey: 49.7 % average accuracy.",
	Refuses: map[string]string{
		"kdc":  allAtOnce,
		"kdc*": allAtOnce,
		"lb":   allAtOnce,
		"mi":   allAtOnce,
		"ncm":  withoutMemory["ncm"],
		"rv":   withoutMemory["rv"],
		"ss":   allAtOnce,
	},
	passes: learn,
	// The learner is Finetune, to the bit, and so it needs no golden file of its own: the stream is what differs.
	build: func(s Setup) (ocl.Learner, error) {
		s.Iterations = 1
		return base(s), nil
	},
}

// allAtOnce is why Offline refuses what is done for classes that come one after the other.
const allAtOnce = "it learns all classes at once, in many epochs, as the bound that methods and tricks are held against"
