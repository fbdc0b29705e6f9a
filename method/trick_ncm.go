package method

var trickNCM = Trick{
	Name:    "ncm",
	Title:   "Nearest class mean",
	Summary: "Predict the class whose stored samples have the nearest mean feature.",
	Idea: "The head's logits favour new classes; features do so less. Training stays as it is: before an evaluation the features of all " +
		"stored samples are found, and a test sample gets the class with the nearest mean. A class without a stored sample is not predicted. " +
		"--classifiers head,ncm reports both accuracies of one run.",
	Formula:  "μ_y = mean φ(M_y),  y* = argmin_y ‖φ(x) − μ_y‖,  φ and μ of length 1",
	Citation: "Mensink et al., Distance-Based Image Classification: Generalizing to New Classes at Near-Zero Cost, TPAMI 2013",
	Cost:     "1 × a step, and a forward pass over the memory before each evaluation",
	Expect:   "With review the best of the tricks. ER on CIFAR-100 in the survey: 14.6, 27.6 and 31.0 % with 1,000, 5,000 and 10,000 samples.",
	Fills:    Fills{Classifies: true},
}
