package method

import (
	"errors"

	"ocl"
	"ocl/learner"
	"ocl/memory"
)

var (
	gssSize = Option{
		Name: "subset_size", Default: 10, Least: 1,
		Meaning: "n, stored samples whose gradients an incoming one is compared with",
	}
	gssSubset = Option{
		Name: "subset", Default: "batch", Choices: []string{"batch", "sample"},
		Meaning: "draw those once for an incoming batch, or anew for each of its samples, as the survey's algorithm does, at so many times the cost",
	}
	gssGate = Option{
		Name: "gate", Default: "sample", Choices: []string{"sample", "batch"},
		Meaning: "let each sample pass by itself, or the batch as a whole, as the authors' code does: compared with n batches of 10 stored " +
			"samples, slots drawn by min–max-scaled scores",
	}
)

var gss = Info{
	Name:    "gss",
	Title:   "GSS-Greedy",
	Summary: "Keep samples whose gradients point elsewhere than those of others.",
	Idea: "ER with another memory. A sample's score is how close its gradient is to the closest of a few stored samples' gradients. " +
		"Once the memory is full only samples that point away from all of these may come in, " +
		"each in the place of one that is drawn by its score, the less likely the higher its own.",
	Formula: "c = max_i cos(∇ℓ(x, y), G_i) + 1 with G the gradients of n random samples of M;  while not full M ← M ∪ {(x, y)}, C ← C ∪ {c};  " +
		"then, if c < 1: i ~ C_i/ΣC, and with probability C_i/(C_i + c): M_i ← (x, y), C_i ← c",
	Citation:    "Aljundi et al., Gradient Based Sample Selection for Online Continual Learning, NeurIPS 2019",
	Look:        5,
	Traits:      Traits{UsesMemory: true},
	Settings:    []string{"memory", "replay.batch", "replay.iterations", "replay.joint", "replay.augment"},
	Options:     []Option{gssSize, gssSubset, gssGate},
	Paper:       grid(rates4, decays2, Axis{"method.gss.subset_size", []any{10, 20, 50}}),
	Authors:     grid(rates4, decays2, Axis{"method.gss.subset_size", []any{10, 20, 50}}),
	CostPerStep: "4 × Finetune by arithmetic, with batches of 10 and n = 10: ER and 20 gradients of single samples",
	Expect: "Less than ER: diverse gradients keep odd samples rather than typical ones. " +
		"CIFAR-100 in the survey: 7.7, 11.3 and 13.4 % average accuracy with 1,000, 5,000 and 10,000 samples.",
	check: func(s Setup) error {
		if option[string](s, gssGate) == "batch" && option[string](s, gssSubset) == "sample" {
			return errors.New("option subset: sample, but gate batch draws what it compares with once for the incoming batch; " +
				"want subset batch with it; take one of the two options away")
		}
		return nil
	},
	passes: func(s Setup, b int) []Pass {
		if s.Memory == 0 {
			return learn(s, b)
		}
		return append(replay(s, b), Pass{Gradients, gssGradients(s, b)})
	},
	build: func(s Setup) (ocl.Learner, error) {
		r := base(s)
		r.Memory = s.store()
		r.Retrieve = memory.Random{Size: s.ReplayBatch}
		if s.Joint {
			r.Step = learner.Joint{}
		}
		n := option[int](s, gssSize)
		r.Update = &memory.GSS{Size: n, PerSample: option[string](s, gssSubset) == "sample"}
		if option[string](s, gssGate) == "batch" {
			r.Update = &memory.GSSBatch{Size: n}
		}
		return r, nil
	},
}

// gssGradients is the images whose gradients a memory update finds, by batch.
func gssGradients(s Setup, b int) []int {
	n := option[int](s, gssSize)
	switch {
	case option[string](s, gssGate) == "batch":
		size := min(memory.ReferenceBatch, s.Memory)
		return []int{b, min(n, s.Memory/size) * size}
	case option[string](s, gssSubset) == "sample":
		var images []int
		for range b {
			images = append(images, 1, min(n, s.Memory))
		}
		return images
	}
	return []int{b, min(n, s.Memory)}
}
