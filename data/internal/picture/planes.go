package picture

import (
	"fmt"
	"image"
	"image/color"
)

// toPlanes writes the pixels of img, w×h, into the planes red, green and blue, [h,w] each. Alpha is dropped. It knows the
// types that the decoders in formats return; another one panics.
func toPlanes(dst [3][]uint8, w, h int, img image.Image, m matrix) {
	switch p := img.(type) {
	case *image.YCbCr:
		m.convert(dst, w, h, p)
	case *image.NYCbCrA:
		m.convert(dst, w, h, &p.YCbCr)
	case *image.Gray:
		interleaved(dst, w, h, p.Pix, p.Stride, 1, 0)
	case *image.Gray16: // big-endian, so the upper byte is the first
		interleaved(dst, w, h, p.Pix, p.Stride, 2, 0)
	case *image.RGBA: // only of decoders whose images have no alpha
		interleaved(dst, w, h, p.Pix, p.Stride, 4, 1)
	case *image.NRGBA:
		interleaved(dst, w, h, p.Pix, p.Stride, 4, 1)
	case *image.RGBA64:
		interleaved(dst, w, h, p.Pix, p.Stride, 8, 2)
	case *image.NRGBA64:
		interleaved(dst, w, h, p.Pix, p.Stride, 8, 2)
	case *image.CMYK:
		fromCMYK(dst, w, h, p)
	case *image.Paletted:
		fromPalette(dst, w, h, p)
	default:
		panic(fmt.Sprintf("picture: no decoder returns a %T", img))
	}
}

// interleaved takes pixels of step bytes apart; the channels lie apart bytes from each other, 0 for grey.
func interleaved(dst [3][]uint8, w, h int, pix []uint8, stride, step, apart int) {
	for y := range h {
		row := pix[y*stride:][:w*step]
		r, g, b := dst[0][y*w:][:w], dst[1][y*w:][:w], dst[2][y*w:][:w]
		for x := range w {
			p := row[x*step:]
			r[x], g[x], b[x] = p[0], p[apart], p[2*apart]
		}
	}
}

// fromCMYK uses Pillow's formula: the light that black lets through, less what the ink takes of it.
func fromCMYK(dst [3][]uint8, w, h int, p *image.CMYK) {
	for y := range h {
		for x := range w {
			ink := p.Pix[y*p.Stride+4*x:][:4]
			light := 255 - int(ink[3])
			for c := range dst {
				t := int(ink[c])*light + 128
				dst[c][y*w+x] = uint8(light - (t+t>>8)>>8) // t/255, rounded
			}
		}
	}
}

// fromPalette puts the first frame of a GIF, which may be smaller than the image, where it belongs on black. Paletted images
// of other formats cover the image.
func fromPalette(dst [3][]uint8, w, h int, p *image.Paletted) {
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
	if p.Rect != image.Rect(0, 0, w, h) {
		for c := range dst {
			clear(dst[c])
		}
	}
	for y := p.Rect.Min.Y; y < p.Rect.Max.Y; y++ {
		for x := p.Rect.Min.X; x < p.Rect.Max.X; x++ {
			rgb := &colours[p.Pix[p.PixOffset(x, y)]]
			dst[0][y*w+x], dst[1][y*w+x], dst[2][y*w+x] = rgb[0], rgb[1], rgb[2]
		}
	}
}
