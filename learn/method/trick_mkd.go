package method

import "ocl/learn/loss"

var (
	mkdWeight = Option{Name: "weight", Default: 5.5, Most: 1e6,
		Meaning: "λ, the weight of the answers of the mean network; 0 learns from labels alone"}
	mkdTemperature = Option{Name: "temperature", Default: 4.0, Least: 1e-3, Most: 1000,
		Meaning: "T, by which both outputs are divided before they are compared"}
	mkdAlpha = Option{Name: "alpha", Default: 0.01, Least: 1e-6, Most: 1,
		Meaning: "α, the share of the network in its mean after each step; with 1 the teacher is the network of the step before"}
)

var trickMomentum = Trick{
	Name:    "mkd",
	Title:   "Momentum knowledge distillation",
	Summary: "Learn the answers of an exponential mean of the network too, for each image augmented and as it came.",
	Idea: "A teacher that is the network of the last task grows old, and needs to know when a task ends. A mean of the weights of the last steps " +
		"is a teacher at any time, and steadier than the network. It answers for the augmented images of a step, and the network learns these " +
		"answers for the augmented images and for the same images as they came. The mean of both networks predicts.",
	Formula: "ℓ = ℓ_CE(f(x̃)) + λ/2·(KL_T(f'(x̃) ‖ f(x̃)) + KL_T(f'(x̃) ‖ f(x))),  x̃ is x augmented, KL_T = T²·KL of softmax(·/T);  " +
		"θ' ← (1 − α)·θ' + α·θ after each step;  predictions by (θ + θ')/2",
	Citation: "Michel et al., Rethinking Momentum Knowledge Distillation in Online Continual Learning, ICML 2024",
	Options:  []Option{mkdWeight, mkdTemperature, mkdAlpha},
	Cost:     "7/3 × by its passes, 2.43 × measured with one worker (docs/benchmarks.md), and two more copies of the network",
	Expect: "For who can pay more than twice the cost of ER for steadier predictions; not for a stream in real time, and not where the memory of two " +
		"more networks counts. Compare it with replay.iterations=2, which costs nearly as much. Its authors take images of 32 pixels, batches of 10 and 64, and " +
		"the wide ResNet-18. Images are cropped and flipped as with replay.augment. With weight 0 it is ER on such images, and the mean of both networks predicts.",
	Images: true,
	Fills:  Fills{Mean: 0.99, Averages: true, Follows: &loss.MeanDistilled{Weight: 5.5, T: 4}},
	With: func(s Setup) Fills {
		return Fills{Mean: 1 - TrickOptionOf[float64](s, "mkd", mkdAlpha), Averages: true, Follows: &loss.MeanDistilled{
			Weight: TrickOptionOf[float64](s, "mkd", mkdWeight), T: TrickOptionOf[float64](s, "mkd", mkdTemperature)}}
	},
}
