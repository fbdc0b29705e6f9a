package learner

import (
	"ocl"
	"ocl/learn/memory"
	"ocl/nn"
	"ocl/nn/tensor"
)

// Open learners show what they predict with. Then one pass over the test images is enough for an evaluation to find
// what the learner predicts, what another classifier predicts (survey §trick_detail), and why (§error_ana).
type Open interface {
	ocl.Learner
	// Parts may be used between two calls of Observe, and must not be changed.
	Parts() Parts
	// Decide is Predict for images that have already gone through the network, with batch norm by its running
	// statistics. It reads only the outputs that its rule needs, and has the same preconditions as Predict. If an
	// output that it reads is not a finite number it returns ErrDiverged.
	Decide(dst []ocl.Label, o nn.Outputs) error
}

// Parts are what a learner predicts by.
type Parts struct {
	Net      *nn.Network
	WS       *nn.Workspace
	Memory   *memory.Store // nil without memory
	ByLogits bool          // Decide is the class of the largest logit, and logit k is that of class k
	Means    *NCM          // Decide is the class of the nearest of these; nil is another rule
}

// Scored is implemented by learners that are not [Open] but can return a score for each class.
type Scored interface {
	ocl.Learner
	// Scores writes log p(y|x) of each class and each row of x [B,C,H,W], less a number for each row, to dst [B,K]. The class of
	// the highest score is predicted. It changes nothing.
	Scores(dst []float64, x *tensor.Tensor) error
}

// MemoryOf is the memory of a learner; nil where it has none or does not show it.
func MemoryOf(l ocl.Learner) *memory.Store {
	switch l := l.(type) {
	case Open:
		return l.Parts().Memory
	case *CNDPM:
		return l.Memory
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
	return Parts{Net: r.Net, WS: r.WS, Memory: r.Memory, ByLogits: r.Net.Head().PerClass()}
}

// Parts implements [Open]. The network can be used only between Prepare and the next Observe.
func (g *GDumb) Parts() Parts { return Parts{Net: g.Net, WS: g.WS, Memory: g.Memory, ByLogits: true} }

// Parts implements [Open].
func (l *ICaRL) Parts() Parts { return Parts{Net: l.Net, WS: l.WS, Memory: l.Memory, Means: &l.ncm} }
