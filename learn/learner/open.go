package learner

import (
	"ocl"
	"ocl/learn/memory"
)

// MemoryOf is the memory of a learner; nil where it has none or does not show it.
func MemoryOf(l ocl.Learner) *memory.Store {
	switch l := l.(type) {
	case Open:
		return l.Parts().Memory
	case Storing:
		return l.Stored()
	}
	return nil
}

var (
	_ Open = (*Replay)(nil)
	_ Open = (*GDumb)(nil)
	_ Open = (*ICaRL)(nil)
)

// Parts implements [Open].
func (r *Replay) Parts() Parts {
	return Parts{Net: r.predicting(), WS: r.WS, Memory: r.Memory, ByLogits: r.Net.Info().Head.PerClass()}
}

// Parts implements [Open]. The network can be used only between Prepare and the next Observe.
func (g *GDumb) Parts() Parts { return Parts{Net: g.Net, WS: g.WS, Memory: g.Memory, ByLogits: true} }

// Parts implements [Open].
func (l *ICaRL) Parts() Parts { return Parts{Net: l.Net, WS: l.WS, Memory: l.Memory, Means: &l.ncm} }
