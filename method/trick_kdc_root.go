package method

import (
	"ocl/config"
	"ocl/loss"
)

var trickKDCRoot = Trick{
	Name:    "kdc*",
	Title:   "Distillation with labels, by a root",
	Summary: "kdc with more weight on the labels.",
	Idea: "The trick kdc with the root of its λ: distillation alone no longer rules the loss once most classes are old. Quote the name in " +
		"a shell: 'kdc*'. The survey's authors' code never gives this trick a teacher; replay.kdc_star: authors does the same.",
	Formula:  "ℓ = λ·ℓ_CE + (1 − λ)·ℓ_KD,  λ = √(|C_new|/(|C_old| + |C_new|))",
	Citation: surveyCitation,
	Signals:  []string{"task boundaries"},
	Settings: []string{"replay.teacher", "replay.kdc_star"},
	Teacher:  config.TeacherTraining,
	Cost:     "4/3 ×: the teacher's forward pass of all rows; 1 in the first task",
	Expect:   "ER on CIFAR-100 in the survey: 12.6, 21.2 and 24.2 % with 1,000, 5,000 and 10,000 samples.",
	Fills: Fills{
		Distil:      func(labels loss.Criterion) loss.Criterion { return loss.Distilled{Labels: labels, Root: true} },
		Undistilled: func(labels loss.Criterion) loss.Criterion { return loss.Undistilled{Labels: labels} },
	},
}
