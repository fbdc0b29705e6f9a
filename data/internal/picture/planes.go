package picture

import (
	"fmt"
	"image"
	"image/color"
)

// rows writes row y of an image into red, green and blue, which are as long as the row.
type rows func(y int, r, g, b []uint8)

// rowsOf gives the rows of img, w×h. Alpha is dropped. It knows the types that the decoders in formats return; another
// one panics.
func rowsOf(img image.Image, w, h int, m matrix) rows {
	switch p := img.(type) {
	case *image.YCbCr:
		return m.rows(p, w)
	case *image.NYCbCrA:
		return m.rows(&p.YCbCr, w)
	case *image.Gray:
		return interleaved(p.Pix, p.Stride, 1, 0)
	case *image.Gray16: // big-endian, so the upper byte is the first
		return interleaved(p.Pix, p.Stride, 2, 0)
	case *image.RGBA: // only of decoders whose images have no alpha
		return interleaved(p.Pix, p.Stride, 4, 1)
	case *image.NRGBA:
		return interleaved(p.Pix, p.Stride, 4, 1)
	case *image.RGBA64:
		return interleaved(p.Pix, p.Stride, 8, 2)
	case *image.NRGBA64:
		return interleaved(p.Pix, p.Stride, 8, 2)
	case *image.CMYK:
		return fromCMYK(p)
	case *image.Paletted:
		return fromPalette(p, image.Rect(0, 0, w, h))
	}
	panic(fmt.Sprintf("picture: no decoder returns a %T", img))
}

// interleaved takes pixels of step bytes apart; the channels lie apart bytes from each other, 0 for grey.
func interleaved(pix []uint8, stride, step, apart int) rows {
	return func(y int, r, g, b []uint8) { rowOf(pix[y*stride:], step, apart, r, g, b) }
}

// rowOf is a row of [interleaved] that begins with pix.
func rowOf(pix []uint8, step, apart int, r, g, b []uint8) {
	row := pix[:len(r)*step]
	g, b = g[:len(r)], b[:len(r)]
	for x := range r {
		p := row[x*step:]
		r[x], g[x], b[x] = p[0], p[apart], p[2*apart]
	}
}

// fromCMYK uses Pillow's formula: the light that black lets through, less what the ink takes of it.
func fromCMYK(p *image.CMYK) rows {
	return func(y int, r, g, b []uint8) { rowOfCMYK(p.Pix[y*p.Stride:], r, g, b) }
}

// rowOfCMYK is a row of [fromCMYK] that begins with pix.
func rowOfCMYK(pix, r, g, b []uint8) {
	for x := range r {
		ink := pix[4*x:][:4]
		light := 255 - int(ink[3])
		shade := func(ink uint8) uint8 {
			t := int(ink)*light + 128
			return uint8(light - (t+t>>8)>>8) // t/255, rounded
		}
		r[x], g[x], b[x] = shade(ink[0]), shade(ink[1]), shade(ink[2])
	}
}

// fromPalette puts the first frame of a GIF, which may be smaller than the image, where it belongs on black. Paletted
// images of other formats cover the image.
func fromPalette(p *image.Paletted, whole image.Rectangle) rows {
	var colours [256][3]uint8
	for i, c := range p.Palette {
		switch c := c.(type) {
		case color.RGBA:
			colours[i] = [3]uint8{c.R, c.G, c.B}
		case color.NRGBA:
			colours[i] = [3]uint8{c.R, c.G, c.B}
		default:
			panic(fmt.Sprintf("picture: no decoder returns a palette of %T", c))
		}
	}
	return func(y int, r, g, b []uint8) {
		if p.Rect != whole {
			clear(r)
			clear(g)
			clear(b)
		}
		if y < p.Rect.Min.Y || y >= p.Rect.Max.Y {
			return
		}
		for x := p.Rect.Min.X; x < p.Rect.Max.X; x++ {
			rgb := &colours[p.Pix[p.PixOffset(x, y)]]
			r[x], g[x], b[x] = rgb[0], rgb[1], rgb[2]
		}
	}
}
