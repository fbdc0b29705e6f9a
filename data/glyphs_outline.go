package data

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"

	"ocl/data/internal/typeface"
)

// The glyphs are drawn in integers only. Floating point would be the same on every machine only as long as no product
// is fused with a sum, and golang.org/x/image/vector promises neither that nor its own stability.

// point is a place in font units times 16, or in pixels times 256; y grows downwards.
type point struct{ x, y int }

// outline is a character as closed polygons around the origin; extent is its larger side.
type outline struct {
	contours [][]point
	extent   int
}

// glyphOutlines returns the outlines [font][class], made at the first call.
var glyphOutlines = sync.OnceValues(func() ([][]outline, error) {
	if len(typeface.All) == 0 {
		return nil, errors.New(`this program has no typefaces to draw with. Import _ "ocl/data/gofonts" in its code`)
	}
	all := make([][]outline, len(typeface.All))
	for i, f := range typeface.All {
		parsed, err := sfnt.Parse(f.TTF)
		if err != nil {
			return nil, fmt.Errorf("font %s: %w", f.Name, err)
		}
		for _, r := range glyphClasses {
			o, err := loadOutline(parsed, r)
			if err != nil {
				return nil, fmt.Errorf("font %s: character %c: %w", f.Name, r, err)
			}
			all[i] = append(all[i], o)
		}
	}
	return all, nil
})

// loadOutline flattens the curves of a character and moves the centre of its bounding box to the origin.
func loadOutline(f *sfnt.Font, r rune) (outline, error) {
	var buf sfnt.Buffer
	index, err := f.GlyphIndex(&buf, r)
	if err != nil {
		return outline{}, err
	}
	if index == 0 {
		return outline{}, errors.New("the font does not have it. Choose another character")
	}
	// At as many 1/64 pixels an em as the em has units, the coordinates are font units.
	segments, err := f.LoadGlyph(&buf, index, fixed.Int26_6(f.UnitsPerEm()), &sfnt.LoadGlyphOptions{})
	if err != nil {
		return outline{}, err
	}
	var o outline
	at := func(p fixed.Point26_6) point { return point{int(p.X) * 16, int(p.Y) * 16} }
	for _, s := range segments {
		last := len(o.contours) - 1
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			o.contours = append(o.contours, []point{at(s.Args[0])})
		case sfnt.SegmentOpLineTo:
			o.contours[last] = append(o.contours[last], at(s.Args[0]))
		case sfnt.SegmentOpQuadTo:
			c := o.contours[last]
			o.contours[last] = flatten(c, c[len(c)-1], at(s.Args[0]), at(s.Args[1]))
		default:
			return outline{}, errors.New("its outline has cubic curves. Use a TrueType font")
		}
	}
	lo, hi := o.contours[0][0], o.contours[0][0]
	for _, c := range o.contours {
		for _, p := range c {
			lo = point{min(lo.x, p.x), min(lo.y, p.y)}
			hi = point{max(hi.x, p.x), max(hi.y, p.y)}
		}
	}
	for _, c := range o.contours {
		for i := range c {
			c[i].x -= (lo.x + hi.x) / 2
			c[i].y -= (lo.y + hi.y) / 2
		}
	}
	o.extent = max(hi.x-lo.x, hi.y-lo.y)
	return o, nil
}

// flatten appends a quadratic Bézier curve from a over b to c as six lines; the Go fonts bend little between two
// points.
func flatten(dst []point, a, b, c point) []point {
	const n = 6
	for i := 1; i <= n; i++ {
		p, q, r := (n-i)*(n-i), 2*i*(n-i), i*i
		dst = append(dst, point{(p*a.x + q*b.x + r*c.x) / (n * n), (p*a.y + q*b.y + r*c.y) / (n * n)})
	}
	return dst
}

// affine is a map in fixed point: matrix in 1/65536, shift in 1/256 pixel.
type affine struct{ xx, xy, yx, yy, dx, dy int }

// scaled returns the map with its matrix times num/den.
func (m affine) scaled(num, den int) affine {
	m.xx, m.xy, m.yx, m.yy = m.xx*num/den, m.xy*num/den, m.yx*num/den, m.yy*num/den
	return m
}

// rotation turns by 2·atan(t/65536): sine and cosine are rational in the tangent of the half angle.
func rotation(t int) (cos, sin int) {
	tt := t * t >> 16
	return (1<<16 - tt) << 16 / (1<<16 + tt), 2 * t << 16 / (1<<16 + tt)
}

const subLines = 8 // lines of the raster within a pixel

// raster fills polygons: on subLines lines a pixel, horizontally exact to 1/256 pixel.
type raster struct {
	size  int
	lines [][]crossing
	cover []int // [size·size], 0 to full
}

type crossing struct{ x, dir int }

const fullCover = 256 * subLines

func newRaster(size int) *raster {
	return &raster{size: size, lines: make([][]crossing, size*subLines), cover: make([]int, size*size)}
}

// draw sets the cover to that of closed polygons, mapped by m.
func (r *raster) draw(contours [][]point, m affine) {
	clear(r.cover)
	for _, c := range contours {
		r.add(c, m)
	}
	r.fill()
}

// add takes a closed polygon, mapped by m; nothing is filled before fill.
func (r *raster) add(contour []point, m affine) {
	const step = 256 / subLines
	prev := m.apply(contour[len(contour)-1])
	for _, c := range contour {
		p := m.apply(c)
		a, b, dir := prev, p, 1
		prev = p
		if a.y > b.y {
			a, b, dir = b, a, -1
		}
		// Line j lies at y = j·step + step/2; it is crossed when a.y <= y < b.y. A shift by 5 divides by step and rounds
		// down.
		first := max(0, (a.y+step/2-1)>>5)
		last := min(len(r.lines), (b.y+step/2-1)>>5)
		for j := first; j < last; j++ {
			x := a.x + (b.x-a.x)*(j*step+step/2-a.y)/(b.y-a.y)
			r.lines[j] = append(r.lines[j], crossing{x, dir})
		}
	}
}

// fill adds the cover of the polygons added since the last fill, by the non-zero winding rule.
func (r *raster) fill() {
	for j, line := range r.lines {
		if len(line) == 0 {
			continue
		}
		slices.SortStableFunc(line, func(a, b crossing) int { return a.x - b.x })
		row := r.cover[j/subLines*r.size:][:r.size]
		winding, from := 0, 0
		for _, c := range line {
			if winding == 0 {
				from = c.x
			}
			if winding += c.dir; winding == 0 {
				r.span(row, from, c.x)
			}
		}
		r.lines[j] = line[:0]
	}
}

// span covers [a, b) of a row, in 1/256 pixel.
func (r *raster) span(row []int, a, b int) {
	b = min(b, r.size*256)
	for a = max(a, 0); a < b; {
		end := min(a|255+1, b)
		row[a>>8] += end - a
		a = end
	}
}

func (m affine) apply(p point) point {
	return point{(p.x*m.xx+p.y*m.xy)>>16 + m.dx, (p.x*m.yx+p.y*m.yy)>>16 + m.dy}
}
