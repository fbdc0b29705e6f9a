// Package samebits says which kernel sets compute the same numbers, to the bit. A set that has the bits of another one
// may stand in for it on a machine that lacks that: the keys of runs, results that are compared, checkpoints that are
// continued and studies that name a set take the two for one. It knows no kernels. Start at [Of].
package samebits

import "slices"

// of names for a set the one whose numbers it computes.
var of = map[string]string{
	"neon": "avx2", // each of its pairs of registers is one of AVX2's, and sums run in the same order
}

// Of is the set by which the numbers of a kernel set are known, in keys of runs and where runs are compared: itself, or
// the set whose bits it has. It takes any text for a name.
func Of(set string) string {
	if known, is := of[set]; is {
		return known
	}
	return set
}

// Same says whether two kernel sets compute the same numbers.
func Same(a, b string) bool { return Of(a) == Of(b) }

// Among is the set that runs in the place of a named one where there are these sets: that itself, or else one with its
// bits. Where there is none, and for the empty name, it is the name.
func Among(sets []string, name string) string {
	if i := slices.IndexFunc(sets, func(s string) bool { return Same(s, name) }); i >= 0 && !slices.Contains(sets, name) {
		return sets[i]
	}
	return name
}
