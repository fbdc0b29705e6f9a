// Package rng gives every random choice its own named source, derived from the one seed of a run: a new draw in one
// place shifts no other. A source is a value that can be saved and loaded. The package knows nothing of who draws.
//
//	src := rng.New(seed, "memory/update") // math/rand/v2's methods on a PCG
//	slot := src.IntN(1000)
//	state, err := src.MarshalBinary() // 20 bytes; UnmarshalBinary continues from them
//
// Give each place that draws a source with a name of its own. The owner of a source saves it with its other state.
package rng

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Source is a random source with a name. It is not safe for concurrent use.
type Source struct {
	*rand.Rand
	pcg *rand.PCG
}

// New derives the source called name from seed: a PCG whose state is the SHA-256 of both.
func New(seed uint64, name string) *Source {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], seed)
	h := sha256.Sum256(append(b[:], name...))
	pcg := rand.NewPCG(binary.LittleEndian.Uint64(h[0:]), binary.LittleEndian.Uint64(h[8:]))
	return &Source{rand.New(pcg), pcg}
}

// MarshalBinary returns the state of the source.
func (s *Source) MarshalBinary() ([]byte, error) { return s.pcg.MarshalBinary() }

// UnmarshalBinary sets the state of the source, as MarshalBinary returned it.
func (s *Source) UnmarshalBinary(b []byte) error { return s.pcg.UnmarshalBinary(b) }
