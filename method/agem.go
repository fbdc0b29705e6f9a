package method

import (
	"ocl"
	"ocl/learner"
	"ocl/memory"
)

var agem = Info{
	Name:    "agem",
	Title:   "A-GEM",
	Summary: "Do not let a step raise the loss of stored samples.",
	Idea: "Keep a reservoir of samples as ER does. From the second task on draw a few of them at each step and compute the " +
		"gradient of their loss. Where a step on the incoming batch would raise that loss, take away the part of the step " +
		"that does. The stored samples are never learned themselves.",
	Formula: "B_M ← Random(M);  g ← ∇ℓ(B_n), g_ref ← ∇ℓ(B_M);  where g·g_ref < 0: g ← g − (g·g_ref / g_ref·g_ref)·g_ref;  " +
		"θ ← θ − α·g;  M ← Reservoir(B_n, M)",
	Citation:    "Chaudhry et al., Efficient Lifelong Learning with A-GEM, ICLR 2019",
	Look:        1,
	Traits:      Traits{UsesMemory: true, TaskBoundaries: true},
	Signals:     []string{"task boundaries"},
	Settings:    []string{"memory", "replay.batch", "replay.iterations", "replay.augment"},
	Paper:       grid(rates7, decays4),
	Authors:     grid(rates7, decays4),
	CostPerStep: "2 × Finetune when the reference has as many samples as come in; 1 in the first task",
	Expect: "Little more than Finetune where classes come task by task: the stored samples steer a step, but are not learned. " +
		"CIFAR-100 in the survey: 3.7, 3.6 and 3.8 % average accuracy with 1,000, 5,000 and 10,000 samples.",
	passes: replay,
	build: func(s Setup) (ocl.Learner, error) {
		r := base(s)
		r.Memory = s.store()
		r.Retrieve = memory.Random{Size: s.ReplayBatch}
		return learner.NewAGEM(r), nil
	},
}
