package method

import "ocl/loss"

var trickSeparated = Trick{
	Name:    "ss",
	Title:   "Separated softmax",
	Summary: "Judge samples of old classes among old classes, and those of new classes among new ones.",
	Idea: "Two softmaxes take the place of one: samples of the task's classes then push down no logit of an old class, and the other " +
		"way round. In the first task all classes are new.",
	Formula:  "ℓ(x, y) = −log(e^{s_y} / Σ_{j∈C} e^{s_j}),  C = C_old where y ∈ C_old, C_new where y ∈ C_new",
	Citation: "Ahn and Moon, A Simple Class Decision Balancing for Incremental Learning, arXiv:2003.13947, 2020",
	Signals:  []string{"task boundaries"},
	Cost:     "1 ×",
	Expect: "Much as the labels trick: what is old and what is new no longer compete while they are learned. ER on CIFAR-100 in the survey: " +
		"12.3, 20.9 and 23.1 % with 1,000, 5,000 and 10,000 samples.",
	ClassesOnce: true,
	Fills:       Fills{Labels: loss.Separated{}, Classes: true},
}
