package method

import (
	"ocl"
	"ocl/learner"
	"ocl/memory"
)

var icarl = Info{
	Name:    "icarl",
	Title:   "iCaRL",
	Summary: "Hold old classes by what the previous network said of them, and predict by class means.",
	Idea: "Each class is a yes-or-no question of its own (binary cross entropy). New classes are trained on their labels, old " +
		"ones on the answers of the network as it was when the last task ended. Samples of earlier tasks are replayed with " +
		"those answers only, so that the many new samples do not drown them. To predict, the features of the stored samples " +
		"are averaged for each class, and the nearest mean wins; the biased output layer is not asked. The original's choice of " +
		"samples (herding) needs all samples of a class at once, so a reservoir takes its place.",
	Formula: "θ ← θ − α·∇ 1/|B| Σ_{x∈B} Σ_k BCE(f_k(x), t_k), B = B_n ∪ B_M;  t_k = [y = k] for classes k of this task, " +
		"σ(f'_k(x)) by the teacher f' for the others seen;  M ← Reservoir(B_n, M);  y* = argmin_y ‖φ(x) − μ_y‖, μ_y = mean φ(M_y)",
	Citation: "Rebuffi et al., iCaRL: Incremental Classifier and Representation Learning, CVPR 2017",
	Traits: Traits{
		UsesMemory: true, TaskBoundaries: true, StoredTasks: true,
		Prediction: "the class whose mean feature over stored samples is nearest",
	},
	Signals:     []string{"task boundaries", "tasks of stored samples"},
	Settings:    []string{"memory", "replay.batch"},
	Paper:       grid(rates7, decays4),
	Authors:     grid(rates7, decays4),
	CostPerStep: "2.7 × Finetune when as many samples are replayed as come in (the teacher's forward pass is two thirds); 1 in the first task; and a forward pass over the memory before each evaluation",
	Expect: "The best of the survey where memory is small, and little better with more of it: old classes are held by the teacher, " +
		"which also holds back new ones. CIFAR-100 in the survey: 16.7, 19.2 and 18.8 % average accuracy with 1,000, 5,000 and " +
		"10,000 samples.",
	prepared: func(stored int, _ Setup) int { return stored / 3 }, // forward alone
	build: func(s Setup) (ocl.Learner, error) {
		return &learner.ICaRL{
			Net: s.Net, WS: s.WS, Opt: s.Opt, Memory: memory.NewStore(s.Memory, s.Shape), ReplayBatch: s.ReplayBatch, Seed: s.Seed,
		}, nil
	},
}
