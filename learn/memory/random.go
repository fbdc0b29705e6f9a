package memory

import (
	"ocl"
	"ocl/rng"
)

// Random is random retrieval: Size of the filled slots, uniformly without replacement, or all of them if there are
// fewer. Samples of the current task and of the incoming batch's classes may be chosen too. It draws one number for
// each slot.
type Random struct {
	Size int // rows to replay beside each incoming batch
	// Whole chooses as many more as rows arrive, for a step that learns from the memory alone.
	Whole bool
}

var _ Retriever = Random{}

// Retrieve implements [Retriever].
func (r Random) Retrieve(dst []int, m *Store, b ocl.Batch, env Env) ([]int, error) {
	size := r.Size
	if r.Whole {
		size += b.Len()
	}
	return Sample(dst, m.Len(), size, env.Rand), nil
}

// Sample appends to dst k of the numbers [0, n), uniformly without replacement, or all of them when there are fewer.
// The draw is Floyd's: as many numbers as it chooses, and no list of all n.
func Sample(dst []int, n, k int, src *rng.Source) []int {
	start := len(dst)
	for j := n - min(k, n); j < n; j++ {
		chosen := src.IntN(j + 1)
		for _, taken := range dst[start:] {
			if taken == chosen {
				chosen = j
				break
			}
		}
		dst = append(dst, chosen)
	}
	return dst
}
