package chart

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// pen has the operations that PNG and PDF share: to make a path, and then to fill or stroke it, which drops it.
type pen interface {
	MoveTo(x, y float64)
	LineTo(x, y float64)
	CubicTo(x1, y1, x2, y2, x, y float64)
	ClosePath()
	fill(c color.NRGBA)
	stroke(c color.NRGBA, width float64, dash []float64)
	text(x, y, size float64, c color.NRGBA, s string)
}

// draw draws all marks in the colours of a light page.
func (d *Drawing) draw(p pen) {
	for i := range d.Marks {
		m := &d.Marks[i]
		ink := m.paint()
		if m.Text != "" {
			at, size := m.Points[0], cmp.Or(m.Size, d.Font)
			p.text(at.X-width(m.Text, size)*m.Anchor.share(), at.Y, size, ParseHex(ink.fill), m.Text)
			continue
		}
		if ink.fill != "" {
			m.trace(p)
			p.fill(faded(ink.fill, ink.fillOpacity))
		}
		if ink.stroke != "" {
			m.trace(p)
			p.stroke(faded(ink.stroke, ink.strokeOpacity), ink.width, m.Dash)
		}
	}
}

// faded is a colour with an opacity in [0,1].
func faded(hex string, opacity float64) color.NRGBA {
	c := ParseHex(hex)
	c.A = uint8(math.Round(255 * opacity))
	return c
}

// trace makes the path of a line, polygon or marker.
func (m *Mark) trace(p pen) {
	if !m.marker() {
		polyline(p, m.Points, m.closed())
		return
	}
	lines, closed := m.Look.Marker.strokes()
	for _, at := range m.Points {
		if lines == nil {
			circle(p, at, m.Size)
		}
		for _, line := range lines {
			points := make([]Point, len(line))
			for i, q := range line {
				points[i] = Point{at.X + m.Size*q.X, at.Y + m.Size*q.Y}
			}
			polyline(p, points, closed)
		}
	}
}

func polyline(p pen, points []Point, closed bool) {
	for i, q := range points {
		if i == 0 {
			p.MoveTo(q.X, q.Y)
		} else {
			p.LineTo(q.X, q.Y)
		}
	}
	if closed {
		p.ClosePath()
	}
}

// circle is four cubic curves, which leave the circle by less than 0.03 % of r.
func circle(p pen, at Point, r float64) {
	const k = 0.5522847498
	p.MoveTo(at.X+r, at.Y)
	p.CubicTo(at.X+r, at.Y+k*r, at.X+k*r, at.Y+r, at.X, at.Y+r)
	p.CubicTo(at.X-k*r, at.Y+r, at.X-r, at.Y+k*r, at.X-r, at.Y)
	p.CubicTo(at.X-r, at.Y-k*r, at.X-k*r, at.Y-r, at.X, at.Y-r)
	p.CubicTo(at.X+k*r, at.Y-r, at.X+r, at.Y-k*r, at.X+r, at.Y)
	p.ClosePath()
}

// pngScale is the number of pixels of a PNG for one of the drawing.
const pngScale = 2

// PNG is the drawing as an image with two pixels for each of its own, in the colours of a light page.
func (d *Drawing) PNG() []byte {
	p := &pngPen{image: image.NewRGBA(image.Rect(0, 0, int(math.Ceil(pngScale*d.Width)),
		int(math.Ceil(pngScale*d.Height)))), faces: map[float64]font.Face{}}
	draw.Draw(p.image, p.image.Bounds(), image.White, image.Point{}, draw.Src)
	d.draw(p)
	var b bytes.Buffer
	if err := png.Encode(&b, p.image); err != nil {
		panic("chart: an image in memory cannot be written: " + err.Error())
	}
	return b.Bytes()
}

// pngPen draws pixels: its path is in pixels of the image, curves as lines.
type pngPen struct {
	image *image.RGBA
	lines [][]Point
	faces map[float64]font.Face
}

