package method

import (
	"fmt"

	"ocl"
	"ocl/learn/learner"
)

var (
	randumbFeatures = Option{Name: "features", Default: 2000, Least: 1, Most: 20_000,
		Meaning: "random features (D). Memory and time of a sample are in proportion to its square"}
	randumbGamma = Option{Name: "gamma", Default: 1.0, Least: 1e-6, Most: 1e6,
		Meaning: "γ in units of 1/(values·variance): values of an image, and the variance of a value if all bytes are equally likely (1 of embeddings)"}
	randumbShrinkage = Option{Name: "shrinkage", Default: 0.0, Least: 0, Most: 1, Meaning: sldaShrinkage.Meaning}
)

var randumb = Info{
	Name: "randumb",
	Text: Text{
		Title:   "RanDumb",
		Summary: "Linear discriminant analysis of random Fourier features of the pixels; no training, no network and no memory.",
		Idea: "A representation that is learned online should be worth more than one that nobody learned. Random cosines of the pixels, drawn before the " +
			"stream begins, stand for a Gaussian kernel, and the classifier is computed from sums over them, as in SLDA. Nothing is forgotten, and the order " +
			"of the stream does not matter.",
		Formula: "h = cos(x·W + b), W ~ N(0, 2γ), b ~ U(0, 2π), γ = gamma/(values·variance);  then SLDA on h",
		Citation: "Prabhu et al., RanDumb: A Simple Approach that Questions the Efficacy of Continual Representation Learning, NeurIPS 2024; " +
			"Rahimi and Recht, Random Features for Large-Scale Kernel Machines, NIPS 2007",
		Since:       true,
		CostPerStep: "D² operations for a sample; before each evaluation a Cholesky factor of D³/3, and 4·D³/3 to choose the shrinkage",
		Expect: "For a floor beside every result, not for who has a pretrained network, whose features are worth more. A method that trains a network and stores images and is below it has learned no representation. " +
			"22.4 % on CIFAR-100 in 20 tasks and 96.0 % on MNIST in 5 (one seed each; docs/beyond.md).",
	},
	Traits:  Traits{Prediction: "the class of the highest score of linear discriminant analysis"},
	Options: []Option{randumbFeatures, randumbGamma, randumbShrinkage},
	Tuning:  both(Grid{{"method.randumb.gamma", []any{0.3, 1.0, 3.0}}}),
	Refuses: withoutGradient,
	Solves: func(s Setup) Solution {
		d := OptionOf[int](s, randumbFeatures)
		of := analysis(d, s.Classes, OptionOf[float64](s, randumbShrinkage) == 0)
		of.Hidden, of.Waves = []int{d}, true
		return of
	},
	Build: func(s Setup) (ocl.Learner, error) {
		d, info := OptionOf[int](s, randumbFeatures), s.Net.Info()
		if len(info.Layers) != 2 || !info.Layers[0].Wave || info.FeatureDim != d {
			return nil, fmt.Errorf("method: randumb: the network is not the one of %d random features. Make the one that Solves describes", d)
		}
		l := learner.NewRanDumb(s.Net, s.WS)
		l.Gamma = OptionOf[float64](s, randumbGamma) / (float64(s.values()) * s.variance())
		l.Shrinkage, l.Seed = OptionOf[float64](s, randumbShrinkage), s.InitSeed
		return l, nil
	},
}

// variance is that of a value of an image if all bytes are equally likely, as far as is known before the stream begins:
// of each channel around its own mean, and the mean over the channels. It is 1/12 for values from 0 to 1, nearly, and 1
// of embeddings.
func (s Setup) variance() float64 {
	if s.Embeddings {
		return 1
	}
	values := s.Pixels
	if values == nil {
		values = ocl.NewPixelValues(1, nil, nil)
	}
	mean := 0.0
	for _, channel := range values {
		sum, squares, n := 0.0, 0.0, float64(len(channel))
		for _, v := range channel {
			sum += float64(v)
		}
		for _, v := range channel {
			d := float64(v) - sum/n
			squares += float64(d * d)
		}
		mean += squares / n / float64(len(values))
	}
	return mean
}
