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
}

var _ Retriever = Random{}

// Retrieve implements [Retriever].
func (r Random) Retrieve(dst []int, m *Store, _ ocl.Batch, env Env) ([]int, error) {
	return Sample(dst, m.Len(), r.Size, env.Rand), nil
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
