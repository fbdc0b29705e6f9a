package nn

import (
	"fmt"

	"ocl/checkpoint"
)

// SetActive makes the first k of the classes active, 1 ≤ k ≤ Capacity, for a network whose classes become known one by
// one. Logits are then [B,k]: losses and predictions do not see the others. The gradients of inactive outputs are 0 and
// optimisers leave their parameters as they were drawn, so a class that becomes active moves no bit of the others and
// begins as it would have begun at first. A network on which SetActive was never called has all classes active. The
// number is part of the state, and copies have it too. It panics for another k. No pass may be under way.
func (n *Network) SetActive(k int) {
	if k < 1 || k > n.info.Capacity {
		panic(fmt.Sprintf("nn: SetActive: %d of %d classes. Activate at least 1 and at most all", k, n.info.Capacity))
	}
	n.active = k
}

// activePart is the number of active classes. It is in the state only of a network on which SetActive was called.
func (n *Network) activePart() checkpoint.Part {
	there, k := n.active > 0, int64(n.active)
	return checkpoint.Inline(checkpoint.Parts{
		checkpoint.Either(&there, "active", checkpoint.Parts{checkpoint.Values("active", &k)}, nil),
		checkpoint.Then(func() error {
			if !there {
				n.active = 0
				return nil
			}
			if k < 1 || k > int64(n.info.Capacity) {
				return fmt.Errorf("nn: the state has %d active classes, but the network has %d, so it belongs to another configuration. Use the one it was saved with",
					k, n.info.Capacity)
			}
			n.active = int(k)
			return nil
		}),
	})
}
