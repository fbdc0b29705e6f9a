package picture

import "image"

// matrix says what the three numbers of a YCbCr pixel mean.
type matrix int

const (
	fullRange  matrix = iota // JPEG: each from 0 to 255
	videoRange               // WebP: Y from 16 to 235, Cb and Cr from 16 to 240
)

// rows are those of p, w wide and at the origin. Pixels that share a colour sample all take its value, as color.YCbCr
// does; libjpeg and libwebp interpolate between samples.
func (m matrix) rows(p *image.YCbCr, w int) rows {
	row := rowOfFullRange
	if m == videoRange {
		row = rowOfVideoRange
	}
	shift := sharedColumns(p.SubsampleRatio)
	return func(y int, r, g, b []uint8) {
		luma, chroma := y*p.YStride, p.COffset(0, y)
		row(r[:w], g[:w], b[:w], p.Y[luma:][:w], p.Cb[chroma:], p.Cr[chroma:], shift)
	}
}

// sharedColumns is the binary logarithm of how many columns share a colour sample.
func sharedColumns(r image.YCbCrSubsampleRatio) int {
	switch r {
	case image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420:
		return 1
	case image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410:
		return 2
	}
	return 0 // 4:4:4 and 4:4:0
}

// rowOfFullRange is color.YCbCrToRGB in a loop.
func rowOfFullRange(r, g, b, luma, cb, cr []uint8, shift int) {
	for x, v := range luma {
		yy := int32(v) * 0x10101
		cb, cr := int32(cb[x>>shift])-128, int32(cr[x>>shift])-128
		r[x] = clipped(yy+91881*cr, 16)
		g[x] = clipped(yy-22554*cb-46802*cr, 16)
		b[x] = clipped(yy+116130*cb, 16)
	}
}

// rowOfVideoRange is libwebp's formula (VP8YUVToR and its like), in units of 1/64. The types of package image know only
// the full range, which makes every WebP photograph paler than it is.
func rowOfVideoRange(r, g, b, luma, cb, cr []uint8, shift int) {
	for x, v := range luma {
		yy, cb, cr := int32(v)*19077>>8, int32(cb[x>>shift]), int32(cr[x>>shift])
		r[x] = clipped(yy+cr*26149>>8-14234, 6)
		g[x] = clipped(yy-cb*6419>>8-cr*13320>>8+8708, 6)
		b[x] = clipped(yy+cb*33050>>8-17685, 6)
	}
}

// clipped is v/2^bits, rounded down, within a byte.
func clipped(v int32, bits int) uint8 { return uint8(min(max(v>>bits, 0), 255)) }
