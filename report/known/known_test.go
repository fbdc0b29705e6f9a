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

// TestReads: rows are not told apart by what a method does not read.
func TestReads(t *testing.T) {
	reads := map[string]func([]string, string) bool{}
	for _, k := range Methods() {
		reads[k.Name] = k.Reads
	}
	for _, c := range []struct {
		method string
		tricks []string
		key    string
		want   bool
	}{
		{"er", nil, "replay.batch", true},
		{"finetune", nil, "replay.batch", false},
		{"er", nil, "replay.teacher", false},
		{"er", []string{"kdc"}, "replay.teacher", true},
		{"finetune", nil, "optimizer.lr", true},
	} {
		if got := reads[c.method](c.tricks, c.key); got != c.want {
			t.Errorf("%s with %v reads %s: %v", c.method, c.tricks, c.key, got)
		}
	}
}
