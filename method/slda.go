package method

import (
	"ocl"
	"ocl/learner"
)

var sldaShrinkage = Option{Name: "shrinkage", Default: 1e-4, Range: "a number from 1e-12 to 1", Least: 1e-12, Most: 1,
	Meaning: "share of the identity in the covariance (ε); more is safer with few samples"}

var slda = Info{
	Name: "slda",
	Text: Text{
		Title:   "SLDA",
		Summary: "Keep the mean of each class and one covariance of all, and predict by linear discriminant analysis; no training and no memory.",
		Idea: "As NCM, but distances are measured by how the samples spread around their means. Both are sums over the stream, so nothing is " +
			"forgotten and the answer after a sample is that of all samples so far.",
		Formula:     "Σ ← (t·Σ + t/(t+1)·d·dᵀ)/(t+1), d = x − μ_y;  Λ = ((1−ε)·Σ + ε·I)⁻¹;  y* = argmax_y μ_y·Λ·x − ½·μ_y·Λ·μ_y",
		Citation:    "Hayes and Kanan, Lifelong Machine Learning with Deep Streaming Linear Discriminant Analysis, CLVision at CVPR 2020",
		CostPerStep: "D² operations for a sample of D values, and a Cholesky factor of D³/3 before each evaluation",
		Expect:      "Among the best learners on features of a frozen network (Hayes and Kanan, Online Continual Learning for Embedded Devices, 2022). What it sums is never lost; accuracy on old classes falls as new ones compete with them.",
	},
	Look:    11,
	Traits:  Traits{Prediction: "the class of the highest score of linear discriminant analysis"},
	Options: []Option{sldaShrinkage},
	Tuning:  both(Grid{{"method.slda.shrinkage", []any{1e-4, 1e-2, 0.1}}}),
	Refuses: withoutGradient,
	Solves: func(s Setup) Solution {
		sums := float64(s.values()) * float64(s.values()+1) / 2
		return Solution{Numbers: int(sums) + s.Classes*s.values(), Solving: int(sums) + s.Classes*s.values(), Step: 2 * sums, Prepare: cholesky(s.values(), s.Classes)}
	},
	Build: func(s Setup) (ocl.Learner, error) {
		return &learner.SLDA{Net: s.Net, WS: s.WS, Shrinkage: OptionOf[float64](s, sldaShrinkage)}, nil
	},
}
