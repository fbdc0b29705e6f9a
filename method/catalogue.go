package method

import (
	"ocl"
	"ocl/learner"
	"ocl/memory"
)

// catalogue is sorted by name. A new method is one more entry.
var catalogue = []Info{
	{
		Name:    "er",
		Title:   "ER",
		Summary: "Replay a few stored samples beside each incoming batch.",
		Idea: "Keep a small memory in which every sample of the stream so far is equally likely to be (reservoir sampling). " +
			"At each step draw a few stored samples at random and learn from them together with the incoming batch. " +
			"No task boundaries are needed. " +
			"Simple, cheap, and the base of most memory methods.",
		Formula:     "B_M ← Random(M);  θ ← θ − α·(∇ℓ(B_n) + ∇ℓ(B_M));  M ← Reservoir(B_n, M)",
		Citation:    "Chaudhry et al., On Tiny Episodic Memories in Continual Learning, arXiv:1902.10486, 2019",
		Traits:      Traits{UsesMemory: true},
		Settings:    []string{"memory", "replay.batch", "replay.iterations", "replay.joint"},
		CostPerStep: "2 × Finetune when as many samples are replayed as come in",
		Expect: "Forgets much less than Finetune, the less the larger the memory. New classes are learned a little less well " +
			"at first, because each step is shared with old ones.",
		build: func(s Setup) (ocl.Learner, error) {
			r := base(s)
			r.Memory = memory.NewStore(s.Memory, s.Shape)
			r.Retrieve = memory.Random{Size: s.ReplayBatch}
			if s.Joint {
				r.Step = learner.Joint{}
			}
			return r, nil
		},
	},
	{
		Name:    "finetune",
		Title:   "Finetune",
		Summary: "Learn from the incoming batches alone; the lower bound.",
		Idea: "Take a gradient step on each incoming batch and keep nothing. " +
			"The network follows the newest task and overwrites what it knew. " +
			"It shows how much there is to forget: a method that does not beat it does not help.",
		Formula:     "θ ← θ − α·∇ℓ(B_n)",
		Citation:    "Mai et al., Online Continual Learning in Image Classification: An Empirical Survey, arXiv:2101.10423, 2021",
		Settings:    []string{"replay.iterations"},
		CostPerStep: "1",
		Expect: "High accuracy on the task just learned and nearly none on all others, so the average accuracy is about the " +
			"accuracy of one task divided by the number of tasks.",
		build: func(s Setup) (ocl.Learner, error) { return base(s), nil },
	},
}

// base is Finetune, and what every Replay starts from.
func base(s Setup) *learner.Replay {
	return &learner.Replay{Net: s.Net, WS: s.WS, Opt: s.Opt, Iterations: s.Iterations, Seed: s.Seed}
}
