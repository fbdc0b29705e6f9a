package core50

import (
	"slices"
	"testing"
)

// TestCounts: the tables have the frames that CORe50 says it has.
func TestCounts(t *testing.T) {
	all, test := 0, 0
	for _, c := range All() {
		all += Frames - c.First()
		if c.Test() {
			test += Frames - c.First()
		}
	}
	if all != Total || test != Tests {
		t.Errorf("%d frames with %d for testing, want %d with %d", all, test, Total, Tests)
	}
}

// TestNames: five objects of each category have names.
func TestNames(t *testing.T) {
	names := Names()
	if len(names) != Objects || names[0] != "plug_adapter1" || names[7] != "mobile_phone3" ||
		names[49] != "remote_control5" {
		t.Errorf("%q", names)
	}
	if slices.Sort(names); len(slices.Compact(names)) != Objects {
		t.Error("two objects have one name")
	}
}
