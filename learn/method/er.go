package method

import (
	"errors"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/memory"
)

var er = Info{
	Name: "er",
	Text: Text{
		Title:   "ER",
		Summary: "Replay a few stored samples with each incoming batch.",
		Idea: "Keep a small memory that holds every sample seen so far with the same probability (reservoir sampling). At each " +
			"step, draw a few stored samples at random and train on them together with the incoming batch. ER needs no task " +
			"boundaries. It is simple and cheap, and most memory methods build on it.",
		Formula:     "B_M ← Random(M);  θ ← θ − α·(∇ℓ(B_n) + ∇ℓ(B_M));  M ← Reservoir(B_n, M)",
		Citation:    "Chaudhry et al., On Tiny Episodic Memories in Continual Learning, arXiv:1902.10486, 2019",
		CostPerStep: "2 × Finetune if as many samples are replayed as arrive",
		Expect: "Forgets much less than Finetune, and less still with a larger memory. Learns new classes slightly less well at " +
			"first. The survey on CIFAR-100: 7.6, 17.0 and 18.4 % average accuracy with 1,000, 5,000 and 10,000 samples. ocl reaches about 17.7 % with 5,000, by fifteen seeds.",
	},
	Traits:   Traits{UsesMemory: true},
	Settings: []string{"memory", "replay.batch", "replay.iterations", "replay.joint", "replay.augment", "replay.update", "replay.from"},
	Tuning:   both(grid(rates7, decays4)),
	Check: func(s Setup) error {
		if s.MemoryAlone && s.Joint {
			return errors.New("replay.joint: incoming and stored samples are in one pass, but with replay.from=memory no incoming ones are learned. Remove one of them")
		}
		return nil
	},
	Passes: func(s Setup, b int) []Pass {
		if s.MemoryAlone {
			return LearnPasses(s, min(b+s.ReplayBatch, s.Memory))
		}
		return ReplayPasses(s, b)
	},
	Build: func(s Setup) (ocl.Learner, error) {
		r := s.Replay()
		r.Memory = s.Store()
		r.Retrieve = memory.Random{Size: s.ReplayBatch, Whole: s.MemoryAlone}
		switch {
		case s.MemoryAlone:
			r.Step = learner.Stored{}
		case s.Joint:
			r.Step = learner.Joint{}
		}
		return r, nil
	},
}
