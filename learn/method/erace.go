package method

import (
	"math"
	"slices"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/nn"
	"ocl/nn/tensor"
)

var erACEScale = Option{Name: "scale", Default: 0.0, Most: 1e6,
	Meaning: "scale of a cosine head without biases, 10 in the authors' code; 0 takes the head that network.head says"}

var erACE = Info{
	Name: "er-ace",
	Text: Text{
		Title:   "ER-ACE",
		Summary: "ER whose incoming samples do not push the outputs of old classes down.",
		Idea: "When a class appears, plain ER pushes the outputs of all old classes down for the sake of the new one, and the features of " +
			"stored samples move. ER-ACE leaves the old classes out of the softmax of the incoming samples: it has the classes of the batch " +
			"and those that were never observed. Stored samples are learned among all classes.",
		Formula:     "θ ← θ − α·∇(CE(B_n over classes of B_n and never observed ones) + CE(B_M over all classes))",
		Since:       true,
		Citation:    "Caccia et al., New Insights on Reducing Abrupt Representation Change in Online Continual Learning, ICLR 2022",
		CostPerStep: "2 × Finetune if as many samples are replayed as arrive, as ER",
		Expect: "For tasks of new classes and a small memory, at ER's cost; not for streams in which old classes keep coming, where little is to be protected. " +
			"Learns new classes more slowly than ER, forgets old ones much less, and has the higher average accuracy with a small memory: 16.6 ± 1.4 % on CIFAR-100 in 20 tasks with 2,000 samples, where ER has 13.7 ± 1.6 (three seeds).",
	},
	Traits:   Traits{UsesMemory: true},
	Settings: []string{"memory", "replay.batch", "replay.iterations", "replay.augment", "replay.update"},
	Options:  []Option{erACEScale},
	Head: func(s Setup) nn.Head {
		if scale := OptionOf[float64](s, erACEScale); scale > 0 {
			return nn.Head{Kind: nn.CosineHead, Scale: scale}
		}
		return nn.Head{}
	},
	Tuning: both(Grid{{"optimizer.lr", []any{0.01, 0.03, 0.1}}}),
	Refuses: refusing("las lb lode ss", "both change the classes of the softmax",
		"kdc kdc*", "the loss on incoming samples would need the outputs of old classes"),
	Build: func(s Setup) (ocl.Learner, error) {
		r := s.Replay()
		r.Memory, r.Retrieve = s.Store(), memory.Random{Size: s.ReplayBatch}
		r.Criterion, r.Seen = asymmetric{}, &learner.Seen{}
		if of, follows := s.Criterion().(loss.MeanDistilled); follows {
			of.Labels = asymmetric{}
			r.Criterion = of
		}
		return r, nil
	},
}

// asymmetric is the loss of ER-ACE: cross entropy, that of incoming rows without the classes that were observed before
// and are not in the batch.
type asymmetric struct{}

// Eval implements [loss.Criterion].
func (asymmetric) Eval(d *tensor.Tensor, in loss.Input) (float64, error) {
	if !in.Role.Has(loss.Incoming) {
		return loss.CrossEntropy{}.Eval(d, in)
	}
	copy(d.Data, in.Logits.Data)
	for _, k := range in.Seen {
		if slices.Contains(in.Y, k) {
			continue
		}
		for i := range in.Y {
			d.Row(i)[k] = float32(math.Inf(-1)) // e^z is 0
		}
	}
	in.Logits = d
	return loss.CrossEntropy{}.Eval(d, in)
}
