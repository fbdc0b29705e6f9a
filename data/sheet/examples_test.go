package sheet

import (
	"image"
	"testing"

	"ocl/data"
)

// TestExamples: they are test images of the classes that are asked for, spread over those that a class has, and not
// larger than wanted.
func TestExamples(t *testing.T) {
	set := open(t, data.Spec{Name: "glyphs", Seed: 3, TrainPerClass: 1, TestPerClass: 5, Size: 20})
	images, err := Examples(set, []int{7, 2, 1_000}, 3, 64)
	if err != nil || len(images) != 3 || len(images[0]) != 3 || len(images[1]) != 3 || len(images[2]) != 0 {
		t.Fatalf("images %v: %v", images, err)
	}
	var places []int32
	for i, y := range set.Test.Y {
		if y == 7 {
			places = append(places, int32(i))
		}
	}
	for k, place := range []int{0, 1, 3} { // of five
		pixels, err := set.Take(set.Test, places[place:place+1])
		if err != nil {
			t.Fatal(err)
		}
		for y := range set.H {
			for x := range set.W {
				r, g, b, _ := images[0][k].At(x, y).RGBA()
				i, plane := y*set.W+x, set.W*set.H
				if uint8(r) != pixels[0][i] || uint8(g) != pixels[0][plane+i] || uint8(b) != pixels[0][2*plane+i] {
					t.Fatalf("image %d differs at %d, %d", k, x, y)
				}
			}
		}
	}
	if few, err := Examples(set, []int{7}, 9, 64); err != nil || len(few[0]) != 5 {
		t.Errorf("%d images of 5: %v", len(few[0]), err)
	}
	small, err := Examples(set, []int{7}, 1, 10)
	if err != nil || small[0][0].Bounds() != image.Rect(0, 0, 10, 10) {
		t.Errorf("an image is not made smaller: %v", err)
	}
	set.Embeddings = true
	if _, err := Examples(set, []int{7}, 1, 10); err == nil {
		t.Error("embeddings have images")
	}
}
