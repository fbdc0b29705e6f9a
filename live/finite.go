package live

import (
	"fmt"
	"slices"

	"ocl"
)

// finite is an error that wraps [ocl.ErrDiverged] where a weight or a running statistic of the network is NaN or
// infinite. The loss of a step is computed before the update that follows from it, so it may be finite, and the weights
// after it are not. What methods sum without a network are float64 sums of finite features, which they check
// themselves.
//
// Σ x² in float64 is finite where all x, which are float32, are finite, and the kernels take a hundredth of what a step
// takes. Only the goroutine that learns may call it.
func (k *core) finite() error {
	for _, list := range [][]float32{k.net.Params(), k.net.Running()} {
		if sum := k.ws.Dot(list, list); sum-sum != 0 {
			at := slices.IndexFunc(list, func(v float32) bool { return v-v != 0 })
			return fmt.Errorf("%w: the last step made a weight of %v. Use a smaller learning rate", ocl.ErrDiverged, list[at])
		}
	}
	return nil
}
