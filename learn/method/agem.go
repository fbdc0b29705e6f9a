package method

import (
	"errors"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/memory"
)

var agemReference = Option{
	Name: "reference", Default: "criterion", Choices: []string{"criterion", "plain"},
	Meaning: "loss that gives g_ref with the trick kdc or kdc*. criterion: that of the step, with its distillation; plain: the loss on " +
		"labels alone, as in the authors' code",
}

var agem = Info{
	Name: "agem",
	Text: Text{
		Title:   "A-GEM",
		Summary: "Change each step so that it does not raise the loss of stored samples.",
		Idea: "Keep a random memory of samples, as ER does. From the second task on, draw some of them at each step and " +
			"compute the gradient of their loss. If the step on the incoming batch would raise that loss, remove the part of " +
			"the step that does. The network is never trained on the stored samples; they only correct the steps.",
		Formula: "B_M ← Random(M);  g ← ∇ℓ(B_n), g_ref ← ∇ℓ(B_M);  where g·g_ref < 0: g ← g − (g·g_ref / g_ref·g_ref)·g_ref;  " +
			"θ ← θ − α·g;  M ← Reservoir(B_n, M)",
		Citation:    "Chaudhry et al., Efficient Lifelong Learning with A-GEM, ICLR 2019",
		CostPerStep: "2 × Finetune if as many samples are drawn as arrive; 1 × in the first task",
		Expect: "Hardly better than Finetune when each task brings new classes: stored samples correct the steps but are never " +
			"learned. The survey on CIFAR-100: 3.7, 3.6 and 3.8 % average accuracy with 1,000, 5,000 and 10,000 samples. ocl reaches about 4.0 % with 5,000.",
	},
	Traits:   Traits{UsesMemory: true, TaskBoundaries: true},
	Signals:  []string{"task boundaries"},
	Settings: []string{"memory", "replay.batch", "replay.iterations", "replay.augment", "replay.update"},
	Options:  []Option{agemReference},
	Tuning:   both(grid(rates7, decays4)),
	Check: func(s Setup) error {
		if agemPlain(s) && s.fills().Distil == nil {
			return errors.New("option reference: plain differs from criterion only where a trick distils. Add --trick kdc or 'kdc*', or remove reference")
		}
		return nil
	},
	Refuses: refusing("mkd", "it keeps the gradient of stored samples apart, and never learns them"),
	Passes:  ReplayPasses,
	Build: func(s Setup) (ocl.Learner, error) {
		r := s.Replay()
		r.Memory = s.Store()
		r.Retrieve = memory.Random{Size: s.ReplayBatch}
		a := learner.NewAGEM(r)
		if agemPlain(s) {
			a.Reference = s.Labels()
		}
		return a, nil
	},
}

// agemPlain says whether g_ref comes from the loss on labels alone.
func agemPlain(s Setup) bool { return OptionOf[string](s, agemReference) == "plain" }
