package method

import (
	"errors"
	"fmt"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/memory"
	"ocl/learn/optim"
)

var mirCandidates = Option{
	Name: "candidates", Default: 50, Least: 1,
	Meaning: "C, the number of stored samples drawn at random at each step; those that the step would harm most are replayed",
	Range:   "a whole number, at least replay.batch",
}

var mirStatistics = Option{
	Name: "statistics", Default: "kept", Choices: []string{"kept", "moved"},
	Meaning: "running statistics of batch norm in the network's pass over the candidates. kept: they stay as they are; moved: they move " +
		"towards those of the candidates, as in the authors' code",
}

const mirCitation = "Aljundi et al., Online Continual Learning with Maximally Interfered Retrieval, NeurIPS 2019"

var mir = Info{
	Name: "mir",
	Text: Text{
		Title:   "MIR",
		Summary: "Replay the stored samples that the next step would harm most.",
		Idea: "Like ER, but the replayed samples are chosen. On a copy of the network, take the step that the incoming batch " +
			"alone would cause. Draw candidates from memory and find those whose loss this step raises most. Discard the " +
			"copy, and replay these samples with the incoming batch.",
		Formula: "θ^v ← θ − α·∇ℓ(B_n);  B_M ← the replay.batch of C random samples of M with the largest ℓ(f_θv(x), y) − ℓ(f_θ(x), y);  " +
			"θ ← θ − α·(∇ℓ(B_n) + ∇ℓ(B_M));  M ← Reservoir(B_n, M)",
		Citation: mirCitation,
		CostPerStep: "5.3 × Finetune with incoming and replayed batches of 10 and 50 candidates: ER, plus two forward passes over the " +
			"candidates",
		Expect: "Like ER, or slightly better when the memory is large: it needs enough stored samples to choose from. The survey " +
			"on CIFAR-100: 7.6, 18.2 and 19.3 % average accuracy with 1,000, 5,000 and 10,000 samples. ocl reaches about 18.5 % with 5,000.",
	},
	Traits:   Traits{UsesMemory: true},
	Settings: []string{"memory", "replay.batch", "replay.iterations", "replay.augment", "replay.update"},
	Options:  []Option{mirCandidates, mirStatistics},
	Tuning:   both(grid(rates4, decays2, Axis{"method.mir.candidates", []any{25, 50, 100}})),
	Check: func(s Setup) error {
		if _, is := s.Opt.(optim.SGD); s.Opt != nil && !is {
			return errors.New("it looks ahead by a step of SGD, and optimizer.name is another optimiser. Use optimizer.name=sgd")
		}
		if c := OptionOf[int](s, mirCandidates); c < s.ReplayBatch {
			return fmt.Errorf("option candidates: %d is smaller than replay.batch (%d). Use at least %d", c, s.ReplayBatch,
				s.ReplayBatch)
		}
		return nil
	},
	Passes: func(s Setup, b int) []Pass {
		passes := LearnPasses(s, b)
		candidates := min(OptionOf[int](s, mirCandidates), s.Memory)
		if candidates > s.ReplayBatch || candidates > 0 && mirMoves(s) {
			passes = append(passes, Pass{Score, []int{candidates}}) // otherwise there is nothing to choose
		}
		if n := s.Replayed(); n > 0 {
			passes = append(passes, Pass{Learn, []int{n}})
		}
		return passes
	},
	Build: func(s Setup) (ocl.Learner, error) {
		r := s.Replay()
		r.Memory = s.Store()
		r.Retrieve = &memory.MIR{Size: s.ReplayBatch, Candidates: OptionOf[int](s, mirCandidates), Always: mirMoves(s)}
		r.Step = learner.LookAhead{Moves: mirMoves(s)}
		return r, nil
	},
}

// mirMoves says whether the candidates move the running statistics.
func mirMoves(s Setup) bool { return OptionOf[string](s, mirStatistics) == "moved" }
