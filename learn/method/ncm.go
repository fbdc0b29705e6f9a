package method

import (
	"ocl"
	"ocl/learn/learner"
)

var ncmNormalise = Option{Name: "normalise", Default: false,
	Meaning: "scale each input and each mean to length 1, so that the angle decides"}

var ncm = Info{
	Name: "ncm",
	Text: Text{
		Title:   "NCM",
		Summary: "Keep the mean of each class, and predict the nearest one; no training and no memory.",
		Idea: "The mean of all samples of a class is a sum that never forgets, and no order of classes changes it. It is as good as the inputs: " +
			"on features of a network that was trained elsewhere it is strong, on pixels weak.",
		Formula:     "μ_y = (1/n_y) Σ x;  y* = argmin_y ‖x − μ_y‖",
		Citation:    "Mensink et al., Distance-Based Image Classification: Generalizing to New Classes at Near-Zero Cost, TPAMI 2013",
		CostPerStep: "a sum of the inputs: next to nothing",
		Expect: "For features of a pretrained network, and as the least that any other method must reach; not for pixels, whose means say little. " +
			"The simplest baseline on features of a frozen network: 61.5 % on CIFAR-100 with those of a ResNet-50 of ImageNet (McDonnell et al.). What it sums is never lost; accuracy on old classes falls as new ones compete with them.",
	},
	Traits:  Traits{Prediction: "the class of the nearest mean"},
	Options: []Option{ncmNormalise},
	Tuning:  both(Grid{{"method.ncm.normalise", []any{false, true}}}),
	Refuses: withoutGradient,
	Solves: func(s Setup) Solution {
		return Solution{Numbers: s.Classes * s.values(), Solving: s.Classes * s.values(), Step: 2 * float64(s.values())}
	},
	Build: func(s Setup) (ocl.Learner, error) {
		l := learner.NewClassMeans(s.Net, s.WS)
		l.Normalise = OptionOf[bool](s, ncmNormalise)
		return l, nil
	},
}
