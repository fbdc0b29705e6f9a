package shift

import "slices"

// kind is a way to shift images.
type kind struct {
	name string
	// survey holds the strengths of the survey's 10 tasks (§app:exp_detail). They are listed, because those of occlusion
	// and blur are rounded.
	survey []float64

	make func(strength float64, shape [3]int, o Options) transform
	// across returns the weights of the images at distance 0, 1, … from an image, or nil if images do not mix at this
	// strength. across itself is nil for kinds that never mix images.
	across func(strength float64, o Options) []float32
}

// kinds is the catalogue, sorted by name. A new kind is a file with its entry and one word here.
var kinds = []kind{blur, noise, occlusion}

// Kinds are the names of all kinds, sorted.
func Kinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// Strengths returns the survey's strengths of a kind, one for each of its 10 tasks, or nil for an unknown kind.
func Strengths(name string) []float64 { return slices.Clone(lookup(name).survey) }

// lookup finds a kind. An unknown one has no name.
func lookup(name string) (k kind) {
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name }); i >= 0 {
		k = kinds[i]
	}
	return k
}
