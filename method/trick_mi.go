package method

// surveyIterations is the survey's number of steps on an incoming batch (§trick_detail).
const surveyIterations = 5

var trickIterations = Trick{
	Name:    "mi",
	Title:   "Multiple iterations",
	Summary: "Make several steps on each incoming batch, each beside other stored samples.",
	Idea: "One step hardly uses a batch. Several steps with a fresh replay batch each use it more, and so the memory. The memory is " +
		"updated once, after the last. There are 5 of them, or replay.iterations where that is more than 1.",
	Formula:  "5 times: B_M ← Retrieve(M); θ ← θ − α·∇ℓ(B_n, B_M);  then M ← Update(B_n, M)",
	Citation: mirCitation,
	Settings: []string{"replay.iterations"},
	Cost:     "5 ×",
	Expect: "Helps where the memory is large; a small one is overfitted. ER on CIFAR-100 in the survey: 8.6, 19.7 and 26.4 % with " +
		"1,000, 5,000 and 10,000 samples.",
	Fills: Fills{Iterations: surveyIterations},
}
