package conv

import (
	"fmt"
	"math"
	"sort"
)

// Layout is the shape of an activation and how it lies in memory (docs/engine.md), as [PlanesLayout] or
// [ChannelLastLayout].
type Layout struct {
	ChannelLast bool
	C, H, W     int
	N           int // images there is room for

	// planes: floats from a row to the next, from an image, from a channel, where a channel's first pixel lies, and the
	// channels that there is room for beyond C
	RowStride                int
	plane, stride, lead, pad int
	PixelStride              int // channel-last: floats from a pixel to the next
	Border                   int // channel-last: pixels of zeros on each side of a map
}

const (
	// ChannelPad is the multiple that channels are padded to in the channel-last layout: the widest vector.
	ChannelPad = 16
	// PlanesWidth is the narrowest map kept in planes: a vector's overshoot must end in the zero row.
	PlanesWidth = 14

	tileSlack = 32 // planes: a contiguous tile may overshoot by almost two vectors
	planesPad = 10 // the last block of outputs may reach this far beyond them
)

// planesBlocks are the numbers of outputs that kernels of planes take at once, for outputs and for gradients of
// weights. Sizes are for all kernel sets, so that a layout does not depend on them; a test compares.
var planesBlocks = [...]int{10, 5, 4}

// overshoot is how far the last block of so many channels may reach beyond them, in planes.
func overshoot(channels int) int {
	most := channels
	for _, n := range planesBlocks {
		most = max(most, roundUp(channels, n))
	}
	return most - channels
}

func roundUp(n, m int) int { return (n + m - 1) / m * m }

// Reach is the number of values, one a channel, that blocks of so many outputs may read or write.
func Reach(outputs int) int { return roundUp(outputs+planesPad, ChannelPad) }

// PlanesLayout lies channel by channel, inside a channel image after image, each image a plane of (h+1)×(w+1) floats
// with one zero column and one zero row, and a lead of zeros before the first. It panics where offsets of 32 bits do
// not reach all of it.
func PlanesLayout(c, h, w, n int) Layout { return reached(planesLayout, c, h, w, n) }

// Sketch is a layout of a size that nothing may be able to hold: for counting alone. [Layout.Check] says whether it can
// be used.
func Sketch(channelLast bool, c, h, w, n int) Layout {
	if channelLast {
		return channelLastLayout(c, h, w, n)
	}
	return planesLayout(c, h, w, n)
}

// Check says why a layout cannot be used: offsets of 32 bits must reach all of it.
func (g Layout) Check() error {
	if g.Size() <= math.MaxInt32 {
		return nil
	}
	remedy := "Use smaller images"
	if most := sort.Search(g.N, func(m int) bool {
		return Sketch(g.ChannelLast, g.C, g.H, g.W,
			m+1).Size() > math.MaxInt32
	}); most > 0 {
		remedy = fmt.Sprintf("Use at most %d images at a time", most)
	}
	return fmt.Errorf("%d images with %d channels of %d×%d pixels take %d floats, and offsets reach %d. %s",
		g.N, g.C, g.H, g.W, g.Size(), math.MaxInt32, remedy)
}

func planesLayout(c, h, w, n int) Layout {
	g := Layout{C: c, H: h, W: w, N: n, RowStride: w + 1, plane: (h + 1) * (w + 1), pad: overshoot(c)}
	g.lead = roundUp(w+2, 16)
	g.stride = roundUp(g.lead+n*g.plane+w+2+tileSlack, 16)
	if g.stride%1024 == 0 {
		g.stride += 80 // channels 4 KB apart would share a cache set
	}
	return g
}

// ChannelLastLayout lies pixel by pixel, dense [n][y][x][c], the channels padded to a multiple of ChannelPad. It panics
// where offsets of 32 bits do not reach all of it.
func ChannelLastLayout(c, h, w, n int) Layout { return reached(channelLastLayout, c, h, w, n) }

func channelLastLayout(c, h, w, n int) Layout {
	stride := roundUp(c, ChannelPad)
	if stride/ChannelPad%2 == 0 && h*w > 1 {
		stride += ChannelPad // an even number of cache lines apart, pixels would reach only half of a cache's sets
	}
	return Layout{ChannelLast: true, C: c, H: h, W: w, N: n, PixelStride: stride}
}

