package augment

import (
	"fmt"
	"math"

	"ocl"
	"ocl/internal/portable"
	"ocl/nn/tensor"
	"ocl/rng"
)

// RandAugment changes each image by N operations of 14, drawn uniformly and with repetition, with the magnitude M
// (Cubuk et al. 2020, with the operations and magnitudes of torchvision): nothing, shearing and moving along each axis,
// turning, brightness, saturation, contrast, sharpness, fewer bits a pixel (posterize), inverting bright pixels
// (solarize), and stretching (autocontrast) or equalizing the histogram of each channel. The first nine but for nothing
// go either way. What moves into the image is black. Magnitude 30 is a shear by 0.3, a move by 150/331 of the side, 30
// degrees, a factor of 1 ± 0.9, 4 bits, and all pixels inverted.
type RandAugment struct {
	N int // at least 0; usual 2
	M int // in [0,30]; usual 9

	Values ocl.PixelValues // as in [ColorJitter]

	image []float32
}

// most is the largest magnitude.
const most = 30

// operation changes an image of c channels of h×w pixels in [0,1] with a magnitude m in [-1,1].
type operation func(a *RandAugment, row []float32, c, h, w int, m float64)

// operations are in the order in which torchvision lists them.
var operations = [...]struct {
	do     operation
	signed bool
}{
	{func(*RandAugment, []float32, int, int, int, float64) {}, false},
	{func(a *RandAugment, row []float32, _, h, w int, m float64) {
		a.move(row, h, w, [6]float64{1, 0.3 * m, 0, 0, 1, 0}, false)
	}, true},
	{func(a *RandAugment, row []float32, _, h, w int, m float64) {
		a.move(row, h, w, [6]float64{1, 0, 0, 0.3 * m, 1, 0}, false)
	}, true},
	{func(a *RandAugment, row []float32, _, h, w int, m float64) {
		a.move(row, h, w, [6]float64{1, 0, -math.Trunc(150. / 331 * float64(w) * m), 0, 1, 0}, false)
	}, true},
	{func(a *RandAugment, row []float32, _, h, w int, m float64) {
		a.move(row, h, w, [6]float64{1, 0, 0, 0, 1, -math.Trunc(150. / 331 * float64(h) * m)}, false)
	}, true},
	{func(a *RandAugment, row []float32, _, h, w int, m float64) {
		sin, cos := portable.Sincos(m * 30 * math.Pi / 180)
		a.move(row, h, w, [6]float64{cos, -sin, 0, sin, cos, 0}, true)
	}, true},
	{func(_ *RandAugment, row []float32, _, _, _ int, m float64) { brighten(row, factorOf(m)) }, true},
	{func(_ *RandAugment, row []float32, c, _, _ int, m float64) { saturate(row, c, factorOf(m)) }, true},
	{func(_ *RandAugment, row []float32, c, _, _ int, m float64) { stretch(row, c, factorOf(m)) }, true},
	{func(a *RandAugment, row []float32, _, h, w int, m float64) { a.sharpen(row, h, w, factorOf(m)) }, true},
	{func(_ *RandAugment, row []float32, _, _, _ int, m float64) {
		posterize(row, 8-int(math.RoundToEven(4*m)))
	}, false},
	{func(_ *RandAugment, row []float32, _, _, _ int, m float64) { solarize(row, float32(1-m)) }, false},
	{func(_ *RandAugment, row []float32, c, _, _ int, _ float64) { autocontrast(row, c) }, false},
	{func(_ *RandAugment, row []float32, c, _, _ int, _ float64) { equalize(row, c) }, false},
}

// factorOf is the factor of a magnitude.
func factorOf(m float64) float32 { return float32(1 + float64(0.9*m)) }

// Check implements [Transform].
func (a *RandAugment) Check() error {
	if a.N < 0 {
		return fmt.Errorf("augment: RandAugment.N is %d. Use at least 0", a.N)
	}
	if a.M < 0 || a.M > most {
		return fmt.Errorf("augment: RandAugment.M is %d. Use a number from 0 to %d", a.M, most)
	}
	return nil
}

