package memory

import (
	"slices"

	"ocl"
)

// Greedy is GDumb's greedy balancing sampler (survey appendix A, alg:gdumb). With k = Cap and Y the set of classes
// seen so far, a sample is stored if its class is new or holds fewer than k_c = k/|Y| samples. In a full memory it
// replaces a random sample of the largest class; if several classes are largest, one of them is drawn. For each
// sample that it stores into a full memory it draws two numbers: the class, then the sample. Once every class has
// offered enough samples, class counts differ by at most one.
//
// Y is the set of the stored classes. A class that was seen but has left the memory completely counts as new. Its
// sample is stored, which 0 < k_c also says. The other classes hold at most one sample each in this case, so for them
// the rule rejects more in either case.
type Greedy struct {
	labels []ocl.Label // the memory's, as the rows of a batch change them
	counts []int       // by class
}

var _ Updater = (*Greedy)(nil)

// Update implements [Updater]. It reads all labels of the memory once a batch, and once more for each replacement.
func (g *Greedy) Update(dst []int, m *Store, b ocl.Batch, env Env) ([]int, error) {
	g.labels = slices.Grow(g.labels[:0], m.Cap())[:m.Len()]
	g.counts = g.counts[:0]
	classes := 0
	for slot := range g.labels {
		y := m.Label(slot)
		g.labels[slot] = y
		if g.add(y, 1) == 1 {
			classes++
		}
	}
	for _, y := range b.Y {
		slot := -1
		// Whole numbers, so that no rounding decides: count < k/|Y|.
		if n := g.add(y, 0); m.Cap() > 0 && (n == 0 || n*classes < m.Cap()) {
			slot = len(g.labels)
			if slot < m.Cap() {
				g.labels = append(g.labels, y)
			} else {
				largest := g.largest(env)
				slot = g.member(largest, env.Rand.IntN(g.counts[largest]))
				g.labels[slot] = y
				if g.add(largest, -1) == 0 {
					classes--
				}
			}
			if g.add(y, 1) == 1 {
				classes++
			}
		}
		dst = append(dst, slot)
	}
	return dst, nil
}

// add changes the count of a class and returns it.
func (g *Greedy) add(y ocl.Label, n int) int {
	for int(y) >= len(g.counts) {
		g.counts = append(g.counts, 0)
	}
	g.counts[y] += n
	return g.counts[y]
}

// largest draws one of the classes with the most samples.
func (g *Greedy) largest(env Env) ocl.Label {
	most, ties := slices.Max(g.counts), 0
	for _, n := range g.counts {
		if n == most {
			ties++
		}
	}
	drawn := env.Rand.IntN(ties)
	for y, n := range g.counts {
		if n != most {
			continue
		}
		if drawn == 0 {
			return ocl.Label(y)
		}
		drawn--
	}
	panic("memory: Greedy: the largest class is gone")
}

// member returns the slot of the n-th stored sample of class y, counted from 0.
func (g *Greedy) member(y ocl.Label, n int) int {
	for slot, label := range g.labels {
		if label == y {
			if n == 0 {
				return slot
			}
			n--
		}
	}
	panic("memory: Greedy: a class holds fewer samples than were counted")
}
