package experiment

import "sync"

// crowd counts the runs that train or test at the same time in one experiment of this process, so that a result says
// whether its seconds are those of a run alone. A run that is kept, or waits for its turn, is not among them. The zero
// value is empty.
type crowd struct {
	mu   sync.Mutex
	most map[*run]int // of each run at work: the most that were at work with it, itself included
}

// join counts a run until it leaves.
func (c *crowd) join(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.most == nil {
		c.most = map[*run]int{}
	}
	c.most[r] = 1
	for other := range c.most {
		c.most[other] = max(c.most[other], len(c.most))
	}
}

func (c *crowd) leave(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.most, r)
}

// of is the most that were at work with r, 0 for a run that has not joined.
func (c *crowd) of(r *run) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most[r]
}
