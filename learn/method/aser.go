package method

import (
	"ocl"
	"ocl/learn/memory"
)

var (
	aserK        = Option{Name: "k", Default: 3, Least: 1, Most: 1000, Meaning: "K, the neighbours of the classifier by which samples are valued"}
	aserPerClass = Option{Name: "per_class", Default: 2, Least: 1, Most: 1000,
		Meaning: "samples of each class that are valued in a step, and by which; 2 with a hundred classes and 9 with ten in its paper"}
	aserScore = Option{Name: "score", Default: "mean", Choices: []string{"mean", "extreme"},
		Meaning: "mean: the mean value to stored samples less that to incoming ones (ASVμ); extreme: the largest less the smallest (ASV)"}
)

var aser = Info{
	Name: "aser",
	Text: Text{
		Title:   "ASER",
		Summary: "Replay the stored samples that other stored ones need and that lie near incoming ones of another class.",
		Idea: "Among neighbours in feature space a sample is worth what it adds to a right vote: its Shapley value, which for neighbours is a short sum. " +
			"A sample of much value to the memory stands for its class, and one of little value to the incoming batch lies near its border. Such samples are " +
			"replayed, and the memory keeps what is worth most to it.",
		Formula: "ASV_μ(i) = mean_{j∈S} s_j(i) − mean_{k∈B_n} s_k(i),  s the Shapley value of a K-nearest-neighbour vote;  B_M ← the largest of some of each " +
			"class;  M ← the largest Σ_{j∈S} s_j(i)",
		Citation:    "Shim et al., Online Class-Incremental Continual Learning with Adversarial Shapley Value, AAAI 2021",
		Since:       true,
		CostPerStep: "2 × Finetune for what it learns, and forward passes of up to 820 images more with 100 classes and 2 of each: 29 × in all",
		Expect: "For studies that compare with it, not for a first choice: a step costs several times that of ER, and as much work for plain steps is the fair " +
			"comparison (replay.iterations). Until the memory is full it is ER.",
	},
	Traits:   Traits{UsesMemory: true},
	Settings: []string{"memory", "replay.batch", "replay.iterations", "replay.augment"},
	Options:  []Option{aserK, aserPerClass, aserScore},
	Tuning: both(Grid{{"optimizer.lr", []any{0.01, 0.1}}, {"method.aser.k", []any{3, 5, 7}},
		{"method.aser.per_class", []any{2, 5, 7}}}),
	Passes: func(s Setup, b int) []Pass {
		s.Joint = false // which it does not read
		passes := ReplayPasses(s, b)
		if judged := min(s.Memory, 2*s.Classes*OptionOf[int](s, aserPerClass)); judged > 0 {
			passes = append(passes, Pass{Measure, []int{b + judged}}, Pass{Measure, []int{b + judged}})
		}
		return passes
	},
	Build: func(s Setup) (ocl.Learner, error) {
		of := memory.Shapley{K: OptionOf[int](s, aserK), PerClass: OptionOf[int](s, aserPerClass)}
		r := s.Replay()
		r.Memory = s.Store()
		r.Retrieve = &memory.ASER{Shapley: of, Size: s.ReplayBatch, Extremes: OptionOf[string](s, aserScore) == "extreme"}
		r.Update = &memory.Valued{Shapley: of}
		return r, nil
	},
}
