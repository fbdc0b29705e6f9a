package doctor

import (
	"context"
	"math"
	"math/bits"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"ocl/data"
)

// side² is the number of values by which images are compared.
const side = 16

// What makes two images near copies: their difference hashes differ in few of 64 bits, and their pixels, grey and made
// smaller, correlate. Of the 1.8 thousand million pairs of Mini-ImageNet none is called so by mistake
// (docs/pictures.md).
const (
	hashBits    = 6
	correlation = 0.98
)

// print is what near copies of an image share.
type print struct {
	hash   uint64    // a bit for each of 8×8 places: it is darker than the one to its right
	values []float32 // [side²] of mean 0 and length 1; nil where there is nothing to see
}

// copies finds images that are there several times.
func (e *exam) copies(ctx context.Context) error {
	sums, err := e.set.Sums(ctx)
	if err != nil {
		return err
	}
	root := make([]int, len(sums)) // the first of a group
	for i := range root {
		root[i] = i
	}
	for _, same := range data.Copies(sums) {
		for _, i := range same {
			root[i] = same[0]
		}
	}
	find := func(i int) int {
		for root[i] != i {
			i = root[i]
		}
		return i
	}
	pairs, err := e.near(ctx, root)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		a, b := find(p[0]), find(p[1])
		root[max(a, b)] = min(a, b)
	}
	groups := map[int][]int{}
	for i := range sums {
		groups[find(i)] = append(groups[find(i)], i)
	}
	for i := range sums {
		if g := groups[i]; len(g) > 1 {
			e.group(g, slices.ContainsFunc(g, func(k int) bool { return sums[k] != sums[g[0]] }))
		}
	}
	return nil
}

// group adds the finding about images that are copies.
func (e *exam) group(g []int, near bool) {
	f := Finding{Kind: Duplicate, Near: near}
	labels, tests := map[int]bool{}, 0
	for _, i := range g {
		m := e.image(i)
		labels[e.label(i)] = true
		if m.Test {
			tests++
		}
		f.Images = append(f.Images, m)
	}
	switch {
	case len(labels) > 1:
		f.Kind = TwoLabels
		for _, i := range g {
			e.disputed[i] = -1
		}
	case tests > 0 && tests < len(g):
		f.Kind = TestInTraining
	}
	e.groups[len(e.found.List)] = g
	e.add(f)
}

// settle says which copies can go, once labels were looked at: all but one. Of copies under several labels, one with
// the label that the features of all of them surely say stays; without such a label a person has to choose, and all
// stay. Of the copies that may stay, it is the first for testing where a person has chosen the test half, as tests
// should stay the same, and otherwise of near copies the one of the most pixels, as a crop has lost some, and the first
// by path.
func (e *exam) settle(ctx context.Context) {
	for at, g := range e.groups {
		f := &e.found.List[at]
		right := e.label(g[0])
		if f.Kind == TwoLabels {
			if right = e.disputed[g[0]]; slices.ContainsFunc(g, func(i int) bool { return e.disputed[i] != right }) ||
				!slices.ContainsFunc(g, func(i int) bool { return e.label(i) == right }) {
				continue
			}
		}
		sizes := make([]int, len(g)) // pixels of the files
		for k, m := range f.Images {
			if f.Near && m.File != "" {
				_ = data.UsePictureFile(ctx, m.File, func(file []byte) error { // it was read before
					w, h, err := data.PictureSize(file)
					sizes[k] = w * h
					return err
				})
			}
		}
		stays := -1
		for k, i := range g {
			if e.label(i) == right && (stays < 0 || e.rather(f.Images[k], f.Images[stays], sizes[k]-sizes[stays])) {
				stays = k
			}
		}
		for k := range f.Images {
			f.Images[k].Move = k != stays
		}
	}
}

// rather says whether the copy a, which has so many pixels more than b, stays rather than b.
func (e *exam) rather(a, b Image, more int) bool {
	if a.Test != b.Test && !e.set.Divided {
		return a.Test
	}
	if more != 0 {
		return more > 0
	}
	stem := func(m Image) string { return strings.TrimSuffix(m.File, filepath.Ext(m.File)) }
	return stem(a) < stem(b) // 1.jpg before "1 copy.jpg"
}

