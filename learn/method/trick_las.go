package method

import "ocl/learn/loss"

var (
	lasTau = Option{Name: "tau", Default: 1.0, Least: 1e-3, Most: 100,
		Meaning: "τ, the weight of the logarithms of the counts"}
	lasSteps = Option{Name: "steps", Default: 1, Least: 1, Most: 10_000,
		Meaning: "l, the number of last steps whose rows are counted, this one included"}
)

var trickAdjusted = Trick{
	Name:    "las",
	Title:   "Logit-adjusted softmax",
	Summary: "Train on logits that are raised for classes with many rows in the last steps.",
	Idea: "A class that has many rows now gets a larger output, whatever the image shows. Training on the logits plus the logarithm of the " +
		"number of rows takes this away: the network predicts by the logits alone.",
	Formula:  "ℓ(x, y) = −log(n_y^τ·e^{s_y} / Σ_c n_c^τ·e^{s_c}),  n_c the rows of class c in the last l steps; a class without a row is left out",
	Citation: "Huang et al., Online Continual Learning via Logit Adjusted Softmax, TMLR 2024",
	Options:  []Option{lasTau, lasSteps},
	Cost:     "1 ×",
	Expect: "For classes that come unevenly, at no cost; not where the loss is no softmax. " +
		"New classes no longer push the old ones down. Stored samples count as much as new ones, also with a small memory.",
	Fills: Fills{Labels: loss.Adjusted{Tau: 1}, Counts: 1},
	With: func(s Setup) Fills {
		return Fills{Labels: loss.Adjusted{Tau: TrickOptionOf[float64](s, "las", lasTau)},
			Counts: TrickOptionOf[int](s, "las", lasSteps)}
	},
}
