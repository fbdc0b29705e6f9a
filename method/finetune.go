package method

import (
	"ocl"
	"ocl/learner"
)

var finetune = Info{
	Name:    "finetune",
	Title:   "Finetune",
	Summary: "Learn from the incoming batches alone; the lower bound.",
	Idea: "Take a gradient step on each incoming batch and keep nothing. " +
		"The network follows the newest task and overwrites what it knew. " +
		"It shows how much there is to forget: a method that does not beat it does not help.",
	Formula:     "θ ← θ − α·∇ℓ(B_n)",
	Citation:    surveyCitation,
	Traits:      Traits{Baseline: true},
	Settings:    []string{"replay.iterations", "replay.augment"},
	Paper:       grid(rates7, decays4), // ER's
	Authors:     grid(rates7, decays4),
	CostPerStep: "1",
	Expect: "High accuracy on the task just learned and nearly none on all others, so the average is about that of one task " +
		"divided by the number of tasks. CIFAR-100 in the survey: 3.7 % average accuracy.",
	Refuses: withoutMemory,
	passes:  learn,
	build:   func(s Setup) (ocl.Learner, error) { return base(s), nil },
}

// surveyCitation is that of the survey.
const surveyCitation = "Mai et al., Online Continual Learning in Image Classification: An Empirical Survey, arXiv:2101.10423, 2021"

// base is Finetune, and what every Replay starts from: tricks have changed it already.
func base(s Setup) *learner.Replay {
	r := &learner.Replay{Net: s.Net, WS: s.WS, Opt: s.Opt, Iterations: s.Steps(), Review: s.review(), Augment: s.Augment, Seed: s.Seed}
	for _, t := range chosen(s.Tricks) {
		if t.change != nil {
			t.change(r)
		}
	}
	if r.Teacher != nil {
		r.Teacher.Training = s.Training
	}
	return r
}
