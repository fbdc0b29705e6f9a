package method

import (
	"fmt"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/nn/tensor"
)

var (
	darkAlpha = Option{
		Name: "alpha", Default: 0.1, Most: 1e6,
		Meaning: "weight of the squared distance of outputs from those that were stored",
	}
	darkBeta = Option{
		Name: "beta", Default: 0.5, Most: 1e6,
		Meaning: "weight of the cross entropy of the second draw from memory",
	}
)

var derpp = Info{
	Name: "der++",
	Text: Text{
		Title:   "DER++",
		Summary: "ER that also keeps the outputs for stored samples near those that the network had when they came.",
		Idea: "The memory holds with each sample the outputs z' that the network had for it in the step in which it arrived. Each step draws " +
			"twice: the first draw holds the outputs near z', the second is learned by its labels as in ER.",
		Formula:     "θ ← θ − lr·∇(CE(B_n) + α·mean over rows and classes of (z − z')² on B' + β·CE(B''))",
		Since:       true,
		Citation:    "Buzzega et al., Dark Experience for General Continual Learning: a Strong, Simple Baseline, NeurIPS 2020",
		CostPerStep: "3 × Finetune if each draw has as many samples as arrive",
		Expect: "For few classes; not for many, as each stored sample carries a number for each class, and the outputs of a network that knew little are kept. " +
			"Forgets less than ER, because the outputs say more of a sample than its label does. With many classes it helps little: 11.6 % on CIFAR-100 in 20 tasks with 2,000 samples, where ER has 12.9 (one seed).",
	},
	Traits:   Traits{UsesMemory: true},
	Settings: []string{"memory", "replay.batch", "replay.iterations", "replay.augment", "replay.update"},
	Options:  []Option{darkAlpha, darkBeta},
	Floats:   func(s Setup) int { return s.Classes },
	Tuning: both(Grid{
		{"optimizer.lr", []any{0.01, 0.03, 0.1}},
		{"method.der++.alpha", []any{0.1, 0.2, 0.5}},
		{"method.der++.beta", []any{0.5, 1.0}},
	}),
	Refuses: refusing("mkd", "its draws from memory have losses of their own, the first of which holds outputs already"),
	Passes: func(s Setup, b int) []Pass {
		images := []int{b}
		if n := s.Replayed(); n > 0 {
			images = append(images, n, n)
		}
		return []Pass{{Work: Learn, Images: images}}
	},
	Build: func(s Setup) (ocl.Learner, error) {
		r := s.Replay()
		r.Memory, r.Retrieve = s.Store(), memory.Random{Size: s.ReplayBatch}
		r.Memory.CarryOutputs(s.Classes)
		r.Step = &dark{near: near{OptionOf[float64](s, darkAlpha)},
			again: weighted{s.Labels(), OptionOf[float64](s, darkBeta)}}
		return r, nil
	},
}

// dark is the step of DER++: incoming samples, a draw that is held near its stored outputs, and a draw with its labels.
type dark struct {
	near  near
	again weighted
}

// Gradient implements [learner.Stepper].
func (d *dark) Gradient(r *learner.Replay, _ ocl.Batch) (ocl.StepStats, error) {
	first, err := r.Draw()
	if err != nil {
		return ocl.StepStats{}, err
	}
	second, err := r.Draw()
	if err != nil {
		return ocl.StepStats{}, err
	}
	first.Criterion, second.Criterion = &d.near, &d.again
	stats, err := r.Accumulate(r.Incoming(), first, second)
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
		return 0, fmt.Errorf("der++: no outputs are stored for %d rows", len(in.Y))
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

// weighted is a weight times a loss on labels.
type weighted struct {
	loss.Criterion
	weight float64
}

// Eval implements [loss.Criterion].
func (w *weighted) Eval(d *tensor.Tensor, in loss.Input) (float64, error) {
	mean, err := w.Criterion.Eval(d, in)
	for i, g := range d.Data {
		d.Data[i] = float32(w.weight * float64(g))
	}
	return w.weight * mean, err
}
