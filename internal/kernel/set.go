package kernel

import (
	"fmt"
	"strings"
)

const (
	maxLanes           = 16
	maxChannelLastVecs = 5
	maxNarrowOuts      = 4
)

type isa int

const (
	generic isa = iota
	avx2
	avx512
	neon
)

// Set is one implementation of all kernels, with the tile sizes that packed weights follow.
type Set struct {
	Name            string // "avx512", "avx2", "neon" or "generic"
	Lanes           int    // floats in a vector
	PlanesOut       int    // outputs in a block of Planes
	GradOut         int    // outputs in a tile of PlanesGrad
	GradIn          int    // values of k in a tile of PlanesGrad
	ChannelLastVecs int    // most vectors in a block of ChannelLast
	NarrowOuts      int    // outputs in a block of ChannelLast without vectors of them
	isa             isa    // whose methods run vector code; generic has none
}

var sets = []*Set{
	{Name: "avx512", Lanes: 16, PlanesOut: 10, GradOut: 5, GradIn: 5, ChannelLastVecs: 5, NarrowOuts: 4, isa: avx512},
	{Name: "avx2", Lanes: 8, PlanesOut: 5, GradOut: 4, GradIn: 3, ChannelLastVecs: 2, NarrowOuts: 2, isa: avx2},
	{Name: "neon", Lanes: 8, PlanesOut: 5, GradOut: 4, GradIn: 3, ChannelLastVecs: 2, NarrowOuts: 2, isa: neon},
	{Name: "generic", Lanes: 8, PlanesOut: 5, GradOut: 4, GradIn: 3, ChannelLastVecs: 2, NarrowOuts: 2, isa: generic},
}

// Available lists the sets that this machine can run, fastest first.
func Available() []*Set {
	var out []*Set
	for _, s := range sets {
		if supported(s.isa) {
			out = append(out, s)
		}
	}
	return out
}

// Names lists all sets, fastest first, whether this machine can run them or not.
func Names() []string {
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.Name
	}
	return names
}

// Named is the set of that name; nil is none. It allocates nothing.
func Named(name string) *Set {
	for _, s := range sets {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Find returns the named set, or the fastest for the empty name. The error says which sets the machine can run.
func Find(name string) (*Set, error) {
	var names []string
	for _, s := range Available() {
		if name == "" || s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("this machine cannot run %q. Use one of %s", name, strings.Join(names, ", "))
}
