package memory

// Looked is how many labels of the memory the last Update looked at.
func (g *Greedy) Looked() int { return g.looked }
