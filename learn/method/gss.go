package method

import (
	"errors"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/memory"
)

var (
	gssSize = Option{
		Name: "subset_size", Default: 10, Least: 1,
		Meaning: "n, the number of stored batches of 10 (gate sample: of stored samples) whose gradients are compared with those of what comes in",
	}
	gssSubset = Option{
		Name: "subset", Default: "batch", Choices: []string{"batch", "sample"},
		Meaning: "with gate sample. batch: draw these samples once for an incoming batch; sample: draw them again for each of its " +
			"samples, as the survey's algorithm does, which costs that many times more",
	}
	gssGate = Option{
		Name: "gate", Default: "batch", Choices: []string{"batch", "sample"},
		Meaning: "batch: accept or reject the incoming batch as a whole, as the authors' code does: compare it with n batches of 10 " +
			"stored samples, and draw slots by min–max-scaled scores; sample: accept or reject each sample by itself, as the survey's algorithm does",
	}
)

var gss = Info{
	Name: "gss",
	Text: Text{
		Title:   "GSS-Greedy",
		Summary: "Store samples whose gradients point in different directions.",
		Idea: "Like ER, with another rule for what to store. The score of a sample says how close its gradient is to the " +
			"nearest of a few stored samples' gradients. When the memory is full, samples may enter only if their gradient " +
			"points away from all of them. They replace stored samples drawn at random, most likely ones with a high score.",
		Formula: "c = max_i cos(∇ℓ(x, y), G_i) + 1 with G the gradients of n random samples of M;  while not full M ← M ∪ {(x, y)}, C ← C ∪ {c};  " +
			"then, if c < 1: i ~ C_i/ΣC, and with probability C_i/(C_i + c): M_i ← (x, y), C_i ← c",
		Citation: "Aljundi et al., Gradient Based Sample Selection for Online Continual Learning, NeurIPS 2019",
		CostPerStep: "13 × Finetune in arithmetic, with batches of 10 and n = 10: ER, plus the gradients of the incoming batch and of " +
			"10 stored batches of 10; a batch that is accepted needs these gradients twice. With gate sample 4 ×",
		Expect: "Less than ER, because a full memory keeps mostly what it got first. When each sample is accepted by itself (gate " +
			"sample), it hardly changes at all. The survey on CIFAR-100: 7.7, 11.3 and 13.4 % average accuracy with 1,000, " +
			"5,000 and 10,000 samples.",
	},
	Traits:   Traits{UsesMemory: true},
	Settings: []string{"memory", "replay.batch", "replay.iterations", "replay.joint", "replay.augment"},
	Options:  []Option{gssSize, gssSubset, gssGate},
	Tuning:   both(grid(rates4, decays2, Axis{"method.gss.subset_size", []any{10, 20, 50}})),
	Check: func(s Setup) error {
		if OptionOf[string](s, gssGate) == "batch" && OptionOf[string](s, gssSubset) == "sample" {
			return errors.New("option subset: sample cannot be used with gate batch, which draws one subset for the whole incoming batch. " +
				"Add method.gss.gate=sample, or remove subset")
		}
		return nil
	},
	Passes: func(s Setup, b int) []Pass {
		if s.Memory == 0 {
			return LearnPasses(s, b)
		}
		return append(ReplayPasses(s, b), Pass{Gradients, gssGradients(s, b)})
	},
	Build: func(s Setup) (ocl.Learner, error) {
		r := s.Replay()
		r.Memory = s.Store()
		r.Retrieve = memory.Random{Size: s.ReplayBatch}
		if s.Joint {
			r.Step = learner.Joint{}
		}
		n := OptionOf[int](s, gssSize)
		r.Update = &memory.GSS{Size: n, PerSample: OptionOf[string](s, gssSubset) == "sample"}
		if OptionOf[string](s, gssGate) == "batch" {
			r.Update = &memory.GSSBatch{Size: n}
		}
		return r, nil
	},
}

// gssGradients is the images whose gradients a memory update finds, by batch.
func gssGradients(s Setup, b int) []int {
	n := OptionOf[int](s, gssSize)
	switch {
	case OptionOf[string](s, gssGate) == "batch":
		size := min(memory.ReferenceBatch, s.Memory)
		return []int{b, min(n, s.Memory/size) * size}
	case OptionOf[string](s, gssSubset) == "sample":
		var images []int
		for range b {
			images = append(images, 1, min(n, s.Memory))
		}
		return images
	}
	return []int{b, min(n, s.Memory)}
}
