package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"

	"ocl/data/internal/cache"
	"ocl/internal/count"
	"ocl/internal/limit"
)

var glyphsInfo = Info{
	Name: "glyphs", Title: "glyphs, the built-in data set",
	Summary: "Letters and digits of three alphabets in ten typefaces: rotated, coloured, on textured backgrounds, blurred and " +
		"noisy. The program draws them, so nothing is downloaded.",
	Classes: 100, Shape: "3×32×32 (any side from 8 to 512 with data.size)", Colour: true, Size: 32,
	Train: 10000, Test: 2500,
	Layout: "no files; the images are drawn when needed, and are the same on every machine\n" +
		"data.train_per_class (100) and data.test_per_class (25) change their number; the first ones stay the same\n" +
		"data.domains is what differs between the tasks of --stream domains: font, noise or rotation",
	Source:   "this program, from the Go fonts of golang.org/x/image",
	Licence:  "Apache-2.0 as this program; the Go fonts are under a BSD licence",
	Citation: "none; please name this program and its version",
	Example:  "ocl run --data glyphs",
	Draws:    true,
	Domains:  []string{"font", "noise", "rotation"},
	MinSize:  glyphMinSize, MaxSize: glyphMaxSize, MaxPerClass: glyphMaxPerClass,
	Open: openGlyphs,
}

// glyphClasses are the characters, one class each: digits and Latin, Greek and Cyrillic letters. Characters that differ
// only in size or in their alphabet are left out (O o 0, C c, P and Greek Ρ, …).
const glyphClasses = "0123456789" +
	"ABCDEFGHJKLMNPQRSTUVWXYZ" +
	"abdefghijmnqrt" +
	"ΓΔΘΛΞΠΣΦΨΩ" + "βγδεζλμξπσω" +
	"БДЖИЙЦЧШЩЪЫЭЮЯЂЉЊЄЏ" +
	"ÆŒæßÞÜŁŊĦĐðŧ"

const (
	glyphSize, glyphMinSize, glyphMaxSize = 32, 8, 512
	glyphTrainPerClass, glyphTestPerClass = 100, 25
	glyphMaxPerClass                      = 10000
)

// openGlyphs draws the data set. Image i of a split shows class i mod 100 and depends only on the split, on i and on
// the size. So a larger number appends images, and another size draws the same scenes larger or smaller.
func openGlyphs(ctx context.Context, spec Spec) (*Set, error) {
	if bits.UintSize < 64 {
		return nil, errors.New("this is a 32-bit build, but the images are drawn with integers of 64 bits. Use a 64-bit build")
	}
	size, train, test := cmp.Or(spec.Size, glyphSize), cmp.Or(spec.TrainPerClass, glyphTrainPerClass),
		cmp.Or(spec.TestPerClass, glyphTestPerClass)
	outlines, err := glyphOutlines()
	if err != nil {
		return nil, err
	}
	set := &Set{Name: "glyphs", C: 3, H: size, W: size, Classes: len(outlines[0])}
	if bytes := int64(train+test) * int64(set.Classes*set.ImageLen()); bytes > limit.Set {
		return nil, fmt.Errorf("%d images per class of %d×%d pixels need %s bytes, more than the limit of %s. "+
			"Use a smaller data.size, data.train_per_class or data.test_per_class", train+test, size, size, count.Number(bytes),
			count.Number(limit.Set))
	}
	for _, r := range glyphClasses {
		set.ClassNames = append(set.ClassNames, string(r))
	}
	domains := glyphDomainsOf(spec.Domains)
	set.Domains = domains.names
	if set.Train, err = drawGlyphs(ctx, set, outlines, domains, "train", train); err == nil {
		set.Test, err = drawGlyphs(ctx, set, outlines, domains, "test", test)
	}
	return set, err
}

// drawGlyphs draws perClass images of every class, on all processors: every image has its own random numbers, so the
// work may be divided in any way.
func drawGlyphs(ctx context.Context, set *Set, outlines [][]outline, domains glyphDomains, split string,
	perClass int) (Split, error) {
	n := perClass * set.Classes
	images := newBlock(n, set.ImageLen())
	s := Split{Images: images, Y: make([]int32, n), Domain: make([]int32, n), Strength: make([]float32, n)}
	const chunk = 64
	return s, cache.Each(ctx, (n+chunk-1)/chunk, 0, 0, nil, func(k int, _ []uint8) error {
		p := newPainter(set.H)
		for i := k * chunk; i < min((k+1)*chunk, n); i++ {
			class := i % set.Classes
			d := newDice("ocl/glyphs/1/"+split, uint64(i))
			font := d.below(len(outlines))
			strength := d.below(256)
			turn := p.paint(images.at(i), outlines, font, class, strength, d)
			s.Y[i], s.Domain[i], s.Strength[i] = int32(class), int32(domains.of(font, strength, turn)), float32(strength)/255
		}
		return nil
	})
}

// dice is the random source of one image, SplitMix64 (Steele, Lea, Flood 2014). It is written out here because the
// images must never change, not even with a new Go.
type dice struct{ state uint64 }

// newDice starts the numbers of image i of the stream called name; FNV-1a of the name separates the streams.
func newDice(name string, i uint64) *dice {
	h := uint64(14695981039346656037)
	for k := range len(name) {
		h = (h ^ uint64(name[k])) * 1099511628211
	}
	d := &dice{h}
	d.state = d.next() ^ i*0x9e3779b97f4a7c15
	d.state = d.next()
	return d
}

func (d *dice) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below draws a number in [0, n); its bias is below 2⁻⁴⁰ for the n < 2²⁴ used here.
func (d *dice) below(n int) int { return int(d.next() >> 16 % uint64(n)) }

// between draws a number in [lo, hi].
func (d *dice) between(lo, hi int) int { return lo + d.below(hi-lo+1) }

// around draws a number in [-a, a], triangular: small values are more frequent.
func (d *dice) around(a int) int { return (d.between(-a, a) + d.between(-a, a)) / 2 }
