package doctor

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"ocl"
	"ocl/internal/count"
	"ocl/internal/kernel"
	"ocl/internal/limit"
	"ocl/nn"
)

// What makes one image a part of another one: the features of a network find them alike, and the pixels of the one
// correlate with those of a window of the other. Of 600 photographs of Mini-ImageNet without a tenth at each border 560
// are found, and of 9,000 photographs no two that are not parts of one picture (docs/pictures.md).
const (
	alikeFeatures = 0.8   // cosine
	nearest       = 3     // images that are looked at for each, the most alike
	insight       = 0.985 // correlation
	firstSight    = 0.6   // of the windows that are tried first
)

// cropped finds pairs of images of which one is a part of the other, among those that have something to see.
func (e *exam) cropped(ctx context.Context, of []int) (pairs [][2]int, err error) {
	if !e.features.Embeddings || e.quick {
		return nil, nil
	}
	if len(of) > limit.DoctorCrops {
		e.found.Notes = append(e.found.Notes, fmt.Sprintf("copies that were cropped are looked for among at most %s: NOT LOOKED FOR",
			count.Of(limit.DoctorCrops, "image")))
		return nil, nil
	}
	likely, err := e.likely(ctx, of)
	if err != nil {
		return nil, err
	}
	is := make([]bool, len(likely))
	err = e.each(ctx, "likely copies compared", len(likely), func() func(k int) error {
		var s [2]shades
		buf, whole := make([]uint8, e.set.ImageLen()), make([]float64, side*side)
		return func(k int) error {
			for j, i := range likely[k] {
				pixels, err := e.pixels(e.set, i, buf)
				if err != nil {
					return err
				}
				s[j].set(pixels, e.set.C, e.set.H, e.set.W)
			}
			for j := range s {
				if s[j].values(whole, window{side: 1}) && s[1-j].contain(whole) {
					is[k] = true
				}
			}
			return nil
		}
	})
	for k, pair := range likely {
		if is[k] {
			pairs = append(pairs, pair)
		}
	}
	return pairs, err
}

// likely are pairs of images with features that are alike, of each image with those most alike.
func (e *exam) likely(ctx context.Context, of []int) (pairs [][2]int, err error) {
	width := e.features.C
	features, buf := make([]float32, len(of)*width), make([]uint8, e.features.ImageLen())
	for k, i := range of {
		stored, err := e.pixels(e.features, i, buf)
		if err != nil {
			return nil, err
		}
		row := features[k*width:][:width]
		ocl.Float16{}.Write(row, stored)
		square := 0.0
		for _, v := range row {
			square += float64(v) * float64(v)
		}
		for j := range row {
			row[j] /= float32(math.Sqrt(max(square, math.SmallestNonzeroFloat32)))
		}
	}
	type one struct {
		with   int // another image
		cosine float64
	}
	alike, vectors := make([][]one, len(of)), kernel.Named(nn.DefaultEngine().Kernel)
	var mu sync.Mutex // of alike
	err = e.each(ctx, "features compared", len(of), func() func(k int) error {
		return func(k int) error {
			for j := range k {
				if c := vectors.Dot(features[k*width:][:width], features[j*width:][:width]); c >= alikeFeatures {
					mu.Lock()
					alike[k], alike[j] = append(alike[k], one{of[j], c}), append(alike[j], one{of[k], c})
					mu.Unlock()
				}
			}
			return nil
		}
	})
	for k, list := range alike {
		slices.SortFunc(list, func(a, b one) int {
			return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.with, b.with))
		})
		for _, a := range list[:min(nearest, len(list))] {
			pairs = append(pairs, [2]int{min(of[k], a.with), max(of[k], a.with)})
		}
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(pairs), err
}

// window is a square of an image: where it begins, and its side, in sides of the image.
type window struct{ x, y, side float64 }

// shades has the sums of an image's pixels in all rectangles that begin in its corner.
type shades struct {
	w, h int
	sums []float64 // [(h+1)·(w+1)]
}

// set takes an image [c,h,w].
func (s *shades) set(pixels []uint8, c, h, w int) {
	s.w, s.h, s.sums = w, h, make([]float64, (h+1)*(w+1))
	for y := range h {
		row := 0.0
		for x := range w {
			for channel := range c {
				row += float64(pixels[(channel*h+y)*w+x])
			}
			s.sums[(y+1)*(w+1)+x+1] = s.sums[y*(w+1)+x+1] + row
		}
	}
}

// upTo is the sum of the rectangle up to x and y, in pixels.
func (s *shades) upTo(x, y float64) float64 {
	i, j := min(int(x), s.w-1), min(int(y), s.h-1)
	fx, fy := x-float64(i), y-float64(j)
	above := s.sums[j*(s.w+1)+i:]
	below := above[s.w+1:]
	return (1-fy)*((1-fx)*above[0]+fx*above[1]) + fy*((1-fx)*below[0]+fx*below[1])
}

// values writes what side×side places of a window show, with mean 0 and length 1; false is nothing.
func (s *shades) values(dst []float64, v window) bool {
	place := func(k int, from float64, size int) float64 {
		return (from + v.side*float64(k)/side) * float64(size)
	}
	var above, below [side + 1]float64
	mean, square := 0.0, 0.0
	for y := range side + 1 {
		for x := range side + 1 {
			below[x] = s.upTo(place(x, v.x, s.w), place(y, v.y, s.h))
		}
		for x := 0; y > 0 && x < side; x++ {
			sum := below[x+1] - below[x] - above[x+1] + above[x]
			dst[(y-1)*side+x] = sum
			mean += sum / (side * side)
		}
		above = below
	}
	for i := range dst {
		dst[i] -= mean
		square += dst[i] * dst[i]
	}
	for i := range dst {
		dst[i] /= math.Sqrt(square)
	}
	return square > 0
}

// contain says whether an image is in a window of this one: few windows are tried first, and then those around the
// best.
func (s *shades) contain(whole []float64) bool {
	best, at, buf := firstSight, window{}, make([]float64, len(whole))
	try := func(v window) {
		if v.x < 0 || v.y < 0 || max(v.x, v.y)+v.side > 1 || !s.values(buf, v) {
			return
		}
		sum := 0.0
		for i, x := range buf {
			sum += x * whole[i]
		}
		if sum > best {
			best, at = sum, v
		}
	}
	for free := 1; free <= 4; free++ { // tenths of the side that a window leaves
		for x := range free + 1 {
			for y := range free + 1 {
				try(window{float64(x) / 10, float64(y) / 10, 1 - float64(free)/10 - 1e-9})
			}
		}
	}
	for step := 0.05; step > 0.003 && at.side > 0; step /= 2 {
		from := at
		for n := range 27 {
			try(window{from.x + step*float64(n%3-1), from.y + step*float64(n/3%3-1), from.side + step*float64(n/9-1)})
		}
	}
	return best >= insight
}
