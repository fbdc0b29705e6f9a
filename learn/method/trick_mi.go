package method

// surveyIterations is the survey's number of steps on an incoming batch (§trick_detail).
const surveyIterations = 5

var trickIterations = Trick{
	Name:    "mi",
	Title:   "Multiple iterations",
	Summary: "Take several steps on each incoming batch, each with a new replay batch.",
	Idea: "One step learns little from a batch. Several steps, each with a new replay batch, learn more from the batch and " +
		"from the memory. The memory is updated once, after the last step. There are 5 steps, or replay.iterations if " +
		"that is more than 1.",
	Formula:  "5 times: B_M ← Retrieve(M); θ ← θ − α·∇ℓ(B_n, B_M);  then M ← Update(B_n, M)",
	Citation: mirCitation,
	Settings: []string{"replay.iterations"},
	Cost:     "5 ×",
	Expect: "Helps when the memory is large; a small memory is overfitted. The survey on CIFAR-100, with ER: 8.6, 19.7 and " +
		"26.4 % with 1,000, 5,000 and 10,000 samples.",
	Fills: Fills{Iterations: surveyIterations},
}
