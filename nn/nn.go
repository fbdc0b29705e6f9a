// Package nn holds the layers, networks and workspaces of the engine, in its own memory layouts (docs/engine.md). It
// knows nothing of labels, losses or methods: the caller computes the gradient of the logits. Start at [Network].
//
// Package arch makes networks. A network belongs to its caller and a [Workspace] holds the maps of a pass, with a
// number of workers that does not change a bit of the result:
//
//	c := arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 100, NF: 20}
//	net, err := arch.ResNet18(c, rng.New(1, "network/init"))
//	ws := net.NewWorkspace(2)
//	defer ws.Close()
//	net.ZeroGrads()
//	logits := net.Forward(ws, x, nn.Train) // [B,100]
//	ws.Backward(d)                         // d [B,100] is the gradient of the mean loss
//
// [Network.Accumulate] does both for several batches at once. A wrong shape is a bug of the caller and panics. So does
// a batch that is too large for the memory or for the integers of the engine; [Network.Footprint] says before what a
// pass takes, and whether it can be.
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
