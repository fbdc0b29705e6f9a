package shift

import (
	"slices"
	"testing"
)

// TestKindsAreComplete wants kinds sorted, with the survey's 10 strengths, which start at 0 and rise.
func TestKindsAreComplete(t *testing.T) {
	if all := Kinds(); !slices.Equal(all, []string{"blur", "noise", "occlusion"}) {
		t.Errorf("kinds %q", all)
	}
	for _, k := range Kinds() {
		if s := Strengths(k); len(s) != 10 || s[0] != 0 || !slices.IsSorted(s) {
			t.Errorf("%s: strengths %v", k, s)
		}
	}
	if s := Strengths("fog"); s != nil {
		t.Errorf("fog has the strengths %v, want none", s)
	}
}