func (p *pngPen) MoveTo(x, y float64) {
	p.lines = append(p.lines, []Point{{pngScale * x, pngScale * y}})
}

func (p *pngPen) LineTo(x, y float64) {
	last := &p.lines[len(p.lines)-1]
	*last = append(*last, Point{pngScale * x, pngScale * y})
}

func (p *pngPen) CubicTo(x1, y1, x2, y2, x, y float64) {
	line := p.lines[len(p.lines)-1]
	from := line[len(line)-1]
	const parts = 8
	for i := 1; i <= parts; i++ {
		t := float64(i) / parts
		u := 1 - t
		a, b, c, d := u*u*u, 3*u*u*t, 3*u*t*t, t*t*t
		p.LineTo(a*from.X/pngScale+b*x1+c*x2+d*x, a*from.Y/pngScale+b*y1+c*y2+d*y)
	}
}

func (p *pngPen) ClosePath() {
	last := &p.lines[len(p.lines)-1]
	*last = append(*last, (*last)[0])
}

func (p *pngPen) fill(c color.NRGBA) { p.paint(c, p.lines) }

// stroke paints a rectangle along each part of the path, and a disc around each corner. What is painted twice is
// painted once.
func (p *pngPen) stroke(c color.NRGBA, width float64, dash []float64) {
	r := pngScale * width / 2
	var shapes [][]Point
	for _, line := range p.lines {
		for _, piece := range dashed(line, dash) {
			for i := 1; i < len(piece); i++ {
				a, b := piece[i-1], piece[i]
				length := math.Hypot(b.X-a.X, b.Y-a.Y)
				if length == 0 {
					continue
				}
				x, y := r*(b.Y-a.Y)/length, r*(a.X-b.X)/length
				shapes = append(shapes, []Point{{a.X + x, a.Y + y}, {b.X + x, b.Y + y}, {b.X - x, b.Y - y}, {a.X - x, a.Y - y}})
				if i+1 < len(piece) || piece[0] == b {
					var disc []Point
					for k := range 16 {
						sin, cos := math.Sincos(float64(k) * math.Pi / 8)
						disc = append(disc, Point{b.X + r*cos, b.Y + r*sin})
					}
					shapes = append(shapes, disc)
				}
			}
		}
	}
	p.paint(c, shapes)
}

// dashed cuts a line of a path into its dashes, whose lengths are in pixels of the drawing.
func dashed(line []Point, dash []float64) (pieces [][]Point) {
	if len(dash) == 0 {
		return [][]Point{line}
	}
	k, left := 0, pngScale*dash[0]
	piece := []Point{line[0]}
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		for length := math.Hypot(b.X-a.X, b.Y-a.Y); length > left; length = math.Hypot(b.X-a.X, b.Y-a.Y) {
			a = Point{a.X + (b.X-a.X)*left/length, a.Y + (b.Y-a.Y)*left/length}
			if k%2 == 0 {
				pieces = append(pieces, append(piece, a))
			}
			k, piece = k+1, []Point{a}
			left = pngScale * dash[k%len(dash)]
		}
		left -= math.Hypot(b.X-a.X, b.Y-a.Y)
		piece = append(piece, b)
	}
	if k%2 == 0 {
		pieces = append(pieces, piece)
	}
	return pieces
}

// paint paints polygons that all turn the same way, and forgets the path.
func (p *pngPen) paint(c color.NRGBA, polygons [][]Point) {
	low, high := Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	for _, q := range slices.Concat(polygons...) {
		low, high = Point{min(low.X, q.X), min(low.Y, q.Y)}, Point{max(high.X, q.X), max(high.Y, q.Y)}
	}
	if low.X > high.X {
		return
	}
	area := image.Rect(int(math.Floor(low.X)), int(math.Floor(low.Y)), int(math.Ceil(high.X)), int(math.Ceil(high.Y)))
	z := vector.NewRasterizer(area.Dx(), area.Dy())
	for _, polygon := range polygons {
		for i, q := range polygon {
			x, y := float32(q.X-float64(area.Min.X)), float32(q.Y-float64(area.Min.Y))
			if i == 0 {
				z.MoveTo(x, y)
			} else {
				z.LineTo(x, y)
			}
		}
		z.ClosePath()
	}
	z.Draw(p.image, area, image.NewUniform(c), image.Point{})
	p.lines = nil
}

