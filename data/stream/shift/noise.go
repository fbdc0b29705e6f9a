package shift

import (
	"fmt"

	"ocl/rng"
)

// noiseUnit is the standard deviation of noise of strength 1, in [0,1] pixel units; from the survey's code.
const noiseUnit = 0.1

// noise adds f·N(0, 0.1²) to each value of each channel and clips to [0,1]. Each image has its own source, so that its
// noise does not depend on the others.
var noise = kind{
	name:   "noise",
	survey: []float64{0, 0.4, 0.8, 1.2, 1.6, 2, 2.4, 2.8, 3.2, 3.6},
	make: func(f float64, _ [3]int, o Options) transform {
		sd := f * noiseUnit
		return func(x []float32, index int) {
			src := rng.New(o.Seed, fmt.Sprintf("shift/noise/%s/%d", o.Half, index))
			for p, v := range x {
				x[p] = float32(min(max(float64(v)+float64(sd*normal(src)), 0), 1))
			}
		}
	},
}
