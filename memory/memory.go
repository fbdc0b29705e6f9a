// Package memory holds stored samples, the rules that decide which incoming samples to store ([Updater]) and the rules
// that choose which stored ones to replay ([Retriever]). It knows nothing of networks. Start at [Store].
package memory

import (
	"ocl"
	"ocl/internal/rng"
)

// Updater is MemoryUpdate: it decides which slot each incoming row goes to.
type Updater interface {
	// Update appends to dst the slot of each row of b, or -1 to drop the row, and returns it; it does not change m. Rows
	// are put in order, so of two rows sent to one slot the later stays. A slot equal to m.Len() plus the number of
	// earlier rows that were appended means the next free slot.
	Update(dst []int, m *Store, b ocl.Batch, env Env) ([]int, error)
}

// Retriever is MemoryRetrieval: it chooses the slots to replay alongside an incoming batch.
type Retriever interface {
	// Retrieve appends to dst the chosen filled slots, none twice, and returns it; it does not change m.
	Retrieve(dst []int, m *Store, b ocl.Batch, env Env) ([]int, error)
}

// Env is what an Updater or Retriever may use besides its arguments. Rand is its own named source.
type Env struct {
	Rand  *rng.Source
	Probe Probe
}

// Probe asks about the learner's network and leaves its parameters and running statistics alone. ℓ is the plain cross
// entropy, whatever criterion the learner steps along.
type Probe interface {
	// Interference writes to dst, for each row of b, by how much the step that is under way would raise its loss if it went
	// along the incoming batch's gradient alone: ℓ(f_θv(x), y) − ℓ(f_θ(x), y) with θ^v = θ − α·g and no weight decay. Batch
	// norm is in training mode over b. Only a [Retriever] may ask, and it is an error where the learner retrieves before
	// it knows g.
	Interference(dst []float64, b ocl.Batch) error
	// Cosines writes to dst[i·B+j] the cosine of the angle between the gradients ∇ℓ over all parameters of groups i of a and
	// j of b, B of them; 0 where a gradient is. Batch norm is in evaluation mode. Only an [Updater] may ask.
	Cosines(dst []float64, a, b Groups) error
}

// Groups are rows of a batch in groups of Size, which divides their number. The gradient of a group is that of its mean loss.
type Groups struct {
	ocl.Batch
	Size int
}

// Count is the number of groups.
func (g Groups) Count() int { return g.Len() / g.Size }
