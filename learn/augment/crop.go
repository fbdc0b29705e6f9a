package augment

import (
	"fmt"
	"math"

	"ocl/internal/portable"
	"ocl/nn/tensor"
	"ocl/rng"
)

// ResizedCrop cuts a box out of each image and enlarges it to the whole image, bilinearly (RandomResizedCrop of
// torchvision, which SCR uses with Scale 0.2 to 1). The box has a share of the area from Scale, uniform, and the ratio
// of width to height from Ratio, uniform in its logarithm. A box that does not fit is drawn again. After ten of them
// the box is the largest in the middle whose ratio lies in Ratio.
type ResizedCrop struct {
	Scale [2]float64 // least and most share of the area, in (0,1]
	Ratio [2]float64 // least and most width/height, above 0; zero is 3/4 to 4/3

	image    []float32
	from, to []int     // by column of the image, the columns of the box that it lies between
	share    []float32 // of the right one
}

// ratio is Ratio, or its default.
func (r *ResizedCrop) ratio() [2]float64 {
	if r.Ratio == ([2]float64{}) {
		return [2]float64{3. / 4, 4. / 3}
	}
	return r.Ratio
}

// Check implements [Transform].
func (r *ResizedCrop) Check() error {
	if s := r.Scale; !(s[0] > 0 && s[0] <= s[1] && s[1] <= 1) {
		return fmt.Errorf("augment: ResizedCrop.Scale is %v. Use two rising numbers above 0 and up to 1", s)
	}
	if a := r.ratio(); !(a[0] > 0 && a[0] <= a[1] && a[1] <= math.MaxFloat32) {
		return fmt.Errorf("augment: ResizedCrop.Ratio is %v. Use two rising numbers above 0", a)
	}
	return nil
}

// Apply implements [Transform]. It draws for each row, until a box fits and at most ten times, the area and the ratio.
// Where a box fits it then draws the box's top and left.
func (r *ResizedCrop) Apply(x *tensor.Tensor, src *rng.Source) {
	_, h, w := extents(x)
	for i := range x.Shape[0] {
		top, left, high, wide := r.box(h, w, src)
		r.enlarge(x.Row(i), h, w, top, left, high, wide)
	}
}

// box draws a box of an image of h×w pixels.
func (r *ResizedCrop) box(h, w int, src *rng.Source) (top, left, high, wide int) {
	ratio := r.ratio()
	least, most := portable.Log(ratio[0]), portable.Log(ratio[1])
	for range 10 {
		area := float64(h*w) * uniform(src, r.Scale[0], r.Scale[1])
		a := portable.Exp(uniform(src, least, most))
		wide, high = int(math.RoundToEven(math.Sqrt(area*a))), int(math.RoundToEven(math.Sqrt(area/a)))
		if wide > 0 && wide <= w && high > 0 && high <= h {
			return src.IntN(h - high + 1), src.IntN(w - wide + 1), high, wide
		}
	}
	wide, high = w, h
	if a := float64(w) / float64(h); a < ratio[0] {
		high = max(1, int(math.RoundToEven(float64(w)/ratio[0])))
	} else if a > ratio[1] {
		wide = max(1, int(math.RoundToEven(float64(h)*ratio[1])))
	}
	return (h - high) / 2, (w - wide) / 2, high, wide
}

// enlarge replaces an image by a box of it. Pixels are areas (align_corners is false), and the border repeats.
func (r *ResizedCrop) enlarge(row []float32, h, w, top, left, high, wide int) {
	r.image = append(r.image[:0], row...)
	r.from, r.to, r.share = r.from[:0], r.to[:0], r.share[:0]
	for x := range w {
		at, next, share := between(x, wide, w)
		r.from, r.to, r.share = append(r.from, left+at), append(r.to, left+next), append(r.share, share)
	}
	for y := range h {
		at, next, below := between(y, high, h)
		for plane := 0; plane < len(row); plane += h * w {
			upper, lower := r.image[plane+(top+at)*w:][:w], r.image[plane+(top+next)*w:][:w]
			line := row[plane+y*w:][:w]
			for x, right := range r.share {
				u := float32(upper[r.from[x]]*(1-right)) + float32(upper[r.to[x]]*right)
				l := float32(lower[r.from[x]]*(1-right)) + float32(lower[r.to[x]]*right)
				line[x] = float32(u*(1-below)) + float32(l*below)
			}
		}
	}
}

// between says which two of n pixels pixel i of the larger number m lies between, and the share of the second.
func between(i, n, m int) (at, next int, share float32) {
	p := max(0, float64((float64(i)+0.5)*float64(n)/float64(m))-0.5)
	at = int(p)
	return at, min(at+1, n-1), float32(p - float64(at))
}

// uniform draws a number from [lo,hi).
func uniform(src *rng.Source, lo, hi float64) float64 { return lo + float64((hi-lo)*src.Float64()) }
