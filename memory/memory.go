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
	Rand *rng.Source
}
