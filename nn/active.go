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
	if k < 1 || k > n.classes {
		panic(fmt.Sprintf("nn: SetActive: %d of %d classes. Activate at least 1 and at most all", k, n.classes))
	}
	n.active = k
}

// Capacity is the number of classes that a network can have, active ones and others.
func (n *Network) Capacity() int { return n.classes }

// Classes is K: labels are in [0, K). It is the number of active classes, all unless SetActive was called.
func (n *Network) Classes() int {
	if n.active > 0 {
		return n.active
	}
	return n.classes
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
			if k < 1 || k > int64(n.classes) {
				return fmt.Errorf("nn: the state has %d active classes, but the network has %d, so it belongs to another configuration. Use the one it was saved with",
					k, n.classes)
			}
			n.active = int(k)
			return nil
		}),
	})
}

// AppendInactive appends the parameters of inactive outputs to dst, in the order of Params. There are none where all
// classes are active.
func (n *Network) AppendInactive(dst []float32) []float32 {
	if n.Classes() == n.classes {
		return dst
	}
	for _, p := range n.list {
		if !p.Classes {
			continue
		}
		for at := p.Offset; at < p.Offset+p.Len(); at += p.Out {
			dst = append(dst, n.params[at+n.active:at+p.Out]...)
		}
	}
	return dst
}

// SetInactive sets what belongs to inactive outputs in v [P], a number for each parameter, to values, as many as
// AppendInactive appends, or to 0 if values is nil.
func (n *Network) SetInactive(v, values []float32) {
	if n.Classes() == n.classes {
		return
	}
	for _, p := range n.list {
		if !p.Classes {
			continue
		}
		for at := p.Offset; at < p.Offset+p.Len(); at += p.Out {
			row := v[at+n.active : at+p.Out]
			if values == nil {
				clear(row)
				continue
			}
			copy(row, values)
			values = values[len(row):]
		}
	}
}
