package method

import (
	"fmt"
	"math"

	"ocl"
	"ocl/internal/portable"
	"ocl/learn/augment"
	"ocl/learn/learner"
	"ocl/learn/memory"
	"ocl/nn"
	"ocl/nn/tensor"
)

var (
	scrTemperature = Option{
		Name: "temperature", Default: 0.07, Least: 0.001, Most: 100,
		Meaning: "τ, by which the similarities of projections are divided",
	}
	scrProjection = Option{
		Name: "projection", Default: 128, Least: 2, Most: 4096,
		Meaning: "outputs of the projection head",
	}
	scrViews = Option{
		Name: "views", Default: "scr", Choices: []string{"scr", "crop", "rand"},
		Meaning: "how the second view of an image is made. scr: resized crop, mirror, colour jitter and grey, as the authors; crop: crop and mirror; rand: RandAugment",
	}
)

var scr = Info{
	Name: "scr",
	Text: Text{
		Title:   "SCR",
		Summary: "Bring the features of a class together and those of different classes apart, and predict by class means.",
		Idea: "Each step shows the network the incoming and many stored samples, and a second, augmented view of all of them. A projection " +
			"head maps the features to a sphere. The loss pulls samples of one class together there and pushes others away. The head is left " +
			"out of predictions: an image gets the class whose stored samples have the nearest mean feature, so no output favours new classes.",
		Formula: "p = head(φ)/‖head(φ)‖ of both views of B_n ∪ B_M;  L = mean_i −1/|P_i| Σ_{j∈P_i} log(exp(p_i·p_j/τ) / Σ_{a≠i} exp(p_i·p_a/τ));  " +
			"y* = argmin_y ‖φ(x) − μ_y‖",
		Since: true,
		Citation: "Mai et al., Supervised Contrastive Replay: Revisiting the Nearest Class Mean Classifier in Online Class-Incremental Continual " +
			"Learning, CVPR Workshops 2021",
		CostPerStep: "4 × Finetune if as many samples are replayed as arrive; 22 × with replay.batch 100 and batches of 10, as its authors",
		Expect: "For images, where a step may replay a hundred stored ones and class means are to predict; not where steps must be cheap, and not for embeddings, which have no views. " +
			"33.0 % on CIFAR-100 in 20 tasks with 2,000 samples and replay.batch 100, where ER has 12.9, at ten times its cost (one seed).",
		Advice: []Advice{{Of: "replay.batch",
			Text: "100, as the authors: with few stored samples most classes of a step have no others to be compared with"}},
	},
	Traits: Traits{
		UsesMemory: true, ClassMeans: true,
		Prediction: "the class whose stored samples have the nearest mean feature",
	},
	Settings: []string{"memory", "replay.batch", "replay.iterations", "replay.update"},
	Options:  []Option{scrTemperature, scrProjection, scrViews},
	Tuning: both(Grid{
		{"optimizer.lr", []any{0.01, 0.03, 0.1}},
		{"method.scr.temperature", []any{0.07, 0.1}},
	}),
	Refuses: refusing("ncm", "SCR predicts by class means anyway", "las lb lode ss", "SCR has no softmax over classes",
		"kdc kdc* mkd", "SCR has no outputs for classes that could be distilled",
		"rar", "SCR makes views of its own", "rv", "a review learns by outputs for classes, which SCR does not have"),

	Head: func(s Setup) nn.Head {
		return nn.Head{Kind: "projection", Out: OptionOf[int](s, scrProjection)}
	},
	Passes: func(s Setup, b int) []Pass {
		n := b + s.Replayed()
		return []Pass{{Work: Learn, Images: []int{n, n}}}
	},
	Prepared:    func(stored int, _ Setup) int { return stored },
	CheckImages: func(_, _ int) error { return nil }, // of any size, but no embeddings, which have no views
	Build: func(s Setup) (ocl.Learner, error) {
		if s.Memory < 1 {
			return nil, fmt.Errorf("scr: it learns and predicts by its memory, and memory is 0. Use at least 1")
		}
		r := s.Replay()
		r.Memory, r.Retrieve = s.Store(), memory.Random{Size: s.ReplayBatch}
		r.Step = &contrast{temperature: OptionOf[float64](s, scrTemperature),
			views: viewsOf(OptionOf[string](s, scrViews), s.Pixels)}
		return &learner.Nearest{Replay: r}, nil
	},
}

// viewsOf makes what changes the second view of images that values of pixels were made of.
func viewsOf(name string, values ocl.PixelValues) augment.Transform {
	switch name {
	case "crop":
		return &augment.CropFlip{}
	case "rand":
		return &augment.RandAugment{N: 2, M: 9, Values: values}
	}
	return augment.Compose{
		&augment.ResizedCrop{Scale: [2]float64{0.2, 1}},
		&augment.Flip{P: 0.5},
		&augment.ColorJitter{P: 0.8, Brightness: 0.4, Contrast: 0.4, Saturation: 0.4, Hue: 0.1, Values: values},
		&augment.Grey{P: 0.2, Values: values},
	}
}

