package study

// OnMachine lets a store be that of another machine, with its own way of locking.
func (s *Folder) OnMachine(name string, lock func(string) (func(), error)) {
	s.machine = "test " + name
	if lock != nil {
		s.lock = lock
	}
}

// Die unlocks what the store has locked, as the end of a process does, and leaves its files.
func (s *Folder) Die() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.mine {
		c.unlock()
		c.unlock = func() {}
	}
	clear(s.mine)
	_ = s.log.close()
}
