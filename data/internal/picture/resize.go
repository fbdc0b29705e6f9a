package picture

import "math"

// weightBits is the precision of weights, that of Pillow's filters for 8 bits.
const weightBits = 32 - 8 - 2

// axis says how the pixels along one side become fewer or more: each wanted pixel is a weighted sum of a run of pixels.
type axis struct {
	in      int // pixels of the image along this side
	taps    []tap
	weights []int32 // in units of 1/2^weightBits
}

// tap is one wanted pixel: the sum of pixels first, first+1, … times weights[from:to].
type tap struct{ first, from, to int }

// newAxis makes in pixels out pixels, out ≥ want, and keeps the want in the middle, as torchvision's CenterCrop does:
// half a pixel is rounded to the even one.
//
// The weights are those of Pillow's BILINEAR, a tent over the pixels on either side, or of its BICUBIC; they grow as
// wide as a wanted pixel where the image shrinks. They are not draw.BiLinear's of golang.org/x/image, whose sums differ
// from Pillow's in the last bit, and which takes 32 bytes for each column wanted and row of the image: 176 MB to make
// 84×84 of 1×65,535. float64(…) around a product keeps a compiler from fusing it with a sum, so all machines have the
// same weights.
func newAxis(in, out, want int, fit Fit) axis {
	scale := float64(in) / float64(out)
	stretch, support, filter := max(scale, 1), 1.0, tent
	if fit&Bicubic != 0 {
		support, filter = 2, cubic
	}
	reach := support * stretch // on each side
	skip := int(math.RoundToEven(float64(out-want) / 2))
	a := axis{in: in, taps: make([]tap, want), weights: make([]int32, 0, want*(2*int(math.Ceil(reach))+1))}
	parts := make([]float64, 0, 2*int(math.Ceil(reach))+1)
	for i := range a.taps {
		centre := (float64(skip+i) + 0.5) * scale
		first := max(int(float64(centre)-reach+0.5), 0)
		end := min(int(float64(centre)+reach+0.5), in)
		parts = parts[:0]
		sum := 0.0
		for x := first; x < end; x++ {
			weight := filter((float64(x) - float64(centre) + 0.5) / stretch)
			parts = append(parts, weight)
			sum += weight
		}
		from := len(a.weights)
		for _, weight := range parts {
			a.weights = append(a.weights, int32(math.Copysign(0.5, weight)+weight/sum*(1<<weightBits)))
		}
		a.taps[i] = tap{first, from, len(a.weights)}
	}
	return a
}

// tent is the filter of BILINEAR.
func tent(x float64) float64 { return max(1-math.Abs(x), 0) }

// cubic is the filter of BICUBIC: cubic convolution with a = -1/2 (Keys 1981).
func cubic(x float64) float64 {
	const a = -0.5
	x = math.Abs(x)
	switch {
	case x < 1:
		return float64(float64(float64((a+2)*x)-(a+3))*x*x) + 1
	case x < 2:
		return float64(float64(float64(float64(float64(x-5)*x)+8)*x)-4) * a
	}
	return 0
}

// rows is the range of pixels that any wanted pixel needs.
func (a axis) rows() (first, end int) {
	last := a.taps[len(a.taps)-1]
	return a.taps[0].first, last.first + last.to - last.from
}

// resizer resizes images and keeps its buffers for the next one.
type resizer struct {
	row, narrow [3][]uint8
	sums        []int32
}

// resize makes of an image, whose sides are those of the axes, the planes dst, red, green and blue: first across, then
// down, rounded to bytes after each, as Pillow does. Pillow 13 goes down first where an image shrinks far more in
// height; its pixels then differ by at most 1.
func (s *resizer) resize(dst []uint8, image rows, across, down axis) {
	side := len(across.taps)
	top, bottom := down.rows()
	for c := range s.row {
		s.row[c], s.narrow[c] = held(s.row[c], across.in), held(s.narrow[c], (bottom-top)*side)
	}
	for y := top; y < bottom; y++ {
		image(y, s.row[0], s.row[1], s.row[2])
		for c := range s.row {
			across.one(s.narrow[c][(y-top)*side:][:side], s.row[c])
		}
	}
	s.down(dst, down, side)
}

// resizeColumns is [resizer.resize] of an image whose columns come, from the left, in place of its rows. It has the
// same sums, and no more of the image in memory than one column.
func (s *resizer) resizeColumns(dst []uint8, columns rows, across, down axis) {
	side := len(across.taps)
	top, bottom := down.rows()
	var sums [3][]int32
	for c := range s.row {
		s.row[c], s.narrow[c] = held(s.row[c], down.in), held(s.narrow[c], (bottom-top)*side)
		sums[c] = make([]int32, bottom-top)
	}
	for i, t := range across.taps {
		for c := range sums {
			for y := range sums[c] {
				sums[c][y] = 1 << (weightBits - 1) // one half
			}
		}
		for j, weight := range across.weights[t.from:t.to] {
			columns(t.first+j, s.row[0], s.row[1], s.row[2])
			for c := range sums {
				for y, v := range s.row[c][top:bottom] {
					sums[c][y] += int32(v) * weight
				}
			}
		}
		for c := range sums {
			for y, sum := range sums[c] {
				s.narrow[c][y*side+i] = clipped(sum, weightBits)
			}
		}
	}
	s.down(dst, down, side)
}

// down makes the planes dst of what is narrow already.
func (s *resizer) down(dst []uint8, down axis, side int) {
	s.sums = held(s.sums, side)
	size := side * len(down.taps)
	for c := range s.narrow {
		down.all(dst[c*size:][:size], s.narrow[c], s.sums)
	}
}

// held is b with length n, and allocates only if it has to.
func held[T any](b []T, n int) []T {
	if cap(b) < n {
		return make([]T, n)
	}
	return b[:n]
}

// all resizes the columns of src, which are those from the first needed row on, into the plane dst. sums has room for a
// row.
func (a axis) all(dst, src []uint8, sums []int32) {
	top, _ := a.rows()
	side := len(sums)
	for y, t := range a.taps {
		for x := range sums {
			sums[x] = 1 << (weightBits - 1) // one half
		}
		for i, weight := range a.weights[t.from:t.to] {
			for x, v := range src[(t.first-top+i)*side:][:side] {
				sums[x] += int32(v) * weight
			}
		}
		for x, sum := range sums {
			dst[y*side+x] = clipped(sum, weightBits)
		}
	}
}

// one resizes a row.
func (a axis) one(dst, src []uint8) {
	for i, t := range a.taps {
		sum := int32(1 << (weightBits - 1)) // one half
		weights := a.weights[t.from:t.to]
		for j, v := range src[t.first:][:len(weights)] {
			sum += int32(v) * weights[j]
		}
		dst[i] = clipped(sum, weightBits)
	}
}
