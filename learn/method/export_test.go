package method

import (
	"slices"
	"strings"
	"testing"
)

// Restore takes what a test registers out of the catalogue at its end.
func Restore(t *testing.T) {
	before := catalogue
	t.Cleanup(func() { catalogue = before })
}

// Fault is what [Register] would say of an entry.
func (i Info) Fault() error { return i.fault() }

// AddTrick puts a trick into the catalogue for the length of a test.
func AddTrick(t *testing.T, trick Trick) {
	t.Helper()
	before := tricks
	t.Cleanup(func() { tricks = before })
	tricks = append(slices.Clone(tricks), trick)
	slices.SortFunc(tricks, func(a, b Trick) int { return strings.Compare(a.Name, b.Name) })
}
