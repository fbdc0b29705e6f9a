package memory

import "ocl"

// Reservoir is reservoir sampling (survey appendix A, alg:reservoir): every sample of the stream is in memory with
// the same probability Cap/Seen. While there is room, a sample is stored. Then let n be the number of samples seen
// before a batch. For its sample j = 0, 1, … a number i is drawn uniformly from {0, …, n+j}. If i < Cap the sample
// replaces that of slot i, otherwise it is dropped. One number is drawn for each sample that finds the memory full.
type Reservoir struct{}

var _ Updater = Reservoir{}

// Update implements [Updater].
func (Reservoir) Update(dst []int, m *Store, b ocl.Batch, env Env) ([]int, error) {
	length := m.Len()
	for j := range b.Len() {
		slot := -1
		if length < m.Cap() {
			slot = length
			length++
		} else if i := env.Rand.IntN(m.Seen() + j + 1); i < m.Cap() {
			slot = i
		}
		dst = append(dst, slot)
	}
	return dst, nil
}
