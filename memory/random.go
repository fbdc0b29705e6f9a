package memory

import "ocl"

// Random is random retrieval: Size of the filled slots, uniformly without replacement, or all of them when there are
// fewer. Samples of the current task and of the incoming batch's classes are eligible. It draws one number a slot.
type Random struct {
	Size int // rows to replay beside each incoming batch
}

var _ Retriever = Random{}

// Retrieve implements [Retriever]. The draw is Floyd's: as many numbers as slots, and no list of all slots.
func (r Random) Retrieve(dst []int, m *Store, _ ocl.Batch, env Env) ([]int, error) {
	start := len(dst)
	length := m.Len()
	for j := length - min(r.Size, length); j < length; j++ {
		slot := env.Rand.IntN(j + 1)
		for _, taken := range dst[start:] {
			if taken == slot {
				slot = j
				break
			}
		}
		dst = append(dst, slot)
	}
	return dst, nil
}
