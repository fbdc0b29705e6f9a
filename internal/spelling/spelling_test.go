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
		{"cat", []string{"Cat"}, "Cat"}, {"CAT", []string{"Cat", "cat"}, "Cat"}, {"cat", []string{"Cat", "cat"}, "cat"},
		{"CAFE\u0301", []string{one}, one}, {one, []string{"CAF\u00c9", two}, two}, {"cat", []string{"cats"}, "cat"},
	} {
		got := Find(c.name, func(s string) bool { return slices.Contains(c.known, s) }, func() []string { return c.known })
		if got != c.want {
			t.Errorf("%+q among %+q: got %+q, wanted %+q", c.name, c.known, got, c.want)
		}
	}
}

// TestKey: capitals and both spellings of Unicode have one key, and other letters another one.
func TestKey(t *testing.T) {
	for _, c := range []struct {
		a, b string
		one  bool
	}{
		{"Cat", "cAT", true}, {"caf\u00e9", "CAFE\u0301", true}, {"\u03c3", "\u03c2", true}, {"K", "\u212a", true},
		{"cat", "cats", false}, {"cafe", "caf\u00e9", false}, {"a_b", "a-b", false},
	} {
		if (Key(c.a) == Key(c.b)) != c.one {
			t.Errorf("%+q and %+q: one name is %v", c.a, c.b, !c.one)
		}
	}
}

// TestMatch: names find those that are known, without case too, unless case tells names of one list apart.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		names, known []string
		want         []int
	}{
		{[]string{"dog", "CAT", "owl"}, []string{"cat", "Dog"}, []int{1, 0, -1}},
		{[]string{"b", "B"}, []string{"B"}, []int{-1, 0}},
		{[]string{"b", "B"}, []string{"B", "b"}, []int{1, 0}},
		{[]string{"cafe\u0301"}, []string{"x", "caf\u00e9"}, []int{1}},
	} {
		if got := Match(c.names, c.known); !slices.Equal(got, c.want) {
			t.Errorf("%+q among %+q: got %v, wanted %v", c.names, c.known, got, c.want)
		}
	}
}