// contrast is the step of SCR.
type contrast struct {
	temperature float64
	views       augment.Transform

	together        learner.TogetherLoss // loss; a method value that is made once
	joined, changed memory.Buffer
	y               []ocl.Label
	lengths         []float64 // of the outputs
	p, dp           []float64 // projections [n,D] and their gradients
	weights         []float64 // [n,n]: dL by the similarity of i and j
}

// Gradient implements [learner.Stepper]. The two views are two passes, each with its own batch statistics.
func (c *contrast) Gradient(r *learner.Replay, _ ocl.Batch) (ocl.StepStats, error) {
	replayed, err := r.Draw()
	if err != nil {
		return ocl.StepStats{}, err
	}
	if replayed.Len() == 0 {
		return ocl.StepStats{Correct: -1}, learner.SkipStep
	}
	if c.together == nil {
		c.together = c.loss
	}
	plain := learner.Join(&c.joined, r.Incoming(), replayed)
	view := plain.View(&c.changed)
	c.views.Apply(view.X, r.Rand("views"))
	stats, err := r.AccumulateTogether(c.together, plain, view)
	stats.Correct = -1 // the outputs are not those of classes
	return stats, err
}

// loss is the supervised contrastive loss of all rows of the passes, each of which is an anchor. It writes the
// gradients of the outputs to d.
func (c *contrast) loss(passes []learner.Pass, d []*tensor.Tensor) (float64, error) {
	c.project(passes)
	n, dim := len(c.y), len(c.p)/len(c.y)
	c.weights, c.dp = room(c.weights, n*n), room(c.dp, n*dim)
	loss := 0.0
	for i := range n {
		for j := range i {
			s := dot(c.p[i*dim:][:dim], c.p[j*dim:][:dim]) / c.temperature
			c.weights[i*n+j], c.weights[j*n+i] = s, s
		}
	}
	for i := range n {
		loss += c.anchor(i) / float64(n)
	}
	clear(c.dp)
	for i := range n {
		for j := range n {
			g := (c.weights[i*n+j] + c.weights[j*n+i]) / c.temperature / float64(n)
			to, from := c.dp[i*dim:][:dim], c.p[j*dim:][:dim]
			for k, v := range from {
				to[k] += float64(g * v)
			}
		}
	}
	row := 0
	for at := range passes {
		for i := range passes[at].Y {
			p, dp := c.p[row*dim:][:dim], c.dp[row*dim:][:dim]
			along := dot(p, dp)
			for k := range p {
				d[at].Row(i)[k] = float32((dp[k] - float64(along*p[k])) / c.lengths[row])
			}
			row++
		}
	}
	return loss, nil
}

// project scales the outputs of all rows to length 1.
func (c *contrast) project(passes []learner.Pass) {
	c.y, c.lengths, c.p = c.y[:0], c.lengths[:0], c.p[:0]
	for _, pass := range passes {
		c.y = append(c.y, pass.Y...)
		for i := range pass.Y {
			square := 0.0
			for _, v := range pass.Outputs.Row(i) {
				square += float64(float64(v) * float64(v))
			}
			length := math.Sqrt(square)
			c.lengths = append(c.lengths, length)
			for _, v := range pass.Outputs.Row(i) {
				c.p = append(c.p, float64(v)/length)
			}
		}
	}
}

// anchor is the loss of row i, whose similarities are in the weights. It replaces them by the gradients of the loss.
// Row i itself is left out.
func (c *contrast) anchor(i int) float64 {
	s := c.weights[i*len(c.y):][:len(c.y)]
	largest, positives, near := math.Inf(-1), 0, 0.0
	for j, v := range s {
		if j == i {
			continue
		}
		largest = math.Max(largest, v)
		if c.y[j] == c.y[i] {
			positives++
			near += v
		}
	}
	sum := 0.0
	for j, v := range s {
		if j != i {
			sum += portable.Exp(v - largest)
		}
	}
	loss := largest + portable.Log(sum) - near/float64(positives)
	for j, v := range s {
		s[j] = portable.Exp(v-largest) / sum
		if c.y[j] == c.y[i] {
			s[j] -= 1 / float64(positives)
		}
	}
	s[i] = 0
	return loss
}

// dot is the product of two vectors.
func dot(a, b []float64) float64 {
	sum := 0.0
	for k, v := range a {
		sum += float64(v * b[k])
	}
	return sum
}

// room is a slice of length n, the given one if it is large enough.
func room(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}
