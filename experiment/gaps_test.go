package experiment

import (
	"slices"
	"testing"

	"ocl/data"
)

// TestUntestedClassesAreNoted: the notes of an experiment name the classes without test images, at most five of them.
func TestUntestedClassesAreNoted(t *testing.T) {
	glyphs := func(untested ...int32) *data.Set {
		set, err := data.Open(t.Context(), data.Spec{Name: "glyphs", Size: 8, TrainPerClass: 2, TestPerClass: 2})
		if err != nil {
			t.Fatal(err)
		}
		images, kept := data.Block{Size: set.ImageLen()}, data.Split{}
		for i, k := range set.Test.Y {
			if slices.Contains(untested, k) {
				continue
			}
			pixels, err := set.Test.Images.Image(i, nil)
			if err != nil {
				t.Fatal(err)
			}
			images.Pixels, kept.Y = append(images.Pixels, pixels...), append(kept.Y, k)
		}
		kept.Images = images
		set.Test = kept
		return set
	}
	for _, c := range []struct {
		classes []int32
		named   bool
		want    []string
	}{
		{nil, true, nil},
		{[]int32{3}, false, []string{"class 3 has no test images, so its accuracy is unknown"}},
		{[]int32{3, 9}, false, []string{"2 classes have no test images, so their accuracy is unknown: class 3, class 9"}},
		{[]int32{10, 11}, true, []string{`2 classes have no test images, so their accuracy is unknown: "A", "B"`}},
		{[]int32{0, 1, 2, 3, 4, 5, 6}, false,
			[]string{"7 classes have no test images, so their accuracy is unknown: class 0, class 1, class 2, class 3, class 4 and 2 more"}},
	} {
		set := glyphs(c.classes...)
		if !c.named {
			set.ClassNames = nil
		}
		x, err := plan(tiny(), Options{}, set)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Notes(); !slices.Equal(got, c.want) {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

// TestUntrainedClassesAreNoted: a class that is tested but never learned is told apart from one without images.
func TestUntrainedClassesAreNoted(t *testing.T) {
	set := &data.Set{Classes: 4, Train: data.Split{Y: []int32{0, 3}}, Test: data.Split{Y: []int32{0, 1}}}
	want := []string{
		"class 2 has no images", "class 3 has no test images, so its accuracy is unknown",
		"class 1 has no training images, so its test images are always wrong",
	}
	if got := gaps(set); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
