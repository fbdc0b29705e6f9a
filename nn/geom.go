package nn

// geom is the shape of an activation and its layout in memory (docs/engine.md).
//
// Planes: channel by channel, inside a channel image after image, each image a plane of (h+1)×(w+1) floats with one zero
// column and one zero row, and a lead of zeros before the first. Rows (channel-last): dense [n][y][x][c], the channels
// padded to a multiple of 16.
type geom struct {
	rows    bool
	c, h, w int
	n       int // images there is room for

	// planes: distances of rows, images and channels, and where a channel's first pixel lies
	row, plane, stride, lead int
	// rows: floats a position
	cs int
}

const (
	channelPad = 16 // rows: channels are padded to the widest vector
	tileSlack  = 32 // planes: a contiguous tile may overshoot by almost two vectors
	planesPad  = 10 // planes: the last block of outputs may reach this far beyond them
)

func roundUp(n, m int) int { return (n + m - 1) / m * m }

func planesGeom(c, h, w, n int) geom {
	g := geom{c: c, h: h, w: w, n: n, row: w + 1, plane: (h + 1) * (w + 1)}
	g.lead = roundUp(w+2, 16)
	g.stride = roundUp(g.lead+n*g.plane+w+2+tileSlack, 16)
	if g.stride%1024 == 0 {
		g.stride += 80 // channels 4 KB apart would share a cache set
	}
	return g
}

func rowsGeom(c, h, w, n int) geom {
	cs := roundUp(c, channelPad)
	if cs/channelPad%2 == 0 && h*w > 1 {
		cs += channelPad // an even number of cache lines apart, positions would reach only half of a cache's sets
	}
	return geom{rows: true, c: c, h: h, w: w, n: n, cs: cs}
}

// size is the number of floats of a buffer of this shape.
func (g geom) size() int {
	if g.rows {
		return g.zeros() + g.cs
	}
	return (g.c+planesPad)*g.stride + tileSlack
}

// zeros is, in the rows layout, the index of a pixel of zeros behind the map.
func (g geom) zeros() int { return g.n*g.h*g.w*g.cs + tileSlack }

// at is the index of pixel (y, 0) of an image's channel in the planes layout.
func (g geom) at(c, img, y int) int { return c*g.stride + g.lead + img*g.plane + y*g.row }

// pos is the index of channel 0 of a pixel in the rows layout.
func (g geom) pos(img, y, x int) int { return ((img*g.h+y)*g.w + x) * g.cs }

// pixels is the number of pixels of one image.
func (g geom) pixels() int { return g.h * g.w }
