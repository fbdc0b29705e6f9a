package memory

import (
	"fmt"
	"slices"

	"ocl"
	"ocl/checkpoint"
)

// Important stores every sample, in place of the least important one of a largest class: the memory of CLIB (Koh et al.
// 2022, Online Continual Learning on Class Incremental Blurry Task Configuration with Anytime Inference). The incoming
// sample counts for how large its class is. It begins with the mean importance of the stored samples of its class, or
// of all where there are none.
//
// The learner sets H. For each sample that finds the memory full it draws two numbers: which of the largest classes,
// and which of the samples that are least important.
type Important struct {
	H []float64 // importance of the sample in each filled slot

	now   tally
	least []int
}

var (
	_ Updater   = (*Important)(nil)
	_ Remover   = (*Important)(nil)
	_ ocl.State = (*Important)(nil)
)

// Update implements [Updater]. It reads all labels of the memory once a batch, and once more for each row.
func (u *Important) Update(dst []int, m *Store, b ocl.Batch, env Env) ([]int, error) {
	if len(u.H) != m.Len() {
		return nil, fmt.Errorf("memory: there are %d importances of %d samples, so the state belongs to another configuration. Use the one it was saved with",
			len(u.H), m.Len())
	}
	u.now.begin(m)
	for _, y := range b.Y {
		slot := -1
		switch h := u.mean(y); {
		case m.Cap() == 0:
		case len(u.now.labels) < m.Cap():
			slot = u.now.append(y)
			u.H = append(u.H, h)
		default:
			slot = u.weakest(u.now.largestWith(y, env), env)
			u.now.put(slot, y)
			u.H[slot] = h
		}
		dst = append(dst, slot)
	}
	return dst, nil
}

// mean is the mean importance of a class, or of all samples where it has none.
func (u *Important) mean(y ocl.Label) float64 {
	sum, n := 0.0, u.now.count(y)
	for slot, label := range u.now.labels {
		if n == 0 || label == y {
			sum += u.H[slot]
		}
	}
	if n == 0 {
		n = len(u.now.labels)
	}
	return sum / float64(max(n, 1))
}

// weakest draws one of the slots of a class that are least important.
func (u *Important) weakest(y ocl.Label, env Env) int {
	u.least = u.least[:0]
	for slot, label := range u.now.labels {
		if label != y {
			continue
		}
		if len(u.least) > 0 && u.H[slot] < u.H[u.least[0]] {
			u.least = u.least[:0]
		}
		if len(u.least) == 0 || u.H[slot] == u.H[u.least[0]] {
			u.least = append(u.least, slot)
		}
	}
	return u.least[env.Rand.IntN(len(u.least))]
}

// Removed implements [Remover].
func (u *Important) Removed(slot, last int) {
	u.H[slot] = u.H[last]
	u.H = u.H[:last]
}

func (u *Important) parts() checkpoint.Parts {
	return checkpoint.Parts{checkpoint.List("importance", &u.H), checkpoint.Then(func() error {
		if slices.ContainsFunc(u.H, func(h float64) bool { return h-h != 0 }) {
			return fmt.Errorf("memory: the state has an importance that is no number. Use an undamaged checkpoint")
		}
		return nil
	})}
}

// SaveState implements [ocl.State].
func (u *Important) SaveState(e *checkpoint.Encoder) error { return u.parts().SaveState(e) }

// LoadState implements [ocl.State].
func (u *Important) LoadState(d *checkpoint.Decoder) error { return u.parts().LoadState(d) }
