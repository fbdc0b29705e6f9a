package arch

import "testing"

// Restore takes what a test registers out of the catalogue at its end.
func Restore(t *testing.T) {
	before := *catalogue
	t.Cleanup(func() { *catalogue = before })
}
