package study

import (
	"iter"
	"maps"
	"slices"
	"time"

	"ocl/config"
)

// Runs are the configs of all runs, seed by seed of each combination, each with whether its run time is wanted.
func (s *Study) Runs() iter.Seq2[config.Config, bool] {
	return func(yield func(config.Config, bool) bool) {
		for _, g := range s.Combinations {
			for _, seed := range slices.Sorted(maps.Keys(g.Seeds)) {
				c := g.Config.Clone()
				if c.Seed = seed; !yield(c, g.Seeds[seed]) {
					return
				}
			}
		}
	}
}

// OnMachine lets a store be that of another machine, with its own way of locking.
func (s *Folder) OnMachine(name string, lock func(string) (func(), error)) {
	s.host = "test " + name
	if lock != nil {
		s.lock = lock
	}
}

// OnClock lets a store have another clock.
func (s *Folder) OnClock(now func() time.Time) { s.now = now }

// Die unlocks what the store has locked, as the end of a process does, and leaves its files.
func (s *Folder) Die() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.mine {
		c.unlock()
		c.unlock = func() {}
	}
	clear(s.mine)
}
