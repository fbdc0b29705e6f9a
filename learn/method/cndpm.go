package method

import (
	"errors"
	"fmt"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/memory"
	"ocl/nn/arch"
)

var (
	cndpmLogAlpha = Option{Name: "log_alpha", Default: -300.0, Least: -1e9, Most: 1e9,
		Meaning: "how readily a sample is stored for a new expert, in nats; higher makes more experts (see `ocl methods cndpm`)"}
	cndpmChill = Option{Name: "classifier_chill", Default: 0.01, Range: "a number from 1e-06 to 1", Least: 1e-6, Most: 1,
		Meaning: "divides the log-probabilities of classifiers where an expert is chosen; a lower one counts classes more against images"}
	cndpmVAESteps = Option{Name: "sleep_vae_steps", Default: 4000, Least: 1, Most: 1e7,
		Meaning: "training steps of a new expert's autoencoder; most of the time of a run is proportional to it"}
	cndpmClassifierSteps = Option{Name: "sleep_classifier_steps", Default: 1000, Least: 1, Most: 1e7,
		Meaning: "training steps of a new expert's classifier"}
	cndpmBatch = Option{Name: "sleep_batch", Default: 50, Least: 1, Most: 100_000,
		Meaning: "stored samples in each training step of a new expert; --memory must be at least as large"}
	cndpmDraws = Option{Name: "z_samples", Default: 16, Least: 1, Most: 1000,
		Meaning: "codes that an autoencoder draws and decodes for each image"}
	cndpmLatent = Option{Name: "z_dim", Default: 64, Least: 1, Most: 10_000, Meaning: "values of a code"}
	cndpmL2     = Option{Name: "l2", Default: 1e-5, Least: 0, Most: 1,
		Meaning: "weight of the squared parameters in the loss while a new expert is trained"}
	cndpmClip = Option{Name: "clip", Default: 0.5, Range: "a number, at least 1e-06", Least: 1e-6,
		Meaning: "largest absolute value of each gradient; a larger one is set to it"}
	cndpmWakeRate = Option{Name: "wake_rate", Default: 0.2, Least: 0, Most: 100,
		Meaning: "factor of the learning rate of an expert once its first training has ended"}
	cndpmNetRate = Option{Name: "classifier_rate", Default: 1.0, Least: 0, Most: 1000,
		Meaning: "factor of the learning rate of classifiers; that of autoencoders is optimizer.lr"}
	cndpmVariance = Option{Name: "vae_log_variance", Default: 0.0, Least: -20, Most: 20,
		Meaning: "logarithm of the variance of a pixel around what an autoencoder decodes"}
	cndpmVAEWidth = Option{Name: "vae_features", Default: 32, Least: 1, Most: 4096,
		Meaning: "channels of the first map of the first expert's encoder"}
	cndpmVAEGrowth = Option{Name: "vae_growth", Default: 4, Least: 1, Most: 4096,
		Meaning: "channels of the first map of each further expert's encoder"}
	cndpmNetWidth = Option{Name: "classifier_features", Default: 20, Least: 1, Most: 4096,
		Meaning: "channels of the first map of the first expert's classifier"}
	cndpmNetGrowth = Option{Name: "classifier_growth", Default: 4, Least: 1, Most: 4096,
		Meaning: "channels of the first map of each further expert's classifier"}
	cndpmNetBlocks = Option{Name: "classifier_blocks", Default: 1, Least: 1, Most: 100,
		Meaning: "residual blocks in each of the four stages of a classifier"}
)

// cndpmGrid returns the axes that CN-DPM tunes. Weight decay is not among them.
func cndpmGrid(rates, chills, alphas []any) Grid {
	return Grid{{"optimizer.lr", rates}, {"method.cndpm.classifier_chill", chills}, {"method.cndpm.log_alpha", alphas}}
}

// cndpmNetworks are the networks of an expert, without their engine.
func cndpmNetworks(s Setup) (arch.VAEConfig, arch.SharingConfig) {
	c, h, w := s.Shape[0], s.Shape[1], s.Shape[2]
	return arch.VAEConfig{
			Channels: c, Height: h, Width: w, Features: OptionOf[int](s, cndpmVAEWidth),
			Growth: OptionOf[int](s, cndpmVAEGrowth),
			Latent: OptionOf[int](s, cndpmLatent), Draws: OptionOf[int](s, cndpmDraws),
			LogVariance: OptionOf[float64](s, cndpmVariance),
		}, arch.SharingConfig{
			Channels: c, Height: h, Width: w, Classes: s.Classes, Features: OptionOf[int](s, cndpmNetWidth),
			Growth: OptionOf[int](s, cndpmNetGrowth),
			Blocks: OptionOf[int](s, cndpmNetBlocks),
		}
}

