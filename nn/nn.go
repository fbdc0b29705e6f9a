// Package nn holds the layers, networks and workspaces of the engine, in its own memory layouts (docs/engine.md). It
// knows nothing of labels, losses or methods: the caller computes the gradient of the logits. Start at [Network].
package nn

// Mode says how batch norm behaves in a forward pass.
type Mode int

const (
	// Train normalises with the batch's statistics and moves the running ones.
	Train Mode = iota
	// BatchOnly normalises with the batch's statistics and leaves the running ones alone.
	BatchOnly
	// Eval normalises with the running statistics.
	Eval
)

func roundUp(n, m int) int { return (n + m - 1) / m * m }
