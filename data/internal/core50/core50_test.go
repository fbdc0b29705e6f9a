package core50

import (
	"slices"
	"strings"
	"testing"
)

// Count is how many frames some cells have.
func Count(cells []Cell) int {
	n := 0
	for _, c := range cells {
		n += Frames - c.First()
	}
	return n
}

// TestCounts: the tables have the frames that CORe50 says it has.
func TestCounts(t *testing.T) {
	if n := Count(All()); n != Total {
		t.Errorf("%d frames, want %d", n, Total)
	}
	if n := Count(Cells(TestSessions, upTo(Objects))); n != Tests {
		t.Errorf("%d frames for testing, want %d", n, Tests)
	}
	if n := Count(Cells(TrainSessions, upTo(Objects))); n != Total-Tests {
		t.Errorf("%d frames for training, want %d", n, Total-Tests)
	}
	test := 0
	for _, c := range All() {
		if c.Test() {
			test += Count([]Cell{c})
		}
	}
	if test != Tests {
		t.Errorf("%d frames of cells for testing, want %d", test, Tests)
	}
}

// TestNames: five objects of each category have names.
func TestNames(t *testing.T) {
	names := Names()
	if len(names) != Objects || names[0] != "plug_adapter1" || names[7] != "mobile_phone3" || names[49] != "remote_control5" {
		t.Errorf("%q", names)
	}
	if slices.Sort(names); len(slices.Compact(names)) != Objects {
		t.Error("two objects have one name")
	}
}

// TestOrderOfCells: folders come in the order of their names, as in the official lists.
func TestOrderOfCells(t *testing.T) {
	var words []string
	for _, c := range Cells([]int{11, 2}, []int{1, 2, 9, 10, 30, 3}) {
		words = append(words, c.Folder())
	}
	const want = "s11/o1 s11/o10 s11/o2 s11/o3 s11/o30 s11/o9 s2/o1 s2/o10 s2/o2 s2/o3 s2/o30 s2/o9"
	if got := strings.Join(words, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := (Cell{11, 8}).Name((Cell{11, 8}).First()); got != "C_11_08_003.png" {
		t.Errorf("the first frame of object 8 in session 11 is %s", got)
	}
}