var cndpm = Info{
	Name: "cndpm",
	Text: Text{
		Title:   "CN-DPM",
		Summary: "A mixture of experts that grows: images that no expert explains are collected, and a new expert is trained on them.",
		Idea: "Each expert has an autoencoder, which says how unlikely an image is, and a classifier. The expert that explains a " +
			"sample best learns it. If none does, it is stored. When the memory is full, a new expert is trained on it for thousands of " +
			"steps, and the memory is emptied. Experts of earlier tasks stay as they are, so little is forgotten.",
		Formula: "k* = argmin_k −log p_k(x) − log p_k(y|x) − log n_k, k = 0..K;  k* = 0: M ← M ∪ (x,y), else expert k* learns;  " +
			"|M| = mem_sz: expert K+1 ← M, M ← ∅;  p(y|x) ∝ Σ_k n_k p_k(x) p_k(y|x)",
		Citation:    "Lee et al., A Neural Dirichlet Process Mixture Model for Task-Free Continual Learning, ICLR 2020",
		CostPerStep: "a step costs 16 decoded images for each sample and expert; each new expert is trained for 5,000 steps, which takes nearly all the time of a run",
		Expect: "A method that forgets little and learns little: 14.0 % average accuracy in the survey on CIFAR-100, with a short-term memory of " +
			"1,000 samples. If a run ends with one expert, log_alpha is too low.",
		Advice: []Advice{
			{"log_alpha", "A sample is stored for a new expert if every expert explains it worse than an untrained one by more than −log_alpha nats. " +
				"If a run ends with one expert, use a higher value; if every full memory becomes an expert although the data are alike, use a lower one. " +
				"The survey tries −100 to −500 at 32×32 pixels, −800 to −1200 at 84×84."},
			{"classifier_chill",
				"Images count in hundreds of nats and labels in a few, so the log-probabilities of classifiers are divided by this number. " +
					"Lower it if new classes are given to old experts; raise it if images of known classes are stored. " +
					"The survey tries 0.001 to 0.1 at 32×32 pixels, about 0.001 for larger images."},
			{"--memory", "It is how many samples make an expert. Time is in proportion to the number of experts, so a small memory is slow, and its experts see " +
				"little; a large one mixes tasks in an expert. Start with half to all of the samples of a task."},
		},
	},
	Traits: Traits{
		UsesMemory: true, OwnNetworks: true,
		Prediction: "the most probable class of the mixture of all experts; before the first expert, the class with the nearest mean of the stored images",
	},
	Settings: []string{"memory"},
	Options: []Option{cndpmLogAlpha, cndpmChill, cndpmVAESteps, cndpmClassifierSteps, cndpmBatch, cndpmDraws, cndpmLatent,
		cndpmL2, cndpmClip, cndpmWakeRate,
		cndpmNetRate, cndpmVariance, cndpmVAEWidth, cndpmVAEGrowth, cndpmNetWidth, cndpmNetGrowth, cndpmNetBlocks},
	Tuning: Tuning{
		Paper:   cndpmGrid([]any{0.0001, 0.001, 0.01, 0.1}, []any{0.001, 0.01, 0.1}, []any{-100.0, -300.0, -500.0}),
		Authors: cndpmGrid([]any{0.0001, 0.001, 0.01, 0.1}, []any{0.001, 0.01, 0.1}, []any{-100.0, -300.0, -500.0}),
		PaperOn: map[Data]Grid{
			MiniImageNet:   cndpmGrid([]any{0.001, 0.005, 0.01}, []any{0.001, 0.0015, 0.002}, []any{-1200.0, -1000.0, -800.0}),
			CORe50NC:       cndpmGrid([]any{0.001, 0.01}, []any{0.0005, 0.001, 0.002}, []any{-1200.0, -1000.0, -800.0, -300.0}),
			CORe50NI:       cndpmGrid([]any{0.001, 0.01}, []any{0.0005, 0.001, 0.002}, []any{-1200.0, -1000.0, -800.0, -300.0}),
			NSMiniImageNet: cndpmGrid([]any{0.001, 0.005, 0.01}, []any{0.0005, 0.001, 0.002}, []any{-15000.0, -5000.0, -500.0}),
		},
		AuthorsOn: map[Data]Grid{ // cndpm_tune_mini.yml, cndpm_tune_core50.yml and cndpm_tune_mini_ni.yml
			MiniImageNet:   cndpmGrid([]any{0.005, 0.007, 0.01}, []any{0.001, 0.0015, 0.002}, []any{-1200.0, -1000.0, -800.0}),
			CORe50NC:       cndpmGrid([]any{0.01}, []any{0.0005, 0.001, 0.002}, []any{-1200.0, -1000.0, -800.0, -300.0}),
			CORe50NI:       cndpmGrid([]any{0.01}, []any{0.0005, 0.001, 0.002}, []any{-1200.0, -1000.0, -800.0, -300.0}),
			NSMiniImageNet: cndpmGrid([]any{0.005, 0.007, 0.01}, []any{0.0005, 0.001, 0.002}, []any{-15000.0, -5000.0, -500.0}),
		},
	},
	Refuses: refusing("kdc kdc* mkd", "its experts share no outputs to distil",
		"las lb lode ss", "its loss is that of a mixture of experts, not one softmax", "mi rar", "an expert learns a batch in one step",
		"ema ncm", "it has no features that all classes share", "rv", "its memory is emptied whenever an expert was trained on it"),
	Begins: func(s Setup) int { // the placeholder
		vae, net := cndpmNetworks(s)
		return vae.Size(0) + net.Size(0)
	},
	Grows:       cndpmGrowth,
	CheckImages: arch.CheckExpert,
	Check: func(s Setup) error {
		if batch := OptionOf[int](s, cndpmBatch); s.Memory < batch {
			return fmt.Errorf("memory: %d is smaller than method.cndpm.sleep_batch (%d), the samples in a training step of a new expert. Use --memory %d or more",
				s.Memory, batch, batch)
		}
		if s.Normalises {
			return errors.New("stream.mean and stream.std change the values of pixels, but the experts decode values from 0 to 1. Remove both, or cndpm")
		}
		return nil
	},
	Build: func(s Setup) (ocl.Learner, error) {
		vae, net := cndpmNetworks(s)
		vae.Engine, net.Engine = s.Net.Info().Engine, s.Net.Info().Engine
		if err := arch.CheckExpert(vae.Height, vae.Width); err != nil {
			return nil, fmt.Errorf("method: cndpm: %w", err)
		}
		return &learner.CNDPM{
			WS: s.WS, Opt: s.Opt, Memory: memory.NewStore(2*s.Memory-1, s.Shape, s.Pixels), Capacity: s.Memory,
			Inherit: s.Net.Info().Inherited, Seed: s.Seed, InitSeed: s.InitSeed,
			VAE: vae, Net: net,
			LogAlpha: OptionOf[float64](s, cndpmLogAlpha), Chill: OptionOf[float64](s, cndpmChill),
			VAESteps: OptionOf[int](s, cndpmVAESteps), ClassifierSteps: OptionOf[int](s, cndpmClassifierSteps),
			Batch: OptionOf[int](s, cndpmBatch),
			L2:    OptionOf[float64](s, cndpmL2), Clip: OptionOf[float64](s, cndpmClip),
			WakeRate: OptionOf[float64](s, cndpmWakeRate), ClassifierRate: OptionOf[float64](s, cndpmNetRate),
		}, nil
	},
}

