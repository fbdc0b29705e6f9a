package method

import (
	"ocl"
	"ocl/learner"
)

var icarl = Info{
	Name:    "icarl",
	Title:   "iCaRL",
	Summary: "Hold old classes by what the previous network said of them, and predict by class means.",
	Idea: "Each class is a yes-or-no question: those of the task are trained on labels, old ones on the answers of the network as " +
		"the last task left it, and replayed samples on those alone. To predict, no output is asked: the class wins whose stored " +
		"samples have the nearest mean feature. Herding, the original's choice of samples, needs a whole class at once, so a " +
		"reservoir takes its place.",
	Formula: "θ ← θ − α·∇ 1/|B| Σ_{x∈B} Σ_k BCE(f_k(x), t_k), B = B_n ∪ B_M;  t_k = [y = k] for classes k of this task, " +
		"σ(f'_k(x)) by the teacher f' for the others seen;  M ← Reservoir(B_n, M);  y* = argmin_y ‖φ(x) − μ_y‖, μ_y = mean φ(M_y), " +
		"φ(x) and μ_y at length 1",
	Citation: "Rebuffi et al., iCaRL: Incremental Classifier and Representation Learning, CVPR 2017",
	Look:     6,
	Traits: Traits{
		UsesMemory: true, TaskBoundaries: true, StoredTasks: true,
		Prediction: "the class whose mean feature over stored samples is nearest",
	},
	Signals:     []string{"task boundaries", "tasks of stored samples"},
	Settings:    []string{"memory", "replay.batch", "replay.teacher", "replay.augment"},
	Paper:       grid(rates7, decays4),
	Authors:     grid(rates7, decays4),
	CostPerStep: "2.7 × Finetune when as many samples are replayed as come in (the teacher's forward pass is two thirds); 1 in the first task; and a forward pass over the memory before each evaluation",
	Expect: "The best of the survey where memory is small, and little better with more of it: old classes are held by the teacher, " +
		"which also holds back new ones. CIFAR-100 in the survey: 16.7, 19.2 and 18.8 % average accuracy with 1,000, 5,000 and " +
		"10,000 samples.",
	Refuses: map[string]string{
		"kdc":  "it distils old classes by a teacher of its own",
		"kdc*": "it distils old classes by a teacher of its own",
		"lb":   "each class is a yes-or-no question to it, and " + takesLabels,
		"mi":   "it makes one step on a batch, as its authors do",
		"ncm":  "it predicts by nearest class mean already",
		"ss":   "each class is a yes-or-no question to it, and " + takesLabels,
	},
	prepared: func(stored int, _ Setup) int { return stored / 3 }, // forward alone
	passes: func(s Setup, b int) []Pass {
		both := []int{b + s.replayed()}
		return []Pass{{Predict, both}, {Learn, both}}
	},
	build: func(s Setup) (ocl.Learner, error) {
		return &learner.ICaRL{
			Net: s.Net, WS: s.WS, Opt: s.Opt, Memory: s.store(), ReplayBatch: s.ReplayBatch, Augment: s.Augment, Seed: s.Seed,
			Teacher: learner.Teacher{Training: s.Training}, Review: s.review(),
		}, nil
	},
}
