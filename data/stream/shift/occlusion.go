package shift

import (
	"fmt"

	"ocl/rng"
)

// occlusion paints a white square of OcclusionSide(f, S) pixels, S the shorter side of the image, over all channels.
// Its centre is uniform among the integers that keep the square in the image, both bounds included, in each dimension.
var occlusion = kind{
	name:   "occlusion",
	survey: []float64{0, 0.07, 0.13, 0.2, 0.27, 0.33, 0.4, 0.47, 0.53, 0.6},
	make: func(f float64, shape [3]int, o Options) transform {
		h, w := shape[1], shape[2]
		side := OcclusionSide(f, min(h, w))
		place := func(name string) (top, left int) {
			src := rng.New(o.Seed, "shift/occlusion/"+o.Half+"/"+name)
			return src.IntN(h - side + 1), src.IntN(w - side + 1)
		}
		top, left := place(fmt.Sprintf("task/%d", o.Task))
		return func(x []float32, index int) {
			if o.PerImage {
				top, left = place(fmt.Sprintf("image/%d", index))
			}
			for c := range shape[0] {
				for y := top; y < top+side; y++ {
					row := x[(c*h+y)*w:][left : left+side]
					for i := range row {
						row[i] = 1
					}
				}
			}
		}
	},
}

// OcclusionSide is the side of the square in pixels, 2·⌊⌊f·S⌋/2⌋, for the strength f and the shorter side S of the
// image. f·S is computed in float64, as the survey's code does.
func OcclusionSide(strength float64, side int) int {
	return int(strength*float64(side)) / 2 * 2
}
