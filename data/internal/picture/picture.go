// Package picture decodes one image file into a square of a wanted size: uint8 planes, as the data sets of package data
// have them.
//
// Shapes and rounding follow Pillow and torchvision, so that numbers can be compared with those of PyTorch programs: the
// filter is Pillow's BILINEAR, bit for bit, and alpha is dropped without blending, as convert("RGB") does. What differs:
// the orientation that EXIF asks for is applied; of 16-bit images the upper byte counts; transparent pixels of a GIF are
// black, as are those of its canvas that the first frame does not cover. JPEG and WebP leave rounding and the
// interpolation of colours to the decoder, so their pixels lie near those of Pillow.
//
// Start at [Decode].
package picture

import (
	"bytes"
	"fmt"
	"image"
	"slices"
	"strings"
	"sync"
)

// Fit says how an image of another size or form becomes a square.
type Fit int

const (
	// Crop makes the shorter side as long as wanted and cuts out the middle, as torchvision's Resize and CenterCrop do.
	Crop Fit = iota
	// Stretch makes both sides as long as wanted, whatever that does to the form.
	Stretch
)

// Version names decoder and filter. It is part of cache keys: raise it when a change gives other pixels.
const Version = "picture/1"

// scratch is the memory of one call to Decode that the next call can use again.
type scratch struct {
	planes []uint8 // [3,h,w] as the file stores them
	turned []uint8 // one plane [h,w] as EXIF turns it
	rows   []uint8 // one plane [rows,side], resized across
	sums   []int32 // [side]
}

var pool = sync.Pool{New: func() any { return new(scratch) }}

// grown is b with n elements, whose values are left over from earlier use.
func grown[T any](b *[]T, n int) []T {
	*b = slices.Grow((*b)[:0], n)[:n]
	return *b
}

// Decode decodes file, the bytes of a JPEG, PNG, GIF, WebP or BMP file, into dst, uint8 [3,side,side] in planes red, green,
// blue. The content decides on the format. An animation gives its first frame. The pixels of an image that has the wanted
// size are not changed. Large images are refused, as [Size] does, before memory is allocated for them.
//
// An error does not name the file, which the caller knows. A dst of another length than 3·side·side panics.
func Decode(file []byte, dst []uint8, side int, fit Fit) error {
	if side < 1 || len(dst) != 3*side*side || fit != Crop && fit != Stretch {
		panic(fmt.Sprintf("picture: dst has %d elements for side %d and fit %d", len(dst), side, fit))
	}
	f, w, h, err := header(file)
	if err != nil {
		return err
	}
	img, err := f.decode(bytes.NewReader(file))
	if err != nil {
		return f.problem(file, err)
	}
	turn := orientation(f.exif(file))
	if w == side && h == side && turn == upright {
		f.convert(dst, img, w, h)
		return nil
	}
	s := pool.Get().(*scratch)
	defer pool.Put(s)
	planes := grown(&s.planes, 3*w*h)
	f.convert(planes, img, w, h)
	across, down := squares(turn, w, h, side, fit)
	for c := range 3 {
		plane, to := planes[c*w*h:(c+1)*w*h], dst[c*side*side:(c+1)*side*side]
		if turn != upright {
			turned := grown(&s.turned, w*h)
			turn.apply(turned, plane, w, h)
			plane = turned
		}
		resize(to, plane, across, down, s)
	}
	return nil
}

// squares are the weights that make an image, w×h before turn, a square: for its columns and for its rows.
func squares(turn turn, w, h, side int, fit Fit) (across, down axis) {
	w, h = turn.size(w, h)
	if fit == Stretch {
		return newAxis(w, side, side), newAxis(h, side, side)
	}
	short := min(w, h)
	return newAxis(w, side*w/short, side), newAxis(h, side*h/short, side)
}

// Size is the width and height of an image as [Decode] sees it, after EXIF orientation, from the header alone, with the
// name of its format. Images are refused whose header is damaged, that have more than 100 megapixels or 65,535 pixels on
// a side, or that have many more pixels than so short a file can describe.
func Size(file []byte) (w, h int, format string, err error) {
	f, w, h, err := header(file)
	if err != nil {
		return 0, 0, "", err
	}
	w, h = orientation(f.exif(file)).size(w, h)
	return w, h, f.name, nil
}

// Extensions lists the endings of file names, in lower case with the dot, that Decode reads.
func Extensions() []string {
	var all []string
	for _, f := range formats {
		all = append(all, f.extensions...)
	}
	return all
}

// names lists the formats for messages: "JPEG, PNG or GIF".
func names() string {
	var all []string
	for _, f := range formats {
		all = append(all, f.name)
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// convert writes the pixels of what f.decode returned into dst, [3,h,w].
func (f *format) convert(dst []uint8, img image.Image, w, h int) {
	n := w * h
	toPlanes([3][]uint8{dst[:n], dst[n : 2*n], dst[2*n : 3*n]}, w, h, img, f.matrix)
}
