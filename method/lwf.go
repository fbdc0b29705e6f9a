package method

import (
	"ocl"
	"ocl/config"
	"ocl/learner"
)

var lwfMC = Option{Name: "mc", Default: false, Meaning: "LwF.MC: binary cross entropy of each output, old classes on the teacher's answers and all others on the labels"}

var lwf = Info{
	Name:    "lwf",
	Title:   "LwF",
	Summary: "Learn new classes while answering as the network did before the task.",
	Idea: "Keep a copy of the network as the last task left it, the teacher. On each incoming batch learn the labels, and on " +
		"the same images the teacher's softened answers (knowledge distillation). The more classes are old, the more the " +
		"teacher counts. No sample is stored.",
	Formula: "θ ← θ − α·∇(w·ℓ_CE(B_n) + (1 − w)·ℓ_KD(B_n)),  w = |C_new|/(|C_old| + |C_new|),  " +
		"ℓ_KD = T²·mean Σ_c −softmax(z'/T)_c·log softmax(z/T)_c,  T = 2",
	Citation:    "Li and Hoiem, Learning without Forgetting, TPAMI 2018",
	Look:        7,
	Traits:      Traits{TaskBoundaries: true},
	Signals:     []string{"task boundaries"},
	Settings:    []string{"replay.iterations", "replay.teacher", "replay.augment"},
	Teacher:     config.TeacherTraining,
	Options:     []Option{lwfMC},
	Paper:       grid(rates7, decays4),
	Authors:     grid(rates7, decays4),
	CostPerStep: "4/3 × Finetune: the teacher's forward pass; 1 in the first task",
	Expect: "Above Finetune and below replay with a large memory; forgets less, and learns new classes less well the more " +
		"there are old ones. CIFAR-100 in the survey: 7.2 % average accuracy.",
	Refuses: map[string]string{
		"kdc":  "it is this mixture already, on incoming samples alone",
		"kdc*": "it is the mixture of kdc, on incoming samples alone",
		"lb":   "its loss is tied to a teacher over all outputs; " + takesLabels,
		"ncm":  withoutMemory["ncm"],
		"rv":   withoutMemory["rv"],
		"ss":   withoutMemory["ss"],
	},
	passes: func(_ Setup, b int) []Pass { return []Pass{{Predict, []int{b}}, {Learn, []int{b}}} },
	build: func(s Setup) (ocl.Learner, error) {
		l := learner.NewLwF(s.compose(), option[bool](s, lwfMC))
		l.Teacher.Training = s.Training
		return l, nil
	},
}
