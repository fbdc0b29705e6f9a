package known

import (
	"testing"

	"ocl/method"
	"ocl/report"
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
