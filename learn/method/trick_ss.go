package method

import "ocl/learn/loss"

var trickSeparated = Trick{
	Name:    "ss",
	Title:   "Separated softmax",
	Summary: "Train old classes with a softmax over the old classes, and new classes with a softmax over the new ones.",
	Idea: "Two softmaxes replace the one. Samples of new classes then lower no logit of an old class, and samples of old " +
		"classes lower no logit of a new class. In the first task all classes are new.",
	Formula:  "ℓ(x, y) = −log(e^{s_y} / Σ_{j∈C} e^{s_j}),  C = C_old where y ∈ C_old, C_new where y ∈ C_new",
	Citation: "Ahn and Moon, A Simple Class Decision Balancing for Incremental Learning, arXiv:2003.13947, 2020",
	Signals:  []string{"task boundaries"},
	Cost:     "1 ×",
	Expect: "Similar to the labels trick: old and new classes no longer compete during training. The survey on CIFAR-100, " +
		"with ER: 12.3, 20.9 and 23.1 % with 1,000, 5,000 and 10,000 samples. ocl reaches about 22.5 % with 5,000.",
	ClassesOnce: true,
	Fills:       Fills{Labels: loss.Separated{}, Classes: true},
}
