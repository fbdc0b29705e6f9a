// Package memory holds stored samples, the rules that decide which incoming samples are stored ([Updater]), and the
// rules that choose which stored samples are replayed ([Retriever]). It knows nothing of networks. Start at [Store].
//
// A learner asks an Updater for the slot of each incoming row, puts the rows there, and asks a Retriever which slots to
// replay:
//
//	m := memory.NewStore(1000, [3]int{3, 32, 32}, nil)
//	slots, err := memory.Reservoir{}.Update(nil, m, batch, env) // a slot for each row, or -1
//	m.Put(batch, slots)
//	slots, err = memory.Random{Size: 10}.Retrieve(nil, m, batch, env)
//	m.Gather(x, y, slots)
//
// [Env] gives them their own random source, and a [Probe] that answers questions about the network and changes nothing.
// Images are stored as bytes where pixel values allow it.
package memory

import (
	"ocl"
	"ocl/nn/tensor"
	"ocl/rng"
)

// Updater is MemoryUpdate: it decides which slot each incoming row goes to. The learner calls it once a batch, after
// the steps on it, and then puts the rows there. An Updater with a state implements [ocl.State] too, and [Remover] if
// that state is kept by slot.
type Updater interface {
	// Update appends to dst a slot for each row of b, or -1 to drop the row, and returns it. It changes neither m nor
	// b, and keeps neither. Rows are stored in their order, so if two rows get the same slot, the later one stays. A
	// slot equal to m.Len() plus the number of rows appended before it is the next free slot. After an error, or
	// another slot, nothing is stored, and the learner is not used any more.
	Update(dst []int, m *Store, b ocl.Batch, env Env) ([]int, error)
}

// Retriever is MemoryRetrieval: it chooses the slots to replay alongside an incoming batch. The learner calls it for
// each step, unless m is empty. Its state is saved as that of an [Updater].
type Retriever interface {
	// Retrieve appends to dst the chosen filled slots, none twice, and returns it. It changes neither m nor b, and
	// keeps neither. After an error, or another slot, the learner is not used any more.
	Retrieve(dst []int, m *Store, b ocl.Batch, env Env) ([]int, error)
}

// Remover is an [Updater], a [Retriever] or another part of a learner that keeps something by slot. It is told of each
// [Store.Remove], after it, so that it can follow. It cannot fail.
type Remover interface {
	// Removed says that the sample in a slot is gone, and that the sample of slot last, which was the last filled one,
	// has moved there. Both may be the same.
	Removed(slot, last int)
}

// Env is what an Updater or Retriever may use besides its arguments, until it returns.
type Env struct {
	Rand  *rng.Source // its own named source, which the learner saves
	Probe Probe       // of the learner's network
}

// Probe asks about the learner's network and does not change its parameters or running statistics. ℓ is the plain
// cross entropy, whatever criterion the learner is trained with.
type Probe interface {
	// Interference writes to dst, for each row of b, by how much its loss would rise if the current step followed the
	// gradient of the incoming batch alone: ℓ(f_θv(x), y) − ℓ(f_θ(x), y) with θ^v = θ − α·g and no weight decay.
	// Batch norm is in training mode over b. Only a [Retriever] may call it. It is an error if the learner retrieves
	// before it knows g.
	Interference(dst []float64, b ocl.Batch) error
	// Cosines writes to dst[i·B+j] the cosine of the angle between the gradients ∇ℓ over all parameters of groups i of
	// a and j of b, B of them; 0 where a gradient is. Batch norm is in evaluation mode. Only an [Updater] may ask.
	Cosines(dst []float64, a, b Groups) error
	// Features writes the features [B,D] of the rows of b to dst, which takes that shape. Batch norm is in evaluation
	// mode.
	Features(dst *tensor.Tensor, b ocl.Batch) error
}

// Groups are rows of a batch in groups of Size, which divides their number. The gradient of a group is that of its mean
// loss.
type Groups struct {
	ocl.Batch
	Size int
}

// Count is the number of groups.
func (g Groups) Count() int { return g.Len() / g.Size }
