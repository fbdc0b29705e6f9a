package method

import (
	"fmt"

	"ocl"
	"ocl/learn/learner"
)

var ewcLambda = Option{Name: "lambda", Default: 100.0, Meaning: "λ, the weight of the penalty; 0 gives Finetune"}

var ewcAlpha = Option{Name: "alpha", Default: 0.9, Most: 1,
	Meaning: "α, the weight of the newest gradients in the running Fisher information"}

var ewcEvery = Option{Name: "every", Default: 50, Least: 1,
	Meaning: "steps between two updates of the running Fisher information; not used with raw"}

var ewcRaw = Option{Name: "raw", Default: false,
	Meaning: "follow the survey's text: weight λ/2, Fisher information not scaled, updated at every step"}

var ewcAxis = Axis{"method.ewc++.lambda", []any{0.0, 100.0, 1000.0}}

var ewc = Info{
	Name: "ewc++",
	Text: Text{
		Title:   "EWC++",
		Summary: "Protect the parameters that mattered to earlier tasks.",
		Idea: "Keep a running average of the squared gradients: it shows how much each parameter matters (Fisher information). " +
			"At the end of a task, record this average and the parameters. From then on a penalty pulls each parameter back " +
			"to its recorded value; the more the parameter mattered, the stronger the pull. No samples are stored.",
		Formula: "θ ← θ − α_lr·∇(ℓ(B_n) + λ·Σ_j F̂_j·(θ_j − θ*_j)²);  F ← α·F_tmp + (1 − α)·F;  " +
			"at a task's end θ* ← θ, F̂ ← (F − min F)/(max F − min F)",
		Citation:    "Chaudhry et al., Riemannian Walk for Incremental Learning, ECCV 2018",
		CostPerStep: "1 × Finetune, and three passes over the parameters",
		Expect: "No better than Finetune when all classes share one output layer. If λ and the learning rate are large, the " +
			"penalty explodes and the run ends as diverged. The survey on CIFAR-100: 3.7 % average accuracy.",
	},
	Traits:   Traits{TaskBoundaries: true, Vectors: 4},
	Signals:  []string{"task boundaries"},
	Settings: []string{"replay.iterations", "replay.augment"},
	Options:  []Option{ewcLambda, ewcAlpha, ewcEvery, ewcRaw},
	Tuning:   both(grid(rates4, decays2, ewcAxis)),
	Refuses:  withoutMemory,
	Check:    checkEWC,
	Passes:   LearnPasses,
	Build: func(s Setup) (ocl.Learner, error) {
		return learner.NewEWC(s.Replay(), learner.EWCOptions{
			Lambda: OptionOf[float64](s, ewcLambda), Alpha: OptionOf[float64](s, ewcAlpha),
			Every: OptionOf[int](s, ewcEvery), Raw: OptionOf[bool](s, ewcRaw),
		}), nil
	},
}

func checkEWC(s Setup) error {
	if every := OptionOf[int](s, ewcEvery); OptionOf[bool](s, ewcRaw) && every != ewcEvery.Default && every != 1 {
		return fmt.Errorf("option every: %d is given, but raw updates the Fisher information at every step. Remove every or raw",
			every)
	}
	return nil
}
