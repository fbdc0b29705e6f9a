package picture

import (
	"errors"
	"fmt"
	"image"
	"image/color"

	"ocl/internal/count"
	"ocl/internal/limit"
)

// Canvas makes what [Decode] makes of a file of images that are in memory already. It keeps its buffers, so that
// further images of the same size and of a type of package image allocate nothing. The zero value is ready, and one
// goroutine uses it at a time.
type Canvas struct {
	from, wanted image.Point // the last sizes, which the axes belong to
	rim          int
	fit          Fit
	across, down axis
	resizer

	img  image.Image
	rows rows // of img, as a value that is made once
}

// Draw draws img into dst, uint8 [3,h,w] in planes red, green, blue, by the rules of [Decode]: alpha is dropped without
// blending, and of 16 bits the upper byte counts. img may have any bounds and be of any type; what its file says of its
// orientation is lost. It is an error if img is nil, has no pixels, or more of them than Decode reads, and if one of
// its own methods panics. dst has then any content. A dst of another length than 3·h·w panics.
func (c *Canvas) Draw(dst []uint8, img image.Image, w, h int, fit Fit) error {
	return c.Middle(dst, img, w, h, 0, fit)
}

// Middle is what [Canvas.Draw] makes of w+2·rim×h+2·rim pixels, without the rim, which is at least 0.
func (c *Canvas) Middle(dst []uint8, img image.Image, w, h, rim int, fit Fit) error {
	if w < 1 || h < 1 || rim < 0 || len(dst) != 3*w*h || !fit.known() {
		panic(fmt.Sprintf("picture: dst has %d elements for %d×%d pixels, rim %d and fit %d", len(dst), w, h, rim, fit))
	}
	if img == nil {
		return errors.New("there is no image (nil). Give one")
	}
	return c.draw(dst, img, w, h, rim, fit)
}

func (c *Canvas) draw(dst []uint8, img image.Image, w, h, rim int, fit Fit) (err error) {
	defer func() {
		c.img = nil
		if recover() != nil {
			err = fmt.Errorf("an image of type %T made its own methods panic, so it is not what its bounds say. Give a whole image",
				img)
		}
	}()
	b := img.Bounds()
	from := image.Pt(b.Dx(), b.Dy())
	switch {
	case from.X < 1 || from.Y < 1:
		return fmt.Errorf("the image has no pixels (%d×%d). Give an image with pixels", from.X, from.Y)
	case from.X > limit.PictureSide || from.Y > limit.PictureSide || from.X*from.Y > limit.PicturePixels:
		return fmt.Errorf("the image is %s×%s pixels; at most %d megapixels, and %d on a side, are read. Make it smaller",
			count.Number(from.X), count.Number(from.Y), limit.PicturePixels/1_000_000, limit.PictureSide)
	}
	if c.rows == nil {
		c.rows = c.row
	}
	c.img = img
	if from == image.Pt(w, h) && rim == 0 {
		n := w * h
		for y := range h {
			c.row(y, dst[y*w:][:w], dst[n+y*w:][:w], dst[2*n+y*w:][:w])
		}
		return nil
	}
	if wanted := image.Pt(w, h); from != c.from || wanted != c.wanted || rim != c.rim || fit != c.fit {
		c.across, c.down = axes(upright, from.X, from.Y, w, h, rim, fit)
		c.from, c.wanted, c.rim, c.fit = from, wanted, rim, fit
	}
	c.resize(dst, c.rows, c.across, c.down)
	return nil
}

// row writes row y of the image, from the top, into r, g and b.
func (c *Canvas) row(y int, r, g, b []uint8) {
	bounds := c.img.Bounds()
	x, y := bounds.Min.X, bounds.Min.Y+y
	switch p := c.img.(type) {
	case *image.YCbCr:
		rowOfYCbCr(p, x, y, r, g, b)
	case *image.NYCbCrA:
		rowOfYCbCr(&p.YCbCr, x, y, r, g, b)
	case *image.Gray:
		rowOf(p.Pix[p.PixOffset(x, y):], 1, 0, r, g, b)
	case *image.Gray16: // big-endian, so the upper byte is the first
		rowOf(p.Pix[p.PixOffset(x, y):], 2, 0, r, g, b)
	case *image.NRGBA:
		rowOf(p.Pix[p.PixOffset(x, y):], 4, 1, r, g, b)
	case *image.NRGBA64:
		rowOf(p.Pix[p.PixOffset(x, y):], 8, 2, r, g, b)
	case *image.RGBA:
		for i := range r {
			v := p.RGBAAt(x+i, y)
			r[i], g[i], b[i] = v.R, v.G, v.B
			if v.A != 255 {
				r[i], g[i], b[i] = shown(v.RGBA())
			}
		}
	case *image.RGBA64:
		for i := range r {
			v := p.RGBA64At(x+i, y)
			r[i], g[i], b[i] = shown(v.RGBA())
		}
	case *image.CMYK:
		rowOfCMYK(p.Pix[p.PixOffset(x, y):], r, g, b)
	case *image.Paletted:
		for i := range r {
			r[i], g[i], b[i] = withoutAlpha(p.Palette[p.ColorIndexAt(x+i, y)])
		}
	default:
		for i := range r {
			r[i], g[i], b[i] = withoutAlpha(p.At(x+i, y))
		}
	}
}

// rowOfYCbCr are the pixels from (x, y) on. Where the first of them does not begin a colour sample of several columns,
// they are taken one by one.
func rowOfYCbCr(p *image.YCbCr, x, y int, r, g, b []uint8) {
	if shift := sharedColumns(p.SubsampleRatio); x&(1<<shift-1) == 0 {
		chroma := p.COffset(x, y)
		rowOfFullRange(r, g, b, p.Y[p.YOffset(x, y):][:len(r)], p.Cb[chroma:], p.Cr[chroma:], shift)
		return
	}
	for i := range r {
		v := p.YCbCrAt(x+i, y)
		r[i], g[i], b[i] = color.YCbCrToRGB(v.Y, v.Cb, v.Cr)
	}
}

// withoutAlpha is a colour whose alpha is dropped.
func withoutAlpha(c color.Color) (r, g, b uint8) {
	switch c := c.(type) {
	case color.NRGBA:
		return c.R, c.G, c.B
	case color.NRGBA64:
		return uint8(c.R >> 8), uint8(c.G >> 8), uint8(c.B >> 8)
	}
	return shown(c.RGBA())
}

// shown are the upper bytes of a colour of 16 bits whose alpha is divided out, as [color.NRGBAModel] does. What is
// transparent is black.
func shown(r, g, b, a uint32) (uint8, uint8, uint8) {
	switch a {
	case 0:
		return 0, 0, 0
	case 0xffff:
		return uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)
	}
	return uint8(r * 0xffff / a >> 8), uint8(g * 0xffff / a >> 8), uint8(b * 0xffff / a >> 8)
}
