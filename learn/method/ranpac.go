package method

import (
	"fmt"

	"ocl"
	"ocl/learn/learner"
	"ocl/nn"
)

// Values of the option solver of RanPAC.
const (
	ranpacSums      = "sums"
	ranpacRecursive = "recursive"
)

var (
	ranpacProjection = Option{Name: "projection", Default: 2000, Least: 0, Most: 20_000,
		Meaning: "random features (M); 0 is none: ridge regression on the inputs. Memory and time of a sample are in proportion to its square"}
	ranpacRidge = Option{Name: "ridge", Default: 1e4, Range: "a number, at least 1e-12", Least: 1e-12,
		Meaning: "weight of the squared weights (λ)"}
	ranpacSolver = Option{Name: "solver", Default: ranpacSums, Choices: []string{ranpacSums, ranpacRecursive},
		Meaning: "sums: add up products, and solve before an evaluation; recursive: the weights after every batch, at three times the work of a step"}
)

var ranpac = Info{
	Name: "ranpac",
	Text: Text{
		Title:   "RanPAC",
		Summary: "Ridge regression on random features, by sums over the stream; no training and no memory.",
		Idea: "A random hidden layer that never changes makes classes easier to tell apart by a line. The best weights of the head follow from " +
			"two sums over all samples, so nothing is forgotten and the order of the stream does not matter.",
		Formula:     "h = ReLU(x·W), W ~ N(0,1);  G = Σ h·hᵀ, Q = Σ h·yᵀ;  y* = argmax ((G + λ·I)⁻¹·Q)ᵀ·h",
		Citation:    "McDonnell et al., RanPAC: Random Projections and Pre-trained Models for Continual Learning, NeurIPS 2023",
		CostPerStep: "M² operations for a sample, and a Cholesky factor of M³/3 before each evaluation",
		Expect: "For features of a pretrained network and some thousand samples or more; not for few, of which its ridge, a fixed number, does not know. " +
			"The best of the three learners without gradient in its paper: on CIFAR-100 with features of a ResNet-50 of ImageNet 75.5 % with " +
			"M = 10,000 and 73.3 % without projection. What it sums is never lost; accuracy on old classes falls as new ones compete with them.",
	},
	Traits:  Traits{Prediction: "the class of the highest score of ridge regression"},
	Options: []Option{ranpacProjection, ranpacRidge, ranpacSolver},
	Tuning:  both(Grid{{"method.ranpac.ridge", []any{1.0, 1e2, 1e4, 1e6}}}),
	Refuses: withoutGradient,
	Solves: func(s Setup) Solution {
		var hidden []int
		n := s.values()
		if m := OptionOf[int](s, ranpacProjection); m > 0 {
			hidden, n = []int{m}, m
		}
		sums := float64(n) * float64(n+1) / 2
		kept := int(sums) + s.Classes*n
		of := Solution{Hidden: hidden, Numbers: kept, Solving: kept, Step: 2 * sums, Prepare: cholesky(n, s.Classes)}
		if OptionOf[string](s, ranpacSolver) == ranpacRecursive {
			of.Solving, of.Step, of.Prepare = s.Classes*n, 6*sums, 0
		}
		return of
	},
	Build: func(s Setup) (ocl.Learner, error) {
		m, layers := OptionOf[int](s, ranpacProjection), s.Net.Info().Layers
		if flat := layers[0].Kind == nn.FlattenLayer; flat != (m == 0) || !flat &&
			(len(layers) != 2 || s.Net.Info().FeatureDim != m) {
			return nil, fmt.Errorf("method: ranpac: the network is not the one of a projection to %d features. Make the one that Solves describes", m)
		}
		l := learner.NewRanPAC(s.Net, s.WS)
		l.Ridge, l.Recursive = OptionOf[float64](s, ranpacRidge), OptionOf[string](s, ranpacSolver) == ranpacRecursive
		l.Seed = s.InitSeed
		return l, nil
	},
}
