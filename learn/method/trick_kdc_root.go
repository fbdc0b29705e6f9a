package method

import (
	"ocl/config"
	"ocl/learn/loss"
)

var trickKDCRoot = Trick{
	Name:    "kdc*",
	Title:   "Distillation with labels, square root",
	Summary: "Like kdc, with more weight on the labels.",
	Idea: "The weight of the labels is the square root of the λ of kdc. So distillation does not dominate the loss when " +
		"most classes are old. In a shell, put the name in quotes: 'kdc*'. The public code of the survey's authors never " +
		"gives this trick a teacher; replay.kdc_star: authors does the same.",
	Formula:  "ℓ = λ·ℓ_CE + (1 − λ)·ℓ_KD,  λ = √(|C_new|/(|C_old| + |C_new|))",
	Citation: surveyCitation,
	Signals:  []string{"task boundaries"},
	Settings: []string{"replay.teacher", "replay.kdc_star"},
	Teacher:  config.TeacherTraining,
	Cost:     "4/3 ×: the teacher's forward pass over all samples of a step; 1 × in the first task",
	Expect: "Learns new classes better than kdc. The survey on CIFAR-100, with ER: 12.6, 21.2 and 24.2 % with 1,000, 5,000 " +
		"and 10,000 samples.",
	Fills: Fills{Distil: &loss.Distilled{Root: true}, Alone: true},
}
