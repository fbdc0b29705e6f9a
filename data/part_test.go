package data

import (
	"slices"
	"strings"
	"testing"
)

// labelled is a grey set of n training and m test images of each class, 1×1; the pixel names the image.
func labelled(classes, n, m int) *Set {
	half := func(per int) Split {
		b, y := Block{Size: 1}, []int32{}
		for i := range classes * per {
			b.Pixels, y = append(b.Pixels, uint8(i)), append(y, int32(i%classes))
		}
		return Split{Images: b, Y: y}
	}
	return &Set{Name: "labelled", C: 1, H: 1, W: 1, Classes: classes, Train: half(n), Test: half(m)}
}

// TestPart: a part has so many images of each class, the same ones with the same data seed, in the order of the set,
// and says that it is a part.
func TestPart(t *testing.T) {
	part := func(seed uint64) *Set {
		s := labelled(5, 8, 4)
		s.reduce(Spec{TrainPerClass: 3, TestPerClass: 4, Seed: seed})
		return s
	}
	a, b, c := part(1), part(1), part(2)
	count := make([]int, 5)
	for i, y := range a.Train.Y {
		count[y]++
		if int32(imageOf(a.Train, i)[0])%5 != y {
			t.Errorf("image %d has label %d", imageOf(a.Train, i)[0], y)
		}
	}
	if slices.Min(count) != 3 || slices.Max(count) != 3 || !slices.IsSorted(pixelsOf(a.Train)) {
		t.Errorf("%v images per class, in the order %v", count, pixelsOf(a.Train))
	}
	if !slices.Equal(pixelsOf(a.Train), pixelsOf(b.Train)) || slices.Equal(pixelsOf(a.Train), pixelsOf(c.Train)) {
		t.Error("the part is not a function of the data seed")
	}
	if a.Test.Len() != 20 || len(a.Notes) != 1 ||
		!strings.HasPrefix(a.Notes[0], "a part: 15 of 40 images of the train half") {
		t.Errorf("%d test images, notes %q", a.Test.Len(), a.Notes)
	}
}

// TestDivide: each class gives its share to the test half and keeps an image for training.
func TestDivide(t *testing.T) {
	labels := []int32{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2}
	train, test := divide(labels, 3, 0.2, 7)
	count := func(at []int32) (n [3]int) {
		for _, i := range at {
			n[labels[i]]++
		}
		return n
	}
	if count(train) != [3]int{8, 2, 1} || count(test) != [3]int{2, 0, 0} {
		t.Errorf("%v for training, %v for testing", count(train), count(test))
	}
	both := slices.Sorted(slices.Values(slices.Concat(train, test)))
	if len(both) != len(labels) || len(slices.Compact(both)) != len(labels) {
		t.Errorf("images are lost or twice: %v and %v", train, test)
	}
}

// TestGrow: a grey image becomes three equal channels.
func TestGrow(t *testing.T) {
	s := labelled(2, 2, 1)
	s.grow(3)
	buf := make([]uint8, s.ImageLen())
	if got, err := s.Train.Images.Image(3, buf); err != nil || !slices.Equal(got, []uint8{3, 3, 3}) || s.C != 3 {
		t.Errorf("got %v, %v with %d channels", got, err, s.C)
	}
	if s.grow(3); s.C != 3 || len(buf) != s.ImageLen() {
		t.Error("a set of three channels grew")
	}
}
