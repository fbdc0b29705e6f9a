package method

import (
	"ocl"
	"ocl/config"
	"ocl/learn/learner"
)

var lwfMC = Option{Name: "mc", Default: false,
	Meaning: "LwF.MC: binary cross entropy for each output, with the teacher's answers as targets for old classes and the labels for all others"}

var lwf = Info{
	Name: "lwf",
	Text: Text{
		Title:   "LwF",
		Summary: "Learn new classes and keep the answers that the network gave before the task.",
		Idea: "After each task, keep a copy of the network, the teacher. Train on the labels of each incoming batch and, on " +
			"the same images, on the teacher's softened outputs (knowledge distillation). The larger the share of old " +
			"classes, the more the teacher counts. No samples are stored.",
		Formula: "θ ← θ − α·∇(w·ℓ_CE(B_n) + (1 − w)·ℓ_KD(B_n)),  w = |C_new|/(|C_old| + |C_new|),  " +
			"ℓ_KD = T²·mean Σ_c −softmax(z'/T)_c·log softmax(z/T)_c,  T = 2",
		Citation:    "Li and Hoiem, Learning without Forgetting, TPAMI 2018",
		CostPerStep: "4/3 × Finetune: the teacher's forward pass; 1 × in the first task",
		Expect: "Better than Finetune, worse than replay with a large memory. It forgets less, and learns new classes less well " +
			"the more old classes there are. The survey on CIFAR-100: 7.2 % average accuracy.",
	},
	Traits:   Traits{TaskBoundaries: true},
	Signals:  []string{"task boundaries"},
	Settings: []string{"replay.iterations", "replay.teacher", "replay.augment"},
	Teacher:  config.TeacherTraining,
	Options:  []Option{lwfMC},
	Tuning:   both(grid(rates7, decays4)),
	Refuses: refusing("kdc", "it already uses this mixture, on incoming samples alone",
		"mkd", "it already distils, from the network of the last task",
		"kdc*", "it already uses the mixture of kdc, on incoming samples alone",
		"las lb lode", "its teacher needs the softmax of all outputs, and "+takesLabels, "ncm", withoutMemory["ncm"],
		"rar", withoutMemory["rar"], "rv", withoutMemory["rv"], "ss", withoutMemory["ss"]),
	Passes: func(_ Setup, b int) []Pass { return []Pass{{Predict, []int{b}}, {Learn, []int{b}}} },
	Build: func(s Setup) (ocl.Learner, error) {
		l := learner.NewLwF(s.Replay(), OptionOf[bool](s, lwfMC))
		l.Teacher.Training = s.Training
		return l, nil
	},
}
