package memory

import (
	"fmt"
	"math"
	"slices"

	"ocl"
	"ocl/checkpoint"
)

// Balanced is class-balancing reservoir sampling (Chrysakis and Moens 2020, Online Continual Learning from Imbalanced
// Data). While there is room, a sample is stored. In a full memory a sample of a class that has never been a largest
// one replaces a random sample of a largest class. A sample of another class y replaces a random one of y with
// probability m_y/n_y, where m_y of the n_y samples of y that came are stored.
//
// For a sample that finds the memory full it draws the class, if several are largest, and the sample, or a number in
// [0, n_y) and the sample.
type Balanced struct {
	seen []int64 // n_y, by class
	full []int32 // classes that have been largest in a full memory, rising

	now tally
}

var _ Updater = (*Balanced)(nil)

// Update implements [Updater]. It reads all labels of the memory once a batch.
func (c *Balanced) Update(dst []int, m *Store, b ocl.Batch, env Env) ([]int, error) {
	c.now.begin(m)
	for _, y := range b.Y {
		for int(y) >= len(c.seen) {
			c.seen = append(c.seen, 0)
		}
		c.seen[y]++
		slot := -1
		switch {
		case m.Cap() == 0:
		case len(c.now.labels) < m.Cap():
			slot = c.now.append(y)
		default:
			c.fill()
			if _, large := slices.BinarySearch(c.full, int32(y)); !large {
				slot = c.now.replace(c.now.largest(env), y, env)
			} else if n := c.now.count(y); env.Rand.Uint64N(uint64(c.seen[y])) < uint64(n) {
				slot = c.now.replace(y, y, env)
			}
		}
		dst = append(dst, slot)
	}
	return dst, nil
}

// fill notes which classes are the largest now.
func (c *Balanced) fill() {
	most := slices.Max(c.now.counts)
	for y, n := range c.now.counts {
		if at, known := slices.BinarySearch(c.full, int32(y)); n == most && !known {
			c.full = slices.Insert(c.full, at, int32(y))
		}
	}
}

func (c *Balanced) parts() checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.List("seen", &c.seen),
		checkpoint.List("full", &c.full),
		checkpoint.Then(func() error {
			bad := slices.ContainsFunc(c.seen, func(n int64) bool { return n < 0 || n == math.MaxInt64 })
			for i, y := range c.full {
				bad = bad || y < 0 || int(y) >= len(c.seen) || i > 0 && y <= c.full[i-1]
			}
			if bad {
				return fmt.Errorf("memory: the state of the balanced memory cannot be: %d classes were counted, and these were largest: %v. Use an undamaged checkpoint",
					len(c.seen), c.full)
			}
			return nil
		}),
	}
}

// SaveState implements [ocl.State].
func (c *Balanced) SaveState(e *checkpoint.Encoder) error { return c.parts().SaveState(e) }

// LoadState implements [ocl.State].
func (c *Balanced) LoadState(d *checkpoint.Decoder) error { return c.parts().LoadState(d) }
