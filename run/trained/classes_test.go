package trained

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/data"
	"ocl/run/train"
)

// TestUnite: classes are matched by their names, or where neither side has any by their index.
func TestUnite(t *testing.T) {
	named := func(names ...string) train.Known { return train.Known{Classes: len(names), ClassNames: names} }
	of := func(names ...string) *data.Set {
		return &data.Set{Name: "mine", Classes: len(names), ClassNames: names}
	}
	nameless := func(classes int) *data.Set { return &data.Set{Name: "mine", Classes: classes} }
	for _, c := range []struct {
		known   train.Known
		set     *data.Set
		label   []ocl.Label
		names   []string
		classes int
		note    string
	}{
		{named("a", "b"), of("c", "b", "d"), []ocl.Label{2, 1, 3}, []string{"a", "b", "c", "d"}, 4,
			"1 of 3 classes of mine known to the parent by name"},
		{named("a", "b"), of("A", "b "), []ocl.Label{0, 2}, []string{"a", "b", "b "}, 3,
			`1 of 2 classes of mine known to the parent by name. Names are compared without case: "A" is its class "a"`},
		{named("B", "c"), of("b", "B"), []ocl.Label{2, 0}, []string{"B", "c", "b"}, 3, "1 of 2 classes of mine known"},
		{named("a", "b"), of("b"), []ocl.Label{1}, []string{"a", "b"}, 2, "1 of 1 class of mine known to the parent by name"},
		{named("caf\u00e9", "b"), of("cafe\u0301"), []ocl.Label{0}, []string{"caf\u00e9", "b"}, 2,
			"1 of 1 class of mine known"},
		{named("cafe\u0301"), of("caf\u00e9", "x"), []ocl.Label{0, 1}, []string{"cafe\u0301", "x"}, 2,
			"1 of 2 classes of mine known"},
		{train.Known{Classes: 2}, nameless(3), []ocl.Label{0, 1, 2}, nil, 3,
			"class k is the parent's class k. The parent knows 2 classes, the data have 3"},
		{train.Known{Classes: 5}, nameless(3), []ocl.Label{0, 1, 2}, nil, 5, "The parent knows 5 classes"},
	} {
		u, err := Unite(c.known, c.set)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.label, u.label) + cmp.Diff(c.names, u.Names); d != "" || u.classes != c.classes {
			t.Errorf("%v and %v: %d classes, %s", c.known, c.set, u.classes, d)
		}
		if !strings.Contains(u.Note, c.note) || c.note == "" && u.Note != "" {
			t.Errorf("note %q, want %q", u.Note, c.note)
		}
	}
	for want, c := range map[string]struct {
		known train.Known
		set   *data.Set
	}{
		"the parent names its classes, but mine does not, so nobody can say which are new. Give the images as --data folder or --data csv": {named("a"),
			nameless(2)},
		"mine names its classes, but the parent does not, so nobody can say which are new. Learn the parent from --data folder or --data csv": {train.Known{Classes: 3},
			of("a", "b")},
		`two classes of mine are called "b", so nobody can say which is meant. Rename one of them`: {named("a"),
			of("b", "c", "b")},
		`two classes of the parent are called "b", so nobody can say which is meant`: {named("b",
			"b"), of("b")},
	} {
		if _, err := Unite(c.known, c.set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