// each calls do for every number below n, on all cores. worker makes what one goroutine does.
func (e *exam) each(ctx context.Context, what string, n int, worker func() func(i int) error) error {
	var next, done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	workers := min(runtime.GOMAXPROCS(0), max(n, 1))
	for w := range workers {
		group.Go(func() error {
			do := worker()
			for ctx.Err() == nil {
				i := int(next.Add(1) - 1)
				if i >= n {
					return nil
				}
				if err := do(i); err != nil {
					return err
				}
				if d := done.Add(1); w == 0 { // one goroutine tells it
					e.progress(e.set.Name+": "+what, int(d), n)
				}
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// near finds the pairs of images that are near copies. Of equal ones only the first is looked at, which first has.
func (e *exam) near(ctx context.Context, first []int) ([][2]int, error) {
	if e.set.Embeddings {
		return nil, nil
	}
	var of []int
	for i, f := range first {
		if i == f {
			of = append(of, i)
		}
	}
	prints := make([]print, len(first))
	if err := e.each(ctx, "images compared", len(of), func() func(k int) error {
		buf := make([]uint8, e.set.ImageLen())
		return func(k int) error {
			pixels, err := e.pixels(e.set, of[k], buf)
			if err == nil {
				prints[of[k]].look(pixels, e.set.C, e.set.H, e.set.W)
			}
			return err
		}
	}); err != nil {
		return nil, err
	}
	of = slices.DeleteFunc(of, func(i int) bool { return prints[i].values == nil })
	found := make([][][2]int, len(of))
	err := e.each(ctx, "images paired", len(of), func() func(k int) error {
		return func(k int) error {
			a := &prints[of[k]]
			for _, i := range of[k+1:] {
				if b := &prints[i]; bits.OnesCount64(a.hash^b.hash) <= hashBits && dot(a.values, b.values) >= correlation {
					found[k] = append(found[k], [2]int{of[k], i})
				}
			}
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	parts, err := e.cropped(ctx, of)
	return append(slices.Concat(found...), parts...), err
}

func dot(a, b []float32) (sum float64) {
	for i, v := range a {
		sum += float64(v) * float64(b[i])
	}
	return sum
}

// look makes the hash and the values of an image [c,h,w]. One without contrast has none, and neither has one that is
// blank in half of its places, such as a digit: others of its class look alike without being copies.
func (p *print) look(pixels []uint8, c, h, w int) {
	const least = 4 // standard deviation in levels, below which noise alone is compared
	grey, blank := shrunk(pixels, c, h, w, 9, 8), 0
	for y := range 8 {
		for x := range 8 {
			p.hash <<= 1
			if grey[y*9+x] < grey[y*9+x+1] {
				p.hash |= 1
			}
			if math.Abs(grey[y*9+x]-grey[y*9+x+1]) < 1 {
				blank++
			}
		}
	}
	values := shrunk(pixels, c, h, w, side, side)
	mean, square := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		square += (v - mean) * (v - mean)
	}
	if square < least*least*float64(len(values)) || blank > 32 {
		return
	}
	p.values = make([]float32, len(values))
	for i, v := range values {
		p.values[i] = float32((v - mean) / math.Sqrt(square))
	}
}

// shrunk is the mean of all channels of an image [c,h,w] in each of across×down places.
func shrunk(pixels []uint8, c, h, w, across, down int) []float64 {
	out := make([]float64, across*down)
	for y := range down {
		top, bottom := y*h/down, max((y+1)*h/down, y*h/down+1)
		for x := range across {
			left, right := x*w/across, max((x+1)*w/across, x*w/across+1)
			sum := 0
			for channel := range c {
				for row := top; row < bottom; row++ {
					for _, v := range pixels[(channel*h+row)*w+left : (channel*h+row)*w+right] {
						sum += int(v)
					}
				}
			}
			out[y*across+x] = float64(sum) / float64(c*(bottom-top)*(right-left))
		}
	}
	return out
}
