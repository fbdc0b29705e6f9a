package data

import (
	"slices"
	"strings"
	"testing"
)

// TestSketch: a sketch knows the pictures of a small class, and a share of those of a large one.
func TestSketch(t *testing.T) {
	upTo := func(n uint32) (s Sketch) {
		for v := n; v > 0; v-- {
			s = append(s, v*7)
		}
		return s.Union(s)
	}
	small, large := upTo(20), upTo(2000)
	if len(small) != 20 || len(large) != sketchSize || !small.Valid() || !large.Valid() {
		t.Errorf("%v, %v", small, large)
	}
	if (Sketch{2, 2}).Valid() || (Sketch{3, 2}).Valid() || append(upTo(2000), 1<<20).Valid() {
		t.Error("a sketch that is none is valid")
	}
	for _, c := range []struct {
		a, b          Sketch
		known, looked int
	}{
		{small, small, 20, 20}, {small, large, 20, 20}, {large, small, 20, 32}, {upTo(5), nil, 0, 5}, {nil, large, 0, 0},
		{Sketch{7, 8, 1 << 30}, small, 1, 3},
		{Sketch{7, 8, 1 << 30}, large, 1, 2}, // the large one may have the last
	} {
		if known, looked := c.a.In(c.b); known != c.known || looked != c.looked {
			t.Errorf("%v in %v: %d of %d, wanted %d of %d", c.a, c.b, known, looked, c.known, c.looked)
		}
	}
}

// TestSketches: a class has one sketch in a folder and under another name, whatever half its pictures are in, and
// published data have none.
func TestSketches(t *testing.T) {
	names := []string{"cat/0.png", "cat/1.png", "cat/2.png", "cat/3.png", "dog/4.png", "dog/5.png", "dog/6.png"}
	set := openSmall(t, Spec{Name: "folder", Dir: photos(t, names...), Size: 8})
	for i, name := range names {
		names[i] = "train/" + strings.Replace(name, "cat", "puma", 1)
	}
	names[0], names[5] = "test/puma/0.png", "test/dog/5.png"
	other := openSmall(t, Spec{Name: "folder", Dir: photos(t, names...), Size: 8})
	if len(set.Sketches) != 2 || len(set.Sketches[0]) != 4 || len(set.Sketches[1]) != 3 ||
		!slices.Equal(set.Sketches[0], other.Sketches[1]) || !slices.Equal(set.Sketches[1], other.Sketches[0]) {
		t.Errorf("%v and %v", set.Sketches, other.Sketches)
	}
	if set := openSmall(t, Spec{Name: "glyphs", TrainPerClass: 1, TestPerClass: 1}); set.Sketches != nil {
		t.Errorf("glyphs: %v", set.Sketches)
	}
	set.Sketches = set.Sketches[1:]
	if err := set.fault(); err == nil || !strings.Contains(err.Error(), "sketches") {
		t.Errorf("a sketch is missing: %v", err)
	}
}
