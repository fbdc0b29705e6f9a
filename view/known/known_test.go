package known

import (
	"slices"
	"testing"

	"ocl/learn/method"
	"ocl/view/report"
)

// Reports are told the look of every method of this module, which it has alone, and which methods are bounds.
func TestMethods(t *testing.T) {
	all, looks := Methods(), map[string]string{}
	for i, info := range method.Catalogue() {
		want := report.Known{Name: info.Name}
		switch {
		case info.Baseline:
			want.Bound = report.LowerBound
		case info.Offline:
			want.Bound = report.UpperBound
		}
		if k := all[i]; k.Name != want.Name || k.Bound != want.Bound ||
			k.Bound == report.NoBound && info.Group() != method.Since && k.Look == 0 {
			t.Errorf("reports are told %+v of %s, want %+v", k, info.Name, want)
		}
		class := report.LookOf(all[i]).Class
		if other, taken := looks[class]; taken {
			t.Errorf("%s looks like %s", info.Name, other)
		}
		looks[class] = info.Name
	}
}

// TestLooks: a method keeps the look that it has in reports since there are any.
func TestLooks(t *testing.T) {
	for name, want := range map[string]int{"agem": 1, "er": 2, "ewc++": 3, "gdumb": 4, "gss": 5, "icarl": 6, "lwf": 7,
		"mir": 8, "cndpm": 9} {
		info, err := method.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if k := Method(info); k.Look != want {
			t.Errorf("%s has the look %d, want %d", name, k.Look, want)
		}
	}
	for i, name := range looks {
		if _, err := method.Lookup(name); err != nil || slices.Contains(looks[:i], name) {
			t.Errorf("the look of %s is that of no method, or there twice (%v)", name, err)
		}
	}
}

// TestTricks: reports know all tricks, and the order of the first ones stays.
func TestTricks(t *testing.T) {
	names := Tricks()
	if want := []string{"rv", "ncm", "lb", "ss", "kdc", "kdc*", "mi"}; !slices.Equal(names[:len(want)], want) ||
		len(names) != len(method.Tricks()) {
		t.Errorf("the tricks are %q; they begin with %q, and there are %d", names, want, len(method.Tricks()))
	}
}
