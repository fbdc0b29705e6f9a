package shift

import (
	"slices"
	"testing"
)

// TestSidesOfTheSurvey compares the sides at 84 pixels with those of the survey's code.
func TestSidesOfTheSurvey(t *testing.T) {
	var got []int
	for _, f := range Strengths("occlusion") {
		got = append(got, OcclusionSide(f, 84))
	}
	if want := []int{0, 4, 10, 16, 22, 26, 32, 38, 44, 50}; !slices.Equal(got, want) {
		t.Errorf("sides %v, want %v", got, want)
	}
	if whole, odd := OcclusionSide(1, 84), OcclusionSide(1, 7); whole != 84 || odd != 6 {
		t.Errorf("strength 1 covers %d of 84 and %d of 7 pixels, want 84 and 6", whole, odd)
	}
}

// square finds the white square in an image without other white pixels. It reports an error if the image is not that of
// the task with a square of this side over all channels.
func square(t *testing.T, task Task, i, side int, got []uint8) (top, left int) {
	t.Helper()
	before, _ := task.At(i, make([]uint8, task.size()))
	h, w := task.Shape[1], task.Shape[2]
	first := slices.Index(got, 255)
	if first < 0 {
		t.Fatalf("image %d has no white pixel", i)
	}
	top, left = first/w, first%w
	if top+side > h || left+side > w {
		t.Fatalf("image %d: the square of side %d starts at %d,%d of %d,%d", i, side, top, left, h, w)
	}
	for p, v := range got {
		want := before[p]
		if y, x := p/w%h, p%w; y >= top && y < top+side && x >= left && x < left+side {
			want = 255
		}
		if v != want {
			t.Fatalf("image %d: byte %d is %d, want %d", i, p, v, want)
		}
	}
	return top, left
}

// TestOcclusionPaintsOneSquare also checks that all images of a task's half share its place, that others have another,
// and that the side follows the shorter side of the image, whichever that is.
func TestOcclusionPaintsOneSquare(t *testing.T) {
	for _, shape := range [][3]int{{3, 84, 84}, {2, 20, 50}, {1, 50, 21}} {
		side := OcclusionSide(0.4, min(shape[1], shape[2]))
		task := made(shape, 5)
		places := map[[2]int]bool{}
		for _, o := range []Options{{}, {Seed: 1}, {Task: 1}, {Half: Test}} {
			m := apply(t, task, []Step{{"occlusion", 0.4}}, o)
			top, left := square(t, task, 0, side, m[0])
			places[[2]int{top, left}] = true
			for i := range task.N {
				if y, x := square(t, task, i, side, m[i]); y != top || x != left {
					t.Errorf("shape %v: image %d has its square at %d,%d, and image 0 at %d,%d", shape, i, y, x, top, left)
				}
			}
		}
		if len(places) != 4 {
			t.Errorf("shape %v: another seed, task and half have %d places together with the first, want 4", shape, len(places))
		}
	}
}

// TestOcclusionPlacesAreUniform wants each place equally often in each dimension, both ends included. By chance a χ²
// beyond the bound has a probability below 1e-6.
func TestOcclusionPlacesAreUniform(t *testing.T) {
	task := made([3]int{1, 12, 10}, 7000)
	task.At = func(_ int, buf []uint8) ([]uint8, error) { clear(buf); return buf, nil }
	m := apply(t, task, []Step{{"occlusion", 0.4}}, Options{PerImage: true})
	tops, lefts := make([]int, 9), make([]int, 7)
	joint := make([]int, 63)
	for i := range task.N {
		top, left := square(t, task, i, 4, m[i])
		tops[top]++
		lefts[left]++
		joint[top*7+left]++
	}
	for _, c := range []struct {
		name  string
		found []int
		bound float64 // of χ² with one degree of freedom fewer than places
	}{{"rows", tops, 42.8}, {"columns", lefts, 38.3}, {"both", joint, 130}} {
		mean, chi := float64(task.N)/float64(len(c.found)), 0.0
		for _, n := range c.found {
			chi += (float64(n) - mean) * (float64(n) - mean) / mean
		}
		if !(chi <= c.bound) {
			t.Errorf("%s: χ² is %.1f, want at most %v: %v", c.name, chi, c.bound, c.found)
		}
	}
}