// Apply implements [Transform]. It draws for each row N times the operation and the direction, also for an operation
// that has none.
func (a *RandAugment) Apply(x *tensor.Tensor, src *rng.Source) {
	c, h, w := extents(x)
	agree("RandAugment", a.Values, c)
	for i := range x.Shape[0] {
		row := x.Row(i)
		toPixels(row, a.Values)
		for range a.N {
			op, back := &operations[src.IntN(len(operations))], src.IntN(2) == 1
			m := float64(a.M) / most
			if op.signed && back {
				m = -m
			}
			op.do(a, row, c, h, w, m)
		}
		toValues(row, a.Values)
	}
}

// move shows at each pixel (x,y) the nearest one to (m0 x + m1 y + m2, m3 x + m4 y + m5), or black beyond the border.
// Positions are those of the middle of pixels, from the upper left corner or from the centre of the image.
func (a *RandAugment) move(row []float32, h, w int, m [6]float64, centre bool) {
	a.image = append(a.image[:0], row...)
	ox, oy := 0.0, 0.0
	if centre {
		ox, oy = float64(w)/2, float64(h)/2
	}
	for y := range h {
		for x := range w {
			px, py := float64(x)+0.5-ox, float64(y)+0.5-oy
			sx := int(math.RoundToEven(float64(m[0]*px) + float64(m[1]*py) + m[2] + ox - 0.5))
			sy := int(math.RoundToEven(float64(m[3]*px) + float64(m[4]*py) + m[5] + oy - 0.5))
			inside := sx >= 0 && sx < w && sy >= 0 && sy < h
			for plane := 0; plane < len(row); plane += h * w {
				row[plane+y*w+x] = 0
				if inside {
					row[plane+y*w+x] = a.image[plane+sy*w+sx]
				}
			}
		}
	}
}

// sharpen mixes the image with a smoothed one, in which a pixel weighs 5 of 13 and each of its eight neighbours 1. The
// border stays as it is.
func (a *RandAugment) sharpen(row []float32, h, w int, f float32) {
	a.image = append(a.image[:0], row...)
	for plane := 0; plane < len(row); plane += h * w {
		for y := range h {
			for x := range w {
				smooth := a.image[plane+y*w+x]
				if y > 0 && y < h-1 && x > 0 && x < w-1 {
					sum := float32(4 * smooth)
					for _, v := range [3]int{-w, 0, w} {
						at := plane + y*w + v + x
						sum += a.image[at-1] + a.image[at] + a.image[at+1]
					}
					smooth = sum / 13
				}
				row[plane+y*w+x] = mix(a.image[plane+y*w+x], smooth, f)
			}
		}
	}
}

// level is the 8-bit level of a pixel.
func level(v float32) int { return int(float32(clamp(v)*255) + 0.5) }

// posterize keeps the upper bits of the 8-bit level of each pixel.
func posterize(row []float32, bits int) {
	for i, v := range row {
		row[i] = float32(level(v)&^(1<<(8-bits)-1)) / 255
	}
}

// solarize inverts the pixels from a threshold on.
func solarize(row []float32, threshold float32) {
	for i, v := range row {
		if v >= threshold {
			row[i] = clamp(1 - v)
		}
	}
}

// autocontrast stretches each channel to the whole range.
func autocontrast(row []float32, c int) {
	for plane := len(row) / c; len(row) > 0; row = row[plane:] {
		lo, hi := row[0], row[0]
		for _, v := range row[:plane] {
			lo, hi = min(lo, v), max(hi, v)
		}
		if lo == hi {
			continue
		}
		for i, v := range row[:plane] {
			row[i] = clamp((v - lo) / (hi - lo))
		}
	}
}

// equalize makes the histogram of the 8-bit levels of each channel as even as a table of levels can.
func equalize(row []float32, c int) {
	for plane := len(row) / c; len(row) > 0; row = row[plane:] {
		var count, to [256]int
		last := 0
		for _, v := range row[:plane] {
			count[level(v)]++
			last = max(last, level(v))
		}
		step := (plane - count[last]) / 255
		if step == 0 {
			continue
		}
		sum := 0
		for k := range to {
			to[k] = min(255, (sum+step/2)/step)
			sum += count[k]
		}
		for i, v := range row[:plane] {
			row[i] = float32(to[level(v)]) / 255
		}
	}
}
