package method

import (
	"fmt"

	"ocl"
	"ocl/internal/portable"
	"ocl/learn/augment"
	"ocl/learn/learner"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/nn"
	"ocl/nn/tensor"
)

var (
	pcrTemperature = Option{Name: "temperature", Default: 0.09, Least: 1e-3, Most: 100,
		Meaning: "τ, by which the cosines are divided, in the loss and in predictions"}
	pcrViews = Option{Name: "views", Default: "scr", Choices: []string{"scr", "crop", "rand"},
		Meaning: "how the second view of an image is made. scr: resized crop, mirror, colour jitter and grey, as the authors; crop: crop and mirror; rand: RandAugment"}
)

var pcr = Info{
	Name: "pcr",
	Text: Text{
		Title:   "PCR",
		Summary: "Compare each image with the weights of the classes that are in the step, as a contrast, and keep a head that predicts.",
		Idea: "A contrastive loss needs many images of a class in one step; a softmax pushes down the classes that are not in it. PCR takes the " +
			"weights of a class as the one image that stands for it, and compares with the classes of the step's rows alone, each as often as it " +
			"has rows. The network sees two views of each image.",
		Formula: "L = mean_i −log(e^{cos(φ_i,w_{y_i})/τ} / Σ_j e^{cos(φ_i,w_{y_j})/τ}),  i and j over all rows of both views of B_n and B_M;  " +
			"y* = argmax_c cos(φ(x),w_c)",
		Citation:    "Lin et al., PCR: Proxy-Based Contrastive Replay for Online Class-Incremental Continual Learning, CVPR 2023",
		Since:       true,
		CostPerStep: "4 × Finetune if as many samples are replayed as arrive: ER with two views",
		Expect: "For images, where a step may cost twice that of ER and an output for each class is wanted, which SCR has not; not for embeddings, which have no views. " +
			"Forgets less than ER, and needs no large replay batch, as SCR does: 25.2 ± 1.8 % on CIFAR-100 in 10 tasks with 1,000 samples, where ER with as many " +
			"rows in a step has 12.4 ± 1.1 (three seeds).",
	},
	Traits:   Traits{UsesMemory: true},
	Settings: []string{"memory", "replay.batch", "replay.iterations", "replay.update"},
	Options:  []Option{pcrTemperature, pcrViews},
	Tuning:   both(Grid{{"optimizer.lr", []any{0.01, 0.03, 0.1}}}),
	Refuses: refusing("las lb lode ss", "both change the classes of the softmax",
		"kdc kdc* mkd", "its loss compares with the classes of a step, and a teacher answers for all",
		"rar", "PCR makes views of its own"),
	Head: func(s Setup) nn.Head {
		return nn.Head{Kind: nn.CosineHead, Scale: 1 / OptionOf[float64](s, pcrTemperature)}
	},
	Passes: func(s Setup, b int) []Pass {
		if n := s.Replayed(); n > 0 {
			return []Pass{{Learn, []int{2 * b, 2 * n}}}
		}
		return nil
	},
	CheckImages: func(_, _ int) error { return nil }, // of any size, but no embeddings, which have no views
	Build: func(s Setup) (ocl.Learner, error) {
		if s.Memory < 1 {
			return nil, fmt.Errorf("pcr: it takes no step without stored samples, and memory is 0. Use at least 1")
		}
		r := s.Replay()
		r.Memory, r.Retrieve = s.Store(), memory.Random{Size: s.ReplayBatch}
		r.Recent = &learner.Recent{Steps: 1}
		r.Step = &proxies{views: viewsOf(OptionOf[string](s, pcrViews), s.Pixels)}
		return r, nil
	},
}

// proxies is the step of PCR: two passes, the incoming and the replayed rows, each with both views of its rows, and the
// mean over all of them. The sum over the rows j is one over the classes c of the step, with n_c·e^{z_c}, which is
// [loss.Adjusted]. While nothing is stored there is no step.
type proxies struct {
	views augment.Transform

	buffers [4]memory.Buffer
	parts   [2]proxied
}

// Gradient implements [learner.Stepper].
func (p *proxies) Gradient(r *learner.Replay, _ ocl.Batch) (ocl.StepStats, error) {
	replayed, err := r.Draw()
	if err != nil {
		return ocl.StepStats{}, err
	}
	if replayed.Len() == 0 {
		return ocl.StepStats{Correct: -1}, learner.SkipStep
	}
	incoming := r.Incoming()
	rows := float64(incoming.Len() + replayed.Len())
	passes := [2]learner.Pass{incoming, replayed}
	for i, pass := range passes {
		view := pass.View(&p.buffers[2*i])
		p.views.Apply(view.X, r.Rand("views"))
		p.parts[i] = proxied{float64(pass.Len()) / rows}
		passes[i] = learner.Join(&p.buffers[2*i+1], pass, view)
		passes[i].Criterion = &p.parts[i]
	}
	stats, err := r.Accumulate(passes[0], passes[1])
	stats.Correct = -1 // a row of two views is no row of the batch
	return stats, err
}

// proxied is a share of the loss of PCR, which is that of [loss.Adjusted] but for ln n_y.
type proxied struct{ share float64 }

// Eval implements [loss.Criterion].
func (p *proxied) Eval(d *tensor.Tensor, in loss.Input) (float64, error) {
	mean, err := (&weighted{loss.Adjusted{Tau: 1}, p.share}).Eval(d, in)
	for _, y := range in.Y {
		mean += float64(p.share*portable.Log(float64(in.Counts[y]))) / float64(len(in.Y))
	}
	return mean, err
}
