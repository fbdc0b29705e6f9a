package stream

import "testing"

// Restore takes what a test registers out of the catalogue at its end.
func Restore(t *testing.T) {
	before := *kinds
	t.Cleanup(func() { *kinds = before })
}
