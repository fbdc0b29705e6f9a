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
	// Always stores every sample, also one of a largest class: the memory of CLIB (Koh et al. 2022) without its scores.
	Always bool

	now tally
}

var _ Updater = (*Greedy)(nil)

// Update implements [Updater]. It reads all labels of the memory once a batch, and once more for each replacement.
func (g *Greedy) Update(dst []int, m *Store, b ocl.Batch, env Env) ([]int, error) {
	g.now.begin(m)
	for _, y := range b.Y {
		slot := -1
		// Whole numbers, so that no rounding decides: count < k/|Y|.
		if n := g.now.count(y); m.Cap() > 0 && (g.Always || n == 0 || n*g.now.classes < m.Cap()) {
			if len(g.now.labels) < m.Cap() {
				slot = g.now.append(y)
			} else {
				slot = g.now.replace(g.now.largest(env), y, env)
			}
		}
		dst = append(dst, slot)
	}
	return dst, nil
}

// tally has the labels of a memory as the rows of a batch change them.
type tally struct {
	labels  []ocl.Label // by slot
	counts  []int       // by class
	classes int         // with samples
}

// begin reads the labels of a memory.
func (t *tally) begin(m *Store) {
	t.labels = slices.Grow(t.labels[:0], m.Cap())[:m.Len()]
	t.counts, t.classes = t.counts[:0], 0
	for slot := range t.labels {
		t.labels[slot] = m.Label(slot)
		t.add(t.labels[slot], 1)
	}
}

// add changes the count of a class.
func (t *tally) add(y ocl.Label, n int) {
	before := t.count(y)
	t.counts[y] += n
	switch {
	case before == 0 && n > 0:
		t.classes++
	case before > 0 && t.counts[y] == 0:
		t.classes--
	}
}

// count is how many samples a class has.
func (t *tally) count(y ocl.Label) int {
	for int(y) >= len(t.counts) {
		t.counts = append(t.counts, 0)
	}
	return t.counts[y]
}

// append stores a sample into the next free slot, which it returns.
func (t *tally) append(y ocl.Label) (slot int) {
	t.labels = append(t.labels, y)
	t.add(y, 1)
	return len(t.labels) - 1
}

// replace stores a sample of class y in place of a random one of another class, or of y, and returns its slot.
func (t *tally) replace(of, y ocl.Label, env Env) (slot int) {
	slot = t.member(of, env.Rand.IntN(t.counts[of]))
	t.put(slot, y)
	return slot
}

// put stores a sample of class y in place of the one in a slot.
func (t *tally) put(slot int, y ocl.Label) {
	t.add(t.labels[slot], -1)
	t.labels[slot] = y
	t.add(y, 1)
}

// largestWith is largest among the classes with samples, with one more of y.
func (t *tally) largestWith(y ocl.Label, env Env) ocl.Label {
	if t.count(y) > 0 {
		t.counts[y]++
		defer func() { t.counts[y]-- }()
	}
	return t.largest(env)
}

// largest draws one of the classes with the most samples.
func (t *tally) largest(env Env) ocl.Label {
	most, ties := slices.Max(t.counts), 0
	for _, n := range t.counts {
		if n == most {
			ties++
		}
	}
	drawn := env.Rand.IntN(ties)
	for y, n := range t.counts {
		if n != most {
			continue
		}
		if drawn == 0 {
			return ocl.Label(y)
		}
		drawn--
	}
	panic("memory: the largest class is gone")
}

// member returns the slot of the n-th stored sample of class y, counted from 0.
func (t *tally) member(y ocl.Label, n int) int {
	for slot, label := range t.labels {
		if label == y {
			if n == 0 {
				return slot
			}
			n--
		}
	}
	panic("memory: a class holds fewer samples than were counted")
}
