package chart

import (
	"bytes"
	"cmp"
	"image/color"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"codeberg.org/go-pdf/fpdf"
	"git.sr.ht/~sbinet/gg"
	"golang.org/x/image/font/opentype"
)

// pen is what PNG and PDF have in common: a path is made, then filled or stroked and forgotten.
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
	at, r := m.Points[0], m.Size
	lines, closed := m.Look.Marker.strokes()
	if lines == nil {
		circle(p, at, r)
	}
	for _, line := range lines {
		points := make([]Point, len(line))
		for i, q := range line {
			points[i] = Point{at.X + r*q.X, at.Y + r*q.Y}
		}
		polyline(p, points, closed)
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
	p := pngPen{gg.NewContext(int(math.Ceil(pngScale*d.Width)), int(math.Ceil(pngScale*d.Height)))}
	p.SetColor(color.White)
	p.Clear()
	p.Scale(pngScale, pngScale)
	d.draw(p)
	var b bytes.Buffer
	if err := p.EncodePNG(&b); err != nil {
		panic("chart: an image in memory cannot be written: " + err.Error())
	}
	return b.Bytes()
}

// pngPen draws pixels. The context scales paths, but not the widths of lines and the lengths of dashes.
type pngPen struct{ *gg.Context }

func (p pngPen) fill(c color.NRGBA) {
	p.SetColor(c)
	p.Fill()
}

func (p pngPen) stroke(c color.NRGBA, width float64, dash []float64) {
	p.SetColor(c)
	p.SetLineWidth(pngScale * width)
	p.SetLineCapButt()
	p.SetDash(scaled(dash, pngScale)...)
	p.Stroke()
}

func (p pngPen) text(x, y, size float64, c color.NRGBA, s string) {
	face, err := opentype.NewFace(sans(), &opentype.FaceOptions{Size: pngScale * size, DPI: 72})
	if err != nil {
		panic("chart: the font that the program carries cannot be used: " + err.Error())
	}
	p.Push()
	p.Identity() // it would scale the pixels of letters
	p.SetFontFace(face)
	p.SetColor(c)
	p.DrawString(s, pngScale*x, pngScale*y)
	p.Pop()
}

// scaled are the lengths of dashes, so many times as long.
func scaled(dash []float64, by float64) []float64 {
	long := make([]float64, len(dash))
	for i, v := range dash {
		long[i] = by * v
	}
	return long
}

// points is the number of points (1/72 inch) for a pixel (1/96 inch).
const points = 0.75

// PDF is the drawing as one page, with text as text, in the colours of a light page. The same drawing gives the same
// bytes.
func (d *Drawing) PDF(title, description string) []byte {
	p := pdfPen{fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: points * d.Width, Ht: points * d.Height}})}
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
	p.SetDashPattern(scaled(dash, points), 0)
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
