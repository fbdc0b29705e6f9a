// Package picture decodes one image file into an image of a wanted size: uint8 planes, as the data sets of package data
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
)

// Fit says how an image of another size or form becomes one of the wanted size.
type Fit int

const (
	// Crop makes the image just large enough to cover the wanted size and cuts out the middle. For squares this is what
	// torchvision's Resize and CenterCrop do.
	Crop Fit = iota
	// Stretch makes both sides as long as wanted, whatever that does to the form.
	Stretch
)

// Version names decoder and filter. It is part of cache keys: raise it when a change gives other pixels.
const Version = "picture/1"

// Decode decodes file, the bytes of a JPEG, PNG, GIF, WebP or BMP file, into dst, uint8 [3,h,w] in planes red, green,
// blue. The content decides on the format. An animation gives its first frame. The pixels of an image that has the wanted
// size are not changed. Images are refused, before memory is allocated for them, that
// have more than 100 megapixels or 65,535 pixels on a side, or many more pixels than so short a file can describe.
//
// An error does not name the file, which the caller knows. A dst of another length than 3·h·w panics.
func Decode(file []byte, dst []uint8, w, h int, fit Fit) error {
	if w < 1 || h < 1 || len(dst) != 3*w*h || fit != Crop && fit != Stretch {
		panic(fmt.Sprintf("picture: dst has %d elements for %d×%d pixels and fit %d", len(dst), w, h, fit))
	}
	f, fromW, fromH, err := header(file)
	if err != nil {
		return err
	}
	img, err := f.decode(bytes.NewReader(file))
	if err != nil {
		return f.problem(file, err)
	}
	turn := orientation(f.exif(file))
	if fromW == w && fromH == h && turn == upright {
		f.convert(dst, img, w, h)
		return nil
	}
	size := fromW * fromH
	planes := make([]uint8, 3*size)
	f.convert(planes, img, fromW, fromH)
	across, down := axes(turn, fromW, fromH, w, h, fit)
	for c := range 3 {
		plane, to := planes[c*size:(c+1)*size], dst[c*w*h:(c+1)*w*h]
		if turn != upright {
			turned := make([]uint8, size)
			turn.apply(turned, plane, fromW, fromH)
			plane = turned
		}
		resize(to, plane, across, down)
	}
	return nil
}

// axes are the weights that make an image, fromW×fromH before turn, w×h pixels: for its columns and for its rows.
func axes(turn turn, fromW, fromH, w, h int, fit Fit) (across, down axis) {
	fromW, fromH = turn.size(fromW, fromH)
	switch {
	case fit == Stretch:
		return newAxis(fromW, w, w), newAxis(fromH, h, h)
	case fromW*h >= fromH*w: // too wide: what is left and right is cut off
		return newAxis(fromW, h*fromW/fromH, w), newAxis(fromH, h, h)
	}
	return newAxis(fromW, w, w), newAxis(fromH, w*fromH/fromW, h)
}

// Extensions lists the endings of file names, in lower case with the dot, that Decode reads.
func Extensions() []string {
	var all []string
	for _, f := range formats {
		all = append(all, f.extensions...)
	}
	return all
}

// convert writes the pixels of what f.decode returned into dst, [3,h,w].
func (f *format) convert(dst []uint8, img image.Image, w, h int) {
	n := w * h
	toPlanes([3][]uint8{dst[:n], dst[n : 2*n], dst[2*n : 3*n]}, w, h, img, f.matrix)
}
