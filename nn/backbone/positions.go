package backbone

import "math"

// Rules by which positions are resampled from the grid of the file to that of the network. All are bicubic, and
// differ where the grids do.
const (
	// positionsOffset is that of Facebook's DINOv2 without registers: a tenth of a patch is added to the new grid before
	// its side is divided by the old one, which shifts all positions.
	positionsOffset = "offset"
	positionsPlain  = "plain"     // by the sides of the grids
	positionsSmooth = "antialias" // likewise, and where the new grid is coarser the old one is smoothed
)

// resample makes positions [to·to][d] of positions [from·from][d], as PyTorch's interpolate does with mode="bicubic"
// and align_corners=False.
func resample(grid []float32, from, to, d int, rule string) []float32 {
	if from == to {
		return grid
	}
	scale := float64(from) / float64(to)
	if rule == positionsOffset {
		scale = float64(from) / (float64(to) + 0.1)
	}
	taps := make([][]tap, to)
	for i := range taps {
		taps[i] = bicubic(i, from, scale, rule == positionsSmooth)
	}
	rows := make([]float64, to*from*d) // [to][from][d]
	for y := range to {
		for _, t := range taps[y] {
			for i, v := range grid[t.at*from*d:][:from*d] {
				rows[y*from*d+i] += float64(t.weight * float64(v))
			}
		}
	}
	out := make([]float32, to*to*d)
	sum := make([]float64, d)
	for y := range to {
		for x := range to {
			clear(sum)
			for _, t := range taps[x] {
				for i, v := range rows[(y*from+t.at)*d:][:d] {
					sum[i] += float64(t.weight * v)
				}
			}
			for i, v := range sum {
				out[(y*to+x)*d+i] = float32(v)
			}
		}
	}
	return out
}

// tap is a source of a resampled value.
type tap struct {
	at     int
	weight float64
}

// bicubic lists the sources of value i of a row, of which there are n, scale of them for one value.
func bicubic(i, n int, scale float64, smooth bool) (taps []tap) {
	centre := float64((float64(i)+0.5)*scale) - 0.5
	if !smooth {
		first := int(math.Floor(centre)) - 1
		for at := first; at < first+4; at++ {
			taps = append(taps, tap{max(0, min(at, n-1)), cubic(float64(at)-centre, -0.75)})
		}
		return taps
	}
	stretch, sum := max(1, scale), 0.
	for at := max(0, int(math.Floor(centre-2*stretch+1))); at < min(n, int(math.Floor(centre+2*stretch+1))); at++ {
		w := cubic((float64(at)-centre)/stretch, -0.5)
		taps = append(taps, tap{at, w})
		sum += w
	}
	for i := range taps {
		taps[i].weight /= sum
	}
	return taps
}

// cubic is Keys' kernel with parameter a (Keys 1981).
func cubic(x, a float64) float64 {
	switch x = math.Abs(x); {
	case x < 1:
		return float64((float64((a+2)*x)-(a+3))*x*x) + 1
	case x < 2:
		return float64((float64((float64(a*x)-float64(5*a))*x)+8*a)*x) - 4*a
	}
	return 0
}
