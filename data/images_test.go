package data

import (
	"slices"
	"testing"
)

// pixelsOf are the pixels of a split in memory.
func pixelsOf(s Split) []uint8 { return s.Images.(Block).Pixels }

// imageOf is an image of a split in memory.
func imageOf(s Split, i int) []uint8 { return s.Images.(Block).at(i) }

// TestTake: some images of a split, in another order, keep their labels, domains and strengths.
func TestTake(t *testing.T) {
	s := Split{Images: Block{[]uint8{0, 1, 10, 11, 20, 21}, 2}, Y: []int32{5, 6, 7}, Domain: []int32{1, 2, 3}, Strength: []float32{.1, .2, .3}}
	got := s.take([]int32{2, 0})
	if !slices.Equal(pixelsOf(got), []uint8{20, 21, 0, 1}) || !slices.Equal(got.Y, []int32{7, 5}) ||
		!slices.Equal(got.Domain, []int32{3, 1}) || !slices.Equal(got.Strength, []float32{.3, .1}) {
		t.Errorf("got %+v", got)
	}
	if bare := (Split{Images: s.Images, Y: s.Y}).take([]int32{1}); bare.Domain != nil || bare.Strength != nil {
		t.Errorf("a split without domains got some: %+v", bare)
	}
}