// cndpmGrowth is the estimate where every sample is stored, so that there are as many experts as there can be: the
// sleeps, and for each sample what it takes to measure it by all experts that there are then and to teach it to one.
func cndpmGrowth(s Setup, samples, _ int) (g Growth) {
	vae, net := cndpmNetworks(s)
	draws := float64(vae.Draws)
	steps := float64(OptionOf[int](s, cndpmBatch)) * float64(OptionOf[int](s, cndpmVAESteps))
	netSteps := float64(OptionOf[int](s, cndpmBatch)) * float64(OptionOf[int](s, cndpmClassifierSteps))
	g.Experts = samples / max(1, s.Memory)
	encodes, classifies, measure := 0.0, 0.0, 0.0 // of all experts so far
	blank := workOf(vae, net, 0)
	for k := range g.Experts {
		w := workOf(vae, net, k)
		encodes, classifies = encodes+w.encode, classifies+w.classify
		g.Learn += steps*(encodes+2*w.encode+3*draws*w.decode) + netSteps*(classifies+2*w.classify)
		measure += w.encode + w.classify + draws*w.decode
		learn := 3 * (w.encode + w.classify + draws*w.decode)
		g.Learn += float64(s.Memory) * (measure + blank.encode + blank.classify + draws*blank.decode + learn)
		g.Parameters += vae.Size(k) + net.Size(k)
		g.Image += measure / float64(g.Experts)
	}
	return g
}

// expertWork is the operations of an expert for an image or a code.
type expertWork struct{ encode, decode, classify float64 }

func workOf(vae arch.VAEConfig, net arch.SharingConfig, before int) expertWork {
	encode, decode := vae.Work(before)
	return expertWork{float64(encode), float64(decode), float64(net.Work(before))}
}