// Bordered is a channel-last layout with so many pixels on each side of every map, which must be zero.
func (g Layout) Bordered(pixels int) Layout {
	g.Border = pixels
	return g.checked()
}

// DenseLayout is channel-last with nothing between pixels and so many pixels of zeros on each side: for the pictures
// that a [Stem] reads. It panics as ChannelLastLayout does.
func DenseLayout(c, h, w, n, border int) Layout {
	return Layout{ChannelLast: true, C: c, H: h, W: w, N: n, PixelStride: c, Border: border}.checked()
}

// reached makes a layout. It panics where the tables of convolutions, whose offsets are of 32 bits, do not reach all of
// it.
func reached(layout func(c, h, w, n int) Layout, c, h, w, n int) Layout {
	return layout(c, h, w, n).checked()
}

func (g Layout) checked() Layout {
	if err := g.Check(); err != nil {
		panic("conv: " + err.Error())
	}
	return g
}

// offset is v as an entry of a table. It is checked here, once; loops that use the table check nothing.
func offset(table string, v int) int32 {
	if int(int32(v)) != v {
		beyond(table, v)
	}
	return int32(v)
}

func beyond(table string, v int) {
	panic(fmt.Sprintf("conv: table of %s: %d does not fit 32 bits. Use a smaller batch, smaller images or fewer channels",
		table, v))
}

// holds panics unless a buffer is as long as tables of so many images reach.
func (g Layout) holds(what string, buf []float32, images int) {
	if images < 1 || images > g.N {
		panic(fmt.Sprintf("conv: %s: %d images, but the convolution was made for 1 to %d", what, images, g.N))
	}
	need := g.Size()
	if !g.ChannelLast {
		need -= g.ImageAt(g.N - images) // it may begin at the first of some images, see ImageAt
	}
	if len(buf) < need {
		panic(fmt.Sprintf("conv: %s: a buffer of %d floats instead of %d for %d of %d images with %d channels of %d×%d pixels",
			what, len(buf), need, images, g.N, g.C, g.H, g.W))
	}
}

// Size is the number of floats of a buffer of this layout.
func (g Layout) Size() int {
	if g.ChannelLast {
		return g.zeros() + g.PixelStride
	}
	return (g.C+g.pad)*g.stride + tileSlack
}

// zeros is, in the channel-last layout, the index of a pixel of zeros behind the map.
func (g Layout) zeros() int { return g.Behind() + tileSlack }

// Behind is, in the channel-last layout, the index behind the last pixel. What is there must be zero.
func (g Layout) Behind() int { return g.From(g.N) }

// From is, in the channel-last layout, where an image begins, with its border. A buffer from there on has the same
// layout, without the images before.
func (g Layout) From(img int) int {
	return img * (g.H + 2*g.Border) * (g.W + 2*g.Border) * g.PixelStride
}

// RowAt is the index of pixel (y, 0) of an image's channel in the planes layout.
func (g Layout) RowAt(c, img, y int) int { return c*g.stride + g.lead + img*g.plane + y*g.RowStride }

// ClearBorder sets the column behind an image's channel and the row below it to zero, in planes.
func (g Layout) ClearBorder(v []float32, c, img int) {
	at := g.RowAt(c, img, 0)
	for y := range g.H {
		v[at+y*g.RowStride+g.W] = 0
	}
	clear(v[at+g.H*g.RowStride:][:g.RowStride])
}

// PixelAt is the index of channel 0 of a pixel in the channel-last layout.
func (g Layout) PixelAt(img, y, x int) int {
	b := g.Border
	return ((img*(g.H+2*b)+y+b)*(g.W+2*b) + x + b) * g.PixelStride
}

// Pixels is the number of pixels of one image.
func (g Layout) Pixels() int { return g.H * g.W }

// ImageAt is the distance of an image from the first one in planes, the same in every channel. A buffer from there on
// has the same layout, without the images before.
func (g Layout) ImageAt(img int) int { return img * g.plane }

// ImageFloats is the number of floats of one image in planes, borders included.
func (g Layout) ImageFloats() int { return g.C * g.plane }
