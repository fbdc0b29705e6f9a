package learner

import (
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/internal/rng"
	"ocl/memory"
)

// numbered is a batch of n images whose pixel (c, y, x) of row i is a number of its own, above 0.
func numbered(n, c, h, w int) *memory.Buffer {
	b := &memory.Buffer{}
	b.Resize(n, c, h, w)
	for i := range b.X.Data {
		b.X.Data[i] = float32(1 + i)
	}
	for i := range b.Y {
		b.Y[i] = ocl.Label(i)
	}
	return b
}

// TestCropAndFlip: every image is a shift of the original by at most the padding, mirrored or not, zeros elsewhere, by
// the definition applied pixel by pixel; all shifts and both sides occur.
func TestCropAndFlip(t *testing.T) {
	const c, h, w, pad = 2, 9, 16, 2
	src, twin := rng.New(1, "crop"), rng.New(1, "crop")
	var a augmenter
	seen := map[[3]int]bool{}
	for range 200 {
		b, original := numbered(3, c, h, w), numbered(3, c, h, w)
		a.cropAndFlip(&b.X, src)
		for i := range 3 {
			dy, dx, mirror := twin.IntN(2*pad+1)-pad, twin.IntN(2*pad+1)-pad, twin.IntN(2)
			seen[[3]int{dy, dx, mirror}] = true
			for plane := range c {
				for y := range h {
					for x := range w {
						want, column := float32(0), x+dx
						if mirror == 1 {
							column = w - 1 - x + dx
						}
						if y+dy >= 0 && y+dy < h && column >= 0 && column < w {
							want = original.X.Row(i)[(plane*h+y+dy)*w+column]
						}
						if got := b.X.Row(i)[(plane*h+y)*w+x]; got != want {
							t.Fatalf("shift %d, %d, mirror %d: pixel %d, %d is %v, want %v", dy, dx, mirror, y, x, got, want)
						}
					}
				}
			}
		}
	}
	if len(seen) != 50 {
		t.Errorf("%d of 50 crops occurred", len(seen))
	}
}

// TestCutMix: a box, the same in all rows and planes, comes from the row whose label is beside; share is what is left.
func TestCutMix(t *testing.T) {
	const n, c, h, w = 5, 2, 6, 8
	src := rng.New(1, "mix")
	var m mixture
	boxes := map[float64]bool{}
	for range 300 {
		b, original := numbered(n, c, h, w), numbered(n, c, h, w)
		m.cut(b, src)
		boxes[m.share] = true
		if !slices.Equal(b.Y, original.Y) {
			t.Fatal("the batch's own labels changed")
		}
		taken := 0
		for i := range n {
			for k, v := range b.X.Row(i) {
				if m.y[i] != ocl.Label(i) && v != original.X.Row(i)[k] {
					taken++
					if v != original.X.Row(int(m.y[i]))[k] {
						t.Fatalf("row %d, pixel %d is %v, neither its own nor of row %d", i, k, v, m.y[i])
					}
				}
			}
			if m.y[i] != ocl.Label(i) {
				if got := float64(taken) / (c * h * w); !(math.Abs(got-1+m.share) <= 1e-12) {
					t.Fatalf("%v of row %d is replaced, share %v", got, i, m.share)
				}
			}
			taken = 0
		}
	}
	if len(boxes) < 10 {
		t.Errorf("boxes of %d areas only", len(boxes))
	}
}
