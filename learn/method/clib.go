package method

import (
	"fmt"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/memory"
)

// Values of the option rate of CLIB.
const (
	clibAdaptive = "adaptive"
	clibFixed    = "fixed"
)

var (
	clibEvery = Option{Name: "every", Default: 1, Least: 1, Most: 1_000_000,
		Meaning: "steps between two measurements of all that is stored. 10 cost a tenth, and say less of each sample"}
	clibRate = Option{Name: "rate", Default: clibAdaptive, Choices: []string{clibAdaptive, clibFixed},
		Meaning: "adaptive: the learning rate falls by 5 % where the loss then falls faster, and rises where it does not; fixed: it stays"}
)

var clib = Info{
	Name: "clib",
	Text: Text{
		Title:   "CLIB",
		Summary: "Learn stored samples alone, keep those that lower the loss of the memory most, and adapt the learning rate to how it falls.",
		Idea: "Where classes mix, a batch says little about the stream, so each step learns a random part of the memory alone. A sample is " +
			"important if steps with it lower the loss of all that is stored, measured after every step. Each incoming sample takes the place " +
			"of the least important one of a largest class. The same measurements say at which of two rates the loss falls faster.",
		Formula: "B ← Random(M);  θ ← θ − α·∇ℓ(B);  ΔL = L(M) before − after, H_i ← H_i + 0.1·(ΔL/|B| − H_i) for i in B;  " +
			"M ← B_n in place of argmin H of a largest class;  α ← 0.95·α or α/0.95 where ΔL is larger at it",
		Citation:    "Koh et al., Online Continual Learning on Class Incremental Blurry Task Configuration with Anytime Inference, ICLR 2022",
		Since:       true,
		CostPerStep: "35.3 × Finetune with a memory of 1,000 and batches of 10, as all of it is measured after each step; 5.3 × with every 10, and as ER with a very large one",
		Expect: "For streams that mix tasks (stream.kind iblurry) and are evaluated at any time, not for who counts the work: `er` with replay.from=memory and " +
			"replay.update=greedy is CLIB without measurements, at ER's cost. Its authors report an area under the curve of accuracy of 70.3 there, on CIFAR-10 " +
			"with a wide ResNet-18, where ER has 57.5. The paper has Adam with 0.0003.",
	},
	Traits:   Traits{UsesMemory: true},
	Settings: []string{"memory", "replay.batch", "replay.iterations", "replay.augment"},
	Options:  []Option{clibEvery, clibRate},
	Tuning:   both(Grid{{"optimizer.lr", []any{0.01, 0.03, 0.1}}}),
	Refuses:  refusing("lode", "it learns no incoming batch, whose classes the trick tells apart"),
	Passes: func(s Setup, b int) []Pass {
		passes := LearnPasses(s, min(b+s.ReplayBatch, s.Memory))
		if OptionOf[int](s, clibEvery) == 1 {
			passes = append(passes, Pass{Measure, []int{s.Memory}})
		}
		return passes
	},
	Build: func(s Setup) (ocl.Learner, error) {
		if s.Memory < 1 {
			return nil, fmt.Errorf("clib: it takes no step without stored samples, and memory is 0. Use at least 1")
		}
		r := s.Replay()
		r.Memory, r.Retrieve = s.Store(), memory.Random{Size: s.ReplayBatch, Whole: true}
		learner.NewCLIB(r, OptionOf[int](s, clibEvery), OptionOf[string](s, clibRate) == clibFixed)
		return r, nil
	},
}
