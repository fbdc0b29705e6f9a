package method

var emaMomentum = Option{Name: "momentum", Default: 0.99, Most: 0.999999,
	Meaning: "m, how much of the mean stays in each step; 0 predicts by the network itself"}

var trickMean = Trick{
	Name:    "ema",
	Title:   "Mean of the weights",
	Summary: "Predict by an exponential mean of the network's weights.",
	Idea: "The network swings with each batch, and most after a new class has appeared. A second network follows it slowly: all its numbers, " +
		"running statistics too, are means over the last steps. It predicts, and is never trained.",
	Formula:  "θ' ← m·θ' + (1 − m)·θ after each step;  predictions by θ'",
	Citation: "Soutif-Cormerais et al., Improving Online Continual Learning Performance and Stability with Temporal Ensembles, CoLLAs 2023",
	Options:  []Option{emaMomentum},
	Cost:     "1 ×, and a second copy of the network",
	Expect: "For predictions at any moment of a stream, at nearly no cost; not for a daemon, which publishes the network that learns. " +
		"Steadier between evaluations, and usually a few points better. The network that learns is the same, so ncm sees other features too.",
	Fills: Fills{Mean: 0.99, Averages: true},
	With: func(s Setup) Fills {
		return Fills{Mean: TrickOptionOf[float64](s, "ema", emaMomentum), Averages: true}
	},
}
