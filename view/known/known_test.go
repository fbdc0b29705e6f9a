package known

import (
	"slices"
	"testing"

	"ocl/learn/method"
	"ocl/view/report"
)

// Reports are told the look of every method, and which methods are bounds.
func TestMethods(t *testing.T) {
	all := Methods()
	for i, info := range method.Catalogue() {
		want := report.Known{Name: info.Name, Look: info.Look}
		switch {
		case info.Baseline:
			want.Bound = report.LowerBound
		case info.Offline:
			want.Bound = report.UpperBound
		}
		if k := all[i]; k.Name != want.Name || k.Look != want.Look || k.Bound != want.Bound || (k.Bound == report.NoBound) != (k.Look > 0) {
			t.Errorf("reports are told %+v of %s, want %+v", k, info.Name, want)
		}
	}
}

// TestTricks: reports know all tricks, and the order of the first ones stays.
func TestTricks(t *testing.T) {
	names := Tricks()
	if want := []string{"rv", "ncm", "lb", "ss", "kdc", "kdc*", "mi"}; !slices.Equal(names[:len(want)], want) || len(names) != len(method.Tricks()) {
		t.Errorf("the tricks are %q; they begin with %q, and there are %d", names, want, len(method.Tricks()))
	}
}
