package method

import (
	"ocl"
	"ocl/learn/augment"
)

var (
	rarOperations = Option{Name: "operations", Default: 1, Most: 10,
		Meaning: "operations of RandAugment on each image; 0 leaves images as they are"}
	rarMagnitude = Option{Name: "magnitude", Default: 14, Most: 30, Meaning: "magnitude of these operations"}
	rarAuthors   = Option{Name: "authors", Default: false,
		Meaning: "three times as many operations, as the authors' code does by chance"}
	// with the default of the authors' best result with 2,000 samples
	rarIterations = Option{Name: "iterations", Default: 5, Least: 1, Most: 1000,
		Meaning: "steps on each incoming batch, where replay.iterations is 1"}
)

var trickRehearsal = Trick{
	Name:    "rar",
	Title:   "Repeated augmented rehearsal",
	Summary: "Take several steps on each incoming batch, with new replay batches and new augmentations of both.",
	Idea: "Several steps on a batch overfit a small memory. If each of them sees other samples and other changes of the images, they do not. " +
		"The memory is updated once, and holds images as they came. There are method.rar.iterations steps, or replay.iterations if that is more than 1.",
	Formula:  "iterations times: B_M ← Retrieve(M); θ ← θ − α·∇ℓ(RandAugment(B_n), RandAugment(B_M));  then M ← Update(B_n, M)",
	Citation: "Zhang et al., A Simple but Strong Baseline for Online Continual Learning: Repeated Augmented Rehearsal, NeurIPS 2022",
	Settings: []string{"replay.iterations"},
	Options:  []Option{rarOperations, rarMagnitude, rarAuthors, rarIterations},
	Cost:     "iterations ×",
	Expect: "For images, a small memory, and time for several steps on a batch; not for streams in real time, and not for embeddings. " +
		"The largest known gain at equal memory, at as many times the cost as there are steps. Its authors report 27.8 % on CIFAR-100 in 20 " +
		"tasks with 2,000 samples and class means, where ER has 19.0.",
	Images: true,
	Fills:  Fills{Iterations: 5, Transform: rehearsed(1, 14)},
	With: func(s Setup) Fills {
		n := TrickOptionOf[int](s, "rar", rarOperations)
		if TrickOptionOf[bool](s, "rar", rarAuthors) {
			n *= 3
		}
		return Fills{Iterations: TrickOptionOf[int](s, "rar", rarIterations),
			Transform: rehearsed(n, TrickOptionOf[int](s, "rar", rarMagnitude))}
	},
}

// rehearsed makes what changes the images of rar.
func rehearsed(n, magnitude int) func(ocl.PixelValues) augment.Transform {
	return func(values ocl.PixelValues) augment.Transform {
		return &augment.RandAugment{N: n, M: magnitude, Values: values}
	}
}
