package main

import (
	"fmt"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/learn/method"
	"ocl/nn/tensor"
)

var alpha = method.Option{
	Name: "alpha", Default: 0.1, Most: 1e6,
	Meaning: "weight of the squared distance of outputs from those that were stored",
}

func init() {
	method.Register(method.Info{
		Name: "der",
		Text: method.Text{
			Title:   "DER",
			Summary: "Replay without labels: outputs for stored samples stay near those that the network had when they came.",
			Idea: "The memory holds with each sample the outputs z' that the network had for it in the step in which it arrived. " +
				"Each step learns the incoming samples by their labels, and holds the outputs for replayed ones near z'.",
			Formula:     "θ ← θ − lr·∇(CE(B_n) + α·mean over rows and classes of (z − z')² on B_M)",
			Citation:    "Buzzega et al., Dark Experience for General Continual Learning: a Strong, Simple Baseline, NeurIPS 2020",
			CostPerStep: "2 × Finetune if as many samples are replayed as arrive, as ER",
			Expect:      "Forgets less than Finetune. der++ of the catalogue, which learns labels of replayed samples too, forgets less still.",
		},
		Traits:   method.Traits{UsesMemory: true},
		Settings: []string{"memory", "replay.batch", "replay.iterations", "replay.augment"},
		Options:  []method.Option{alpha},
		Floats:   func(s method.Setup) int { return s.Classes },
		Tuning: method.Tuning{Paper: method.Grid{
			{Key: "optimizer.lr", Values: []any{0.01, 0.03, 0.1}},
			{Key: "method.der.alpha", Values: []any{0.1, 0.2, 0.5}},
		}},
		Build: func(s method.Setup) (ocl.Learner, error) {
			r := s.Replay()
			r.Memory, r.Retrieve = s.Store(), memory.Random{Size: s.ReplayBatch}
			r.Memory.CarryOutputs(s.Classes)
			r.Step = &dark{near{method.OptionOf[float64](s, alpha)}}
			return r, nil
		},
	})
}

// dark is the step of DER: incoming samples with their labels, and a draw that is held near its stored outputs.
type dark struct{ near near }

// Gradient implements [learner.Stepper].
func (d *dark) Gradient(r *learner.Replay, _ ocl.Batch) (ocl.StepStats, error) {
	drawn, err := r.Draw()
	if err != nil {
		return ocl.StepStats{}, err
	}
	drawn.Criterion = &d.near
	stats, err := r.Accumulate(r.Incoming(), drawn)
	if err == nil {
		r.Keep(r.Passes()[0].Outputs)
	}
	return stats, err
}

// near is weight times the mean over rows and classes of (z − z')², with z' the stored outputs. Classes that the
// network did not have when a row was stored do not count.
type near struct{ weight float64 }

// Eval implements [loss.Criterion].
func (n *near) Eval(d *tensor.Tensor, in loss.Input) (float64, error) {
	clear(d.Data)
	count := 0
	for _, valid := range in.Valid {
		count += valid
	}
	if count == 0 {
		return 0, fmt.Errorf("der: no outputs are stored for %d rows", len(in.Y))
	}
	sum, scale := 0.0, n.weight/float64(count)
	for i, valid := range in.Valid {
		for k, z := range in.Logits.Row(i)[:valid] {
			diff := float64(z) - float64(in.Stored.Row(i)[k])
			sum += float64(diff * diff)
			d.Row(i)[k] = float32(2 * scale * diff)
		}
	}
	return scale * sum, nil
}