func (p *pngPen) text(x, y, size float64, c color.NRGBA, s string) {
	if p.faces[size] == nil {
		f, err := opentype.NewFace(sans(), &opentype.FaceOptions{Size: pngScale * size, DPI: 72})
		if err != nil {
			panic("chart: the font that the program carries cannot be used: " + err.Error())
		}
		p.faces[size] = f
	}
	d := font.Drawer{Dst: p.image, Src: image.NewUniform(c), Face: p.faces[size],
		Dot: fixed.Point26_6{X: fixed.Int26_6(64 * pngScale * x), Y: fixed.Int26_6(64 * pngScale * y)}}
	d.DrawString(s)
}

// points is the number of points (1/72 inch) for a pixel (1/96 inch).
const points = 0.75

// PDF is the drawing as one page, with text as text, in the colours of a light page. The same drawing gives the same
// bytes.
func (d *Drawing) PDF(title, description string) []byte {
	p := pdfPen{fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt",
		Size: fpdf.SizeType{Wd: points * d.Width, Ht: points * d.Height}})}
	// A fixed date, since fpdf would take the present one.
	p.SetCreationDate(time.Unix(0, 0).UTC())
	p.SetModificationDate(time.Unix(0, 0).UTC())
	p.SetCatalogSort(true)
	p.SetProducer("ocl", false)
	p.SetTitle(plain(title), true)
	p.SetSubject(plain(description), true)
	p.SetMargins(0, 0, 0)
	p.SetAutoPageBreak(false, 0)
	p.AddUTF8FontFromBytes("sans", "", liberationsansregular.TTF)
	p.AddPage()
	p.SetLineCapStyle("butt")
	p.SetLineJoinStyle("round")
	d.draw(p)
	var b bytes.Buffer
	if err := p.Output(&b); err != nil {
		panic("chart: a page in memory cannot be written: " + err.Error())
	}
	return b.Bytes()
}

// pdfPen writes the operators of a PDF page.
type pdfPen struct{ *fpdf.Fpdf }

func (p pdfPen) MoveTo(x, y float64) { p.Fpdf.MoveTo(points*x, points*y) }
func (p pdfPen) LineTo(x, y float64) { p.Fpdf.LineTo(points*x, points*y) }
func (p pdfPen) CubicTo(x1, y1, x2, y2, x, y float64) {
	p.CurveBezierCubicTo(points*x1, points*y1, points*x2, points*y2, points*x, points*y)
}

func (p pdfPen) fill(c color.NRGBA) {
	p.SetAlpha(float64(c.A)/255, "Normal")
	p.SetFillColor(int(c.R), int(c.G), int(c.B))
	p.DrawPath("F")
}

func (p pdfPen) stroke(c color.NRGBA, width float64, dash []float64) {
	p.SetAlpha(float64(c.A)/255, "Normal")
	p.SetDrawColor(int(c.R), int(c.G), int(c.B))
	p.SetLineWidth(points * width)
	scaled := make([]float64, len(dash))
	for i, v := range dash {
		scaled[i] = points * v
	}
	p.SetDashPattern(scaled, 0)
	p.DrawPath("D")
}

func (p pdfPen) text(x, y, size float64, c color.NRGBA, s string) {
	p.SetAlpha(1, "Normal")
	p.SetTextColor(int(c.R), int(c.G), int(c.B))
	p.SetFont("sans", "", points*size)
	p.Text(points*x, points*y, plain(s))
}

// plain replaces what fpdf cannot write: characters beyond the first 65,536, which the font lacks anyhow, and broken
// ones.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r > 0xFFFF {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}
