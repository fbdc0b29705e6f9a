package spelling

import (
	"slices"
	"testing"
)

// TestFind: a name finds the one that looks like it, in whatever spelling that was kept, and itself before others.
func TestFind(t *testing.T) {
	const one, two = "caf\u00e9", "cafe\u0301"
	if Of(two) != one || Split(one) != two || Of("cat") != "cat" {
		t.Errorf("%q, %q", Of(two), Split(one))
	}
	for _, c := range []struct {
		name  string
		known []string
		want  string
	}{
		{one, []string{one}, one}, {two, []string{one}, one}, {one, []string{two}, two}, {two, []string{two}, two},
		{one, []string{one, two}, one}, {two, []string{one, two}, two}, {two, nil, one}, {"cat", []string{two}, "cat"},
	} {
		got := Find(c.name, func(s string) bool { return slices.Contains(c.known, s) }, func() []string { return c.known })
		if got != c.want {
			t.Errorf("%+q among %+q: got %+q, wanted %+q", c.name, c.known, got, c.want)
		}
	}
}
