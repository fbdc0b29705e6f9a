// Package methodtest is the contract of a method of the catalogue with tricks, as tests beside those of package
// learnertest.
package methodtest

import (
	"slices"
	"testing"

	"ocl"
	"ocl/learn/method"
)

// Tricks adds each trick that a method does not refuse to vary, which is Vary of the method's learnertest.Case: a trick
// that changes nothing is a fault of the method, and its Refuses must say why. Build makes the learner of the case with
// another setup.
func Tricks(t *testing.T, name string, vary map[string]func(*testing.T, uint64) ocl.Learner,
	build func(change func(*method.Setup)) func(*testing.T, uint64) ocl.Learner) {
	t.Helper()
	info, err := method.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, trick := range method.Tricks() {
		if info.Refuses[trick.Name] != "" {
			continue
		}
		with := build(func(s *method.Setup) { s.Tricks = slices.Concat(s.Tricks, []string{trick.Name}) })
		if trick.Classifies {
			with(t, 1) // it is read where predictions are evaluated, so only that it is not refused
			continue
		}
		vary["trick "+trick.Name] = with
	}
}
