// Package nn holds the layers, networks and workspaces of the engine, in its own memory layouts (docs/engine.md). It
// knows nothing of labels, losses or methods: a caller turns logits into their gradient. Start at [Network].
package nn

import "ocl/tensor"

// Mode says how batch norm behaves in a forward pass.
type Mode int

const (
	// Train normalises with the batch's statistics and moves the running ones.
	Train Mode = iota
	// Probe normalises with the batch's statistics and leaves the running ones alone.
	Probe
	// Eval normalises with the running statistics.
	Eval
)

// Model is what learners use of a network; *Network implements it.
//
// Params and Grads are flat views [P] in one fixed order. Whoever writes to Params calls Changed, so that weights
// packed for the kernels are packed again. Tensors returned by Forward and Features belong to the workspace and hold
// until its next use.
type Model interface {
	Params() []float32
	Grads() []float32
	Changed()
}

var _ = tensor.New
