package method

import (
	"ocl"
	"ocl/config"
	"ocl/learn/learner"
)

var icarl = Info{
	Name: "icarl",
	Text: Text{
		Title:   "iCaRL",
		Summary: "Train old classes on the answers of the previous network, and predict by the nearest class mean.",
		Idea: "Each class is a yes-or-no question. The classes of the task are trained on labels, old classes on the answers " +
			"of the network after the last task (the teacher), and replayed samples on these answers alone. A test " +
			"image gets the class whose stored samples have the nearest mean feature. A reservoir replaces the original " +
			"herding, which needs a whole class at once.",
		Formula: "θ ← θ − α·∇ 1/|B| Σ_{x∈B} Σ_k BCE(f_k(x), t_k), B = B_n ∪ B_M;  t_k = [y = k] for classes k of this task, " +
			"σ(f'_k(x)) by the teacher f' for the others seen;  M ← Reservoir(B_n, M);  y* = argmin_y ‖φ(x) − μ_y‖, μ_y = mean φ(M_y), " +
			"φ(x) and μ_y at length 1",
		Citation: "Rebuffi et al., iCaRL: Incremental Classifier and Representation Learning, CVPR 2017",
		CostPerStep: "2.7 × Finetune if as many samples are replayed as arrive (the teacher's forward pass is 0.7 of it); 1 × in the " +
			"first task; and a forward pass over the memory before each evaluation",
		Expect: "The best method of the survey when the memory is small; a larger memory helps little. The teacher keeps the old " +
			"classes but makes it harder to learn new ones. The survey on CIFAR-100: 16.7, 19.2 and 18.8 % average accuracy with " +
			"1,000, 5,000 and 10,000 samples. ocl reaches about 20 % with 5,000.",
	},
	Traits: Traits{
		UsesMemory: true, TaskBoundaries: true, StoredTasks: true, OwnOutputs: true, ClassMeans: true,
		Prediction: "the class whose stored samples have the nearest mean feature",
	},
	Signals:  []string{"task boundaries", "tasks of stored samples"},
	Settings: []string{"memory", "replay.batch", "replay.teacher", "replay.augment"},
	Teacher:  config.TeacherTraining,
	Tuning:   both(grid(rates7, decays4)),
	Refuses: refusing("kdc kdc* mkd", "it already distils old classes from a teacher of its own",
		"las lb lode ss", "it treats each class as a yes-or-no question, and "+takesLabels,
		"mi rar", "it takes one step on each batch, as the survey's authors do",
		"ema", "its teacher is the network itself, at the end of a task", "ncm", "it already predicts by the nearest class mean"),
	Prepared: func(stored int, _ Setup) int { return stored / 3 }, // forward alone
	Passes: func(s Setup, b int) []Pass {
		both := []int{b + s.Replayed()}
		return []Pass{{Predict, both}, {Learn, both}}
	},
	Build: func(s Setup) (ocl.Learner, error) {
		return &learner.ICaRL{
			Net: s.Net, WS: s.WS, Opt: s.Opt.New(), Memory: s.Store(), ReplayBatch: s.ReplayBatch, Augment: s.Augment,
			Seed:    s.Seed,
			Teacher: learner.Teacher{Training: s.Training}, Review: s.Review(),
		}, nil
	},
}
