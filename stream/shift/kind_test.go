package shift

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestKindsAreComplete wants kinds sorted, described, and with the survey's 10 strengths, which start at 0, rise and pass
// Check.
func TestKindsAreComplete(t *testing.T) {
	all := Kinds()
	if !slices.IsSortedFunc(all, func(a, b Kind) int { return strings.Compare(a.Name, b.Name) }) || len(all) != 3 {
		t.Errorf("%d kinds, want 3, sorted by name", len(all))
	}
	for _, k := range all {
		s := Strengths(k.Name)
		if k.Summary == "" || k.Unit == "" || len(s) != 10 || s[0] != 0 || !slices.IsSorted(s) || !slices.Equal(s, k.Survey) {
			t.Errorf("%s: %q, %q, strengths %v", k.Name, k.Summary, k.Unit, s)
		}
		if err := Check(k.Name, s); err != nil {
			t.Error(err)
		}
	}
	if s := Strengths("fog"); s != nil {
		t.Errorf("fog has the strengths %v, want none", s)
	}
}

// TestCheckNamesEachEntry wants one line for each entry that is negative, not a number, infinite or too large.
func TestCheckNamesEachEntry(t *testing.T) {
	for _, c := range []struct {
		kind string
		list []float64
		want string
	}{
		{"noise", nil, ""},
		{"occlusion", []float64{0, 1}, ""},
		{"occlusion", []float64{0, 1.01}, "shift: occlusion: entry 2: the strength 1.01 is out of range. Use 0 to 1"},
		{"blur", []float64{-0.1, 1, math.NaN(), math.Inf(1), math.Inf(-1)},
			"shift: blur: entry 1: the strength -0.1 is out of range. Use 0 to 100\n" +
				"shift: blur: entry 3: the strength NaN is out of range. Use 0 to 100\n" +
				"shift: blur: entry 4: the strength +Inf is out of range. Use 0 to 100\n" +
				"shift: blur: entry 5: the strength -Inf is out of range. Use 0 to 100"},
		{"fog", nil, `shift: unknown kind of shift "fog". Use blur, noise, occlusion`},
	} {
		got := ""
		if err := Check(c.kind, c.list); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %v:\n%s\nwant\n%s", c.kind, c.list, got, c.want)
		}
	}
}
