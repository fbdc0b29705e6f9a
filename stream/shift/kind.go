package shift

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind is a way to shift images.
type Kind struct {
	Name    string
	Summary string // one sentence
	Unit    string // what a strength of 1 means
	// Survey holds the strengths of the survey's 10 tasks (§app:exp_detail). They are listed, because those of occlusion
	// and blur are rounded.
	Survey []float64
	Most   float64 // the largest strength that Check accepts

	make func(strength float64, shape [3]int, o Options) transform
	// across returns the weights of the images at distance 0, 1, … from an image, or nil if images do not mix at this strength.
	// across itself is nil for kinds that never mix images.
	across func(strength float64, o Options) []float32
}

// kinds is the catalogue, sorted by name. A new kind is a file with its entry and one word here.
var kinds = []Kind{blur, noise, occlusion}

// Kinds returns all kinds, sorted by name.
func Kinds() []Kind { return slices.Clone(kinds) }

// Strengths returns the survey's strengths of a kind, one for each of its 10 tasks, or nil for an unknown kind.
func Strengths(kind string) []float64 {
	k, _ := lookup(kind)
	return slices.Clone(k.Survey)
}

// Check returns an error if the kind is unknown, or if a strength is negative, NaN, infinite or too large for the kind.
// The error names all such entries, the first of which is entry 1.
func Check(kind string, strengths []float64) error {
	k, err := lookup(kind)
	if err != nil {
		return fmt.Errorf("shift: %w", err)
	}
	var faults []error
	for i, s := range strengths {
		if err := k.check(s); err != nil {
			faults = append(faults, fmt.Errorf("shift: %s: entry %d: %w", kind, i+1, err))
		}
	}
	return errors.Join(faults...)
}

// check returns an error if the strength is out of range.
func (k Kind) check(strength float64) error {
	if strength >= 0 && strength <= k.Most {
		return nil
	}
	return fmt.Errorf("the strength %v is out of range. Use 0 to %v", strength, k.Most)
}

func lookup(name string) (Kind, error) {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		if k.Name == name {
			return k, nil
		}
		names[i] = k.Name
	}
	return Kind{}, fmt.Errorf("unknown kind of shift %q. Use %s", name, strings.Join(names, ", "))
}
