package method

import (
	"slices"
	"strings"
	"testing"
)

// AddTrick puts a trick into the catalogue for the length of a test.
func AddTrick(t *testing.T, trick Trick) {
	t.Helper()
	before := tricks
	t.Cleanup(func() { tricks = before })
	tricks = append(slices.Clone(tricks), trick)
	slices.SortFunc(tricks, func(a, b Trick) int { return strings.Compare(a.Name, b.Name) })
}
