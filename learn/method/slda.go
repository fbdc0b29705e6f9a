package method

import (
	"ocl"
	"ocl/learn/learner"
)

// Values of the option covariance of SLDA.
const (
	sldaPooled  = "pooled"
	sldaRunning = "running"
)

var (
	sldaShrinkage = Option{Name: "shrinkage", Default: 0.0, Least: 0, Most: 1,
		Meaning: "share of the identity in the covariance (ε); 0 chooses its weight from the data before each evaluation, by generalised cross-validation. The paper has 0.0001"}
	sldaCovariance = Option{Name: "covariance", Default: sldaPooled, Choices: []string{sldaPooled, sldaRunning},
		Meaning: "pooled: of the samples around the means of their classes, in any order of the samples; running: the paper's, around the mean of the moment"}
)

var slda = Info{
	Name: "slda",
	Text: Text{
		Title:   "SLDA",
		Summary: "Keep the mean of each class and one covariance of all, and predict by linear discriminant analysis; no training and no memory.",
		Idea: "As NCM, but distances are measured by how the samples spread around their means. Both are sums over the stream, so nothing is " +
			"forgotten and the answer after a sample is that of all samples so far.",
		Formula:     "S = Σ x·xᵀ − Σ_k s_k·s_kᵀ/n_k;  Λ = ((S + λ·I)/(N−K))⁻¹;  y* = argmax_y μ_y·Λ·x − ½·μ_y·Λ·μ_y",
		Citation:    "Hayes and Kanan, Lifelong Machine Learning with Deep Streaming Linear Discriminant Analysis, CLVision at CVPR 2020",
		CostPerStep: "D² operations for a sample of D values; before each evaluation a Cholesky factor of D³/3, and 4·D³/3 to choose the shrinkage",
		Expect: "For features of a pretrained network, the first to try, also with a few images a class; not for very many features, as it keeps a number for each pair. " +
			"Among the best learners on features of a frozen network (Hayes and Kanan, Online Continual Learning for Embedded Devices, 2022). What it sums is never lost; accuracy on old classes falls as new ones compete with them.",
	},
	Traits:  Traits{Prediction: "the class of the highest score of linear discriminant analysis"},
	Options: []Option{sldaShrinkage, sldaCovariance},
	Tuning:  both(Grid{{"method.slda.shrinkage", []any{0.0, 1e-4, 1e-2, 0.1}}}),
	Refuses: withoutGradient,
	Solves: func(s Setup) Solution {
		return analysis(s.values(), s.Classes, OptionOf[float64](s, sldaShrinkage) == 0)
	},
	Build: func(s Setup) (ocl.Learner, error) {
		l := learner.NewSLDA(s.Net, s.WS)
		l.Shrinkage, l.Running = OptionOf[float64](s, sldaShrinkage), OptionOf[string](s, sldaCovariance) == sldaRunning
		return l, nil
	},
}

// analysis describes linear discriminant analysis of so many features; chooses says that its shrinkage is chosen.
func analysis(features, classes int, chooses bool) Solution {
	n := float64(features)
	sums, means := n*(n+1)/2, classes*features
	of := Solution{Numbers: int(sums) + means, Solving: int(sums) + 2*means, Step: 2 * sums,
		Prepare: cholesky(features, classes)}
	if chooses {
		of.Solving += int(sums) + 2*means
		of.Prepare += 4*n*n*n/3 + 2*n*n*float64(classes)
	}
	return of
}
