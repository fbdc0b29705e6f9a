package method

var trickReview = Trick{
	Name:    "rv",
	Title:   "Review",
	Summary: "At the end of each task, train once on the whole memory at a tenth of the learning rate.",
	Idea: "The classes in memory are better balanced than those of the last batches. At the end of every task, the last " +
		"one too, one pass is made over the memory in random order, in batches of replay.batch, with plain cross " +
		"entropy. It comes before a teacher is copied and before the evaluation.",
	Formula:  "at a task's end, for B of M in random order: θ ← θ − α/10·∇ℓ(B)",
	Citation: "Mai et al., Batch-Level Experience Replay with Review for Continual Learning, arXiv:2007.05683, 2020",
	Signals:  []string{"task boundaries"},
	Settings: []string{"replay.batch"},
	Cost:     "1 × in each step, and a forward and backward pass over the memory at the end of each task",
	Expect: "This trick and nearest class mean are the best of the tricks. The survey on CIFAR-100, with ER: 12.0, 26.9 and 32.0 % with " +
		"1,000, 5,000 and 10,000 samples. ocl reaches about 29.5 % with 5,000.",
	Fills: Fills{Reviews: true},
}
