package method

import (
	"ocl/config"
	"ocl/learn/loss"
)

var trickKDC = Trick{
	Name:    "kdc",
	Title:   "Distillation with labels",
	Summary: "Train on the labels and on the answers that the network gave before the task.",
	Idea: "After each task, keep a copy of the network, the teacher. Train on the labels of incoming and replayed samples " +
		"and on the teacher's softened outputs. The larger the share of old classes, the more the teacher counts.",
	Formula: "ℓ = λ·ℓ_CE + (1 − λ)·ℓ_KD,  λ = |C_new|/(|C_old| + |C_new|),  " +
		"ℓ_KD = T²·mean Σ_c −softmax(z'/T)_c·log softmax(z/T)_c,  T = 2",
	Citation: "Wu et al., Large Scale Incremental Learning, CVPR 2019",
	Signals:  []string{"task boundaries"},
	Settings: []string{"replay.teacher"},
	Teacher:  config.TeacherTraining,
	Cost:     "4/3 ×: the teacher's forward pass over all samples of a step; 1 × in the first task",
	Expect: "After many tasks λ is so small that new classes are hardly learned. The survey on CIFAR-100, with ER: 11.7, " +
		"10.9 and 11.9 % with 1,000, 5,000 and 10,000 samples.",
	Fills: Fills{Distil: &loss.Distilled{}},
}
