package method

import "ocl"

var finetune = Info{
	Name: "finetune",
	Text: Text{
		Title:   "Finetune",
		Summary: "Train on the incoming batches alone; the lower bound.",
		Idea: "Take a gradient step on each incoming batch and store nothing. The network follows the newest task and " +
			"overwrites what it learned before. This shows how much there is to forget: a method that is no better than " +
			"Finetune does not help.",
		Formula:     "θ ← θ − α·∇ℓ(B_n)",
		Citation:    surveyCitation,
		CostPerStep: "1",
		Expect: "High accuracy on the newest task and almost none on the earlier ones, so the average is about the accuracy on " +
			"one task divided by the number of tasks. The survey on CIFAR-100: 3.7 % average accuracy. ocl reaches about 4.0 %.",
	},
	Traits:   Traits{Baseline: true},
	Settings: []string{"replay.iterations", "replay.augment"},
	Tuning:   both(grid(rates7, decays4)), // ER's
	Refuses:  withoutMemory,
	Passes:   LearnPasses,
	Build:    func(s Setup) (ocl.Learner, error) { return s.Replay(), nil },
}

// surveyCitation is the citation of the survey.
const surveyCitation = "Mai et al., Online Continual Learning in Image Classification: An Empirical Survey, arXiv:2101.10423, 2021"
