// Package picture decodes one image file into an image of a wanted size: uint8 planes, as the data sets of package data
// have them.
//
// Shapes and rounding follow Pillow and torchvision, so that numbers can be compared with those of PyTorch programs:
// the filter is Pillow's BILINEAR or BICUBIC, bit for bit, and alpha is dropped without blending, as convert("RGB")
// does. What differs: the orientation that EXIF asks for is applied; of 16-bit images the upper byte counts;
// transparent pixels of a GIF are black, as are those of its canvas that the first frame does not cover. JPEG and WebP
// leave rounding and the interpolation of colours to the decoder, so their pixels lie near those of Pillow.
//
// Start at [Decode].
package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"ocl/internal/limit"
)

// Fit says how an image of another size or form becomes one of the wanted size.
type Fit int

const (
	// Crop makes the image just large enough to cover the wanted size and cuts out the middle. For squares this is what
	// torchvision's Resize and CenterCrop do.
	Crop Fit = iota
	// Stretch makes both sides as long as wanted, whatever that does to the form.
	Stretch
	// Bicubic, added to either, filters by Pillow's BICUBIC in place of its BILINEAR.
	Bicubic
)

// known says whether f is one of the two, with or without Bicubic.
func (f Fit) known() bool { return f >= Crop && f <= Stretch|Bicubic }

// Version names decoder and filter. It is part of cache keys: raise it when a change gives other pixels.
const Version = "picture/1"

// Decode decodes file, the bytes of a JPEG, PNG, GIF, WebP, BMP or TIFF file, into dst, uint8 [3,h,w] in planes red,
// green, blue. The content decides on the format. An animation gives its first frame. The pixels of an image that has
// the wanted size are not changed.
//
// Images are refused, before memory is allocated for them, that have more than 100 megapixels or 65,535 pixels on a
// side, or many more pixels than so short a file can describe, or that take more than 1 GB to decode. All calls share
// one budget of memory: a call waits until there is enough of it. It ends early, with the error of ctx, when ctx does.
//
// An error does not name the file, which the caller knows. A fault of a decoder is an error too. A dst of another
// length than 3·h·w panics.
func Decode(ctx context.Context, file []byte, dst []uint8, w, h int, fit Fit) error {
	if w < 1 || h < 1 || len(dst) != 3*w*h || !fit.known() {
		panic(fmt.Sprintf("picture: dst has %d elements for %d×%d pixels and fit %d", len(dst), w, h, fit))
	}
	err := guarded(func() error { return memory().decode(ctx, file, dst, w, h, fit) })
	if ctx.Err() != nil {
		return ctx.Err() // what a decoder says then may be anything
	}
	return err
}

// Size is the width and the height of the image of a file as stored. It refuses what [Decode] refuses by the header
// alone.
func Size(file []byte) (w, h int, err error) {
	err = guarded(func() error {
		_, c, err := header(file)
		w, h = c.Width, c.Height
		return err
	})
	return w, h, err
}

// guarded turns a panic of a decoder into an error.
func guarded(decode func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the image made its decoder fail. Convert it to PNG, and report the fault with the file")
		}
	}()
	return decode()
}

func (r *room) decode(ctx context.Context, file []byte, dst []uint8, w, h int, fit Fit) error {
	f, c, err := header(file)
	if err != nil {
		return err
	}
	turn := orientation(f.exif(file))
	need := f.memoryOf(file, c, turn, w)
	if most := min(r.all, limit.PictureMemory); need > most {
		return f.tooLarge(file, c, need, most)
	}
	giveBack, err := r.take(ctx, need)
	if err != nil {
		return err
	}
	defer giveBack()
	img, err := f.decode(reader{ctx, bytes.NewReader(file)})
	if err != nil {
		return f.problem(file, err)
	}
	var image rows
	if f.name == "TIFF" { // its colours may be multiplied by their alpha, and its palette has 16 bits
		image = (&Canvas{img: img}).row
	} else {
		image = rowsOf(img, c.Width, c.Height, f.matrix)
	}
	if turn != upright {
		image = turn.flipped(image, c.Height)
	}
	if c.Width == w && c.Height == h && turn == upright {
		n := w * h
		for y := range h {
			image(y, dst[y*w:][:w], dst[n+y*w:][:w], dst[2*n+y*w:][:w])
		}
		return nil
	}
	across, down := axes(turn, c.Width, c.Height, w, h, 0, fit)
	if turn.aside() {
		new(resizer).resizeColumns(dst, image, across, down)
	} else {
		new(resizer).resize(dst, image, across, down)
	}
	return nil
}

// axes are the weights that make an image, fromW×fromH before turn, w×h pixels: for its columns and for its rows. With
// rim they are the middle of what is made, which has so many pixels more on each side.
func axes(turn turn, fromW, fromH, w, h, rim int, fit Fit) (across, down axis) {
	fromW, fromH = turn.size(fromW, fromH)
	outW, outH := w+2*rim, h+2*rim
	switch {
	case fit&Stretch != 0:
	case fromW*outH >= fromH*outW: // too wide: what is left and right is cut off
		outW = outH * fromW / fromH
	default:
		outH = outW * fromH / fromW
	}
	return newAxis(fromW, outW, w, fit), newAxis(fromH, outH, h, fit)
}

// Extensions lists the endings of file names, in lower case with the dot, that Decode reads.
func Extensions() []string {
	var all []string
	for _, f := range formats {
		all = append(all, f.extensions...)
	}
	return all
}
