package report

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

var (
	gridColor  = parseHex("#D9DDE2")
	mutedColor = parseHex("#57606A")
	inkColor   = parseHex("#1B1F24")
)

// sans is the font of figure files.
func sans(size float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: font.Length(size)}
}

// handler lays out text; plot's own default is the same.
var handler = text.Plain{Fonts: font.DefaultCache}

func label(size float64, c color.Color, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{Color: c, Font: sans(size), XAlign: x, YAlign: y, Handler: handler}
}

// svg draws the figure for figures/, in the light colours of the page.
func (f *figure) svg() ([]byte, error) {
	p, w, h := f.plot()
	canvas := vgsvg.New(w, h)
	p.Draw(margins(draw.New(canvas)))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("report: figure %s: %w", f.ID, err)
	}
	return describe(b.Bytes(), f), nil
}

// png is the same picture at 144 dots an inch.
func (f *figure) png() ([]byte, error) {
	p, w, h := f.plot()
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(144))}
	p.Draw(margins(draw.New(canvas)))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("report: figure %s: %w", f.ID, err)
	}
	return b.Bytes(), nil
}

// plot is the figure as gonum/plot draws it, and the picture's size.
func (f *figure) plot() (p *plot.Plot, w, h vg.Length) {
	p = plot.New()
	p.BackgroundColor = color.White
	p.Title.Text = strings.Join(wrap(f.Title, 64), "\n")
	p.Title.TextStyle = label(13, inkColor, draw.XCenter, draw.YTop)
	p.Title.Padding = 8
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle = label(10, mutedColor, draw.XCenter, a.Label.TextStyle.YAlign)
		a.Tick.Label.Font = sans(9)
		a.Tick.Label.Color = mutedColor
		a.Tick.Label.Handler = handler
		a.LineStyle.Width = 0
		a.Tick.LineStyle.Width = 0
		a.Tick.Length = 2
	}
	w, h = 7.0*vg.Inch, 4.2*vg.Inch
	switch {
	case f.Lines != nil:
		f.Lines.plot(p)
	case f.Heat != nil:
		w, h = f.Heat.plot(p)
	case f.Bars != nil:
		h = f.Bars.plot(p)
	}
	return p, w + 16, h + 16 + 14*vg.Length(strings.Count(p.Title.Text, "\n"))
}

// margins leaves white around a picture.
func margins(c draw.Canvas) draw.Canvas { return draw.Crop(c, 8, -8, 8, -8) }

// describe gives an SVG file its title and description, which vgsvg does not write.
func describe(svg []byte, f *figure) []byte {
	at := bytes.Index(svg, []byte("<svg"))
	if at < 0 {
		return svg
	}
	end := bytes.IndexByte(svg[at:], '>')
	if end < 0 {
		return svg
	}
	end += at + 1
	head := fmt.Sprintf("\n<title>%s</title>\n<desc>%s %s</desc>", html.EscapeString(f.Title), html.EscapeString(f.Alt), html.EscapeString(f.Caption))
	out := append([]byte{}, svg[:end]...)
	return append(append(out, head...), svg[end:]...)
}

// fixedTicks are ticks at given places.
type fixedTicks []plot.Tick

// Ticks implements plot.Ticker.
func (t fixedTicks) Ticks(_, _ float64) []plot.Tick { return t }

// plot adds the line chart to p.
func (l *lines) plot(p *plot.Plot) {
	p.X.Label.Text, p.Y.Label.Text = l.XLabel, l.YLabel
	var xt, yt fixedTicks
	for _, t := range l.xTicks(16) {
		xt = append(xt, plot.Tick{Value: float64(t), Label: fmt.Sprint(t + l.XOffset)})
	}
	for _, t := range l.yTicks() {
		yt = append(yt, plot.Tick{Value: t, Label: l.tickText(t)})
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = xt, yt
	p.X.Min, p.X.Max = 1, math.Max(float64(l.XMax), 1.0001)
	if l.XMax == 1 {
		p.X.Min, p.X.Max = 0.5, 1.5
	}
	p.Y.Min, p.Y.Max = l.YMin, l.YMax
	p.Add(linesPlotter{l})
	min0, max0, ymin, ymax := p.X.Min, p.X.Max, p.Y.Min, p.Y.Max
	longest := vg.Length(0)
	st := label(9, inkColor, draw.XLeft, draw.YCenter)
	for _, s := range l.Series {
		longest = max(longest, st.Width(s.Label))
	}
	// The room for the labels is part of the x axis, without grid or ticks.
	room := float64((longest + 24) / (6.2 * vg.Inch))
	room = math.Min(room, 0.5)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = min0, min0+(max0-min0)/(1-room), ymin, ymax
}

// linesPlotter draws the grid, the lines and their labels.
type linesPlotter struct{ l *lines }

// Plot implements plot.Plotter.
func (lp linesPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	l := lp.l
	tx, ty := p.Transforms(&c)
	right := tx(math.Max(float64(l.XMax), 1))
	for _, t := range l.yTicks() {
		col := color.Color(gridColor)
		if t == 0 {
			col = mutedColor
		}
		c.StrokeLine2(draw.LineStyle{Color: col, Width: 0.6}, c.Min.X, ty(t), right, ty(t))
	}
	clamp := func(v float64) vg.Length { return ty(math.Min(math.Max(v, l.YMin), l.YMax)) }
	var want []float64
	var which []int
	for i := range l.Series {
		s := &l.Series[i]
		col := parseHex(s.Style.light)
		soft := col
		soft.A = 46
		if l.crowded() {
			soft.A = 23
		}
		for _, part := range pieces(len(s.Y), func(i int) bool { return i < len(s.Half) && !math.IsNaN(s.Y[i]+s.Half[i]) }) {
			if len(part) < 2 {
				x, k := tx(float64(part[0]+1)), part[0]
				c.StrokeLine2(draw.LineStyle{Color: soft, Width: 4}, x, clamp(s.Y[k]-s.Half[k]), x, clamp(s.Y[k]+s.Half[k]))
				continue
			}
			var band []vg.Point
			for _, k := range part {
				band = append(band, vg.Point{X: tx(float64(k + 1)), Y: clamp(s.Y[k] + s.Half[k])})
			}
			for n := len(part) - 1; n >= 0; n-- {
				k := part[n]
				band = append(band, vg.Point{X: tx(float64(k + 1)), Y: clamp(s.Y[k] - s.Half[k])})
			}
			c.FillPolygon(soft, band)
		}
		stroke := func(ys []float64, st draw.LineStyle) {
			for _, part := range pieces(len(ys), func(i int) bool { return !math.IsNaN(ys[i]) }) {
				var pts []vg.Point
				for _, k := range part {
					pts = append(pts, vg.Point{X: tx(float64(k + 1)), Y: ty(ys[k])})
				}
				c.StrokeLines(st, pts)
			}
		}
		thin := col
		thin.A = 115
		for _, ys := range s.Single {
			if l.crowded() {
				break
			}
			stroke(ys, draw.LineStyle{Color: thin, Width: 0.5})
		}
		var dash []vg.Length
		for _, d := range s.Style.dash {
			dash = append(dash, vg.Length(d)*0.75)
		}
		stroke(s.Y, draw.LineStyle{Color: col, Width: vg.Length(s.ink()) * 0.8, Dashes: dash})
		for k, y := range s.Y {
			if !math.IsNaN(y) {
				s.glyph(&c, vg.Point{X: tx(float64(k + 1)), Y: ty(y)})
			}
		}
		if _, y, ok := s.endOf(); ok {
			want, which = append(want, -float64(ty(y))), append(which, i)
		}
	}
	// In a file there is no legend to fall back to, so labels are moved as far as they must.
	at, _ := spread(want, 10.5, -float64(c.Max.Y), -float64(c.Min.Y), math.Inf(1))
	for k, i := range which {
		s := &l.Series[i]
		x, y, _ := s.endOf()
		pos := vg.Point{X: right + 16, Y: vg.Length(-at[k])}
		c.StrokeLine2(draw.LineStyle{Color: gridColor, Width: 0.5}, tx(float64(x))+4, ty(y), pos.X-6, pos.Y)
		s.glyph(&c, vg.Point{X: pos.X - 3, Y: pos.Y})
		c.FillText(label(9, inkColor, draw.XLeft, draw.YCenter), vg.Point{X: pos.X + 3, Y: pos.Y}, s.Label)
	}
}

// glyph draws the series' mark.
func (s *series) glyph(c *draw.Canvas, at vg.Point) {
	shape := s.Style.marker.glyph()
	c.DrawGlyph(draw.GlyphStyle{Color: parseHex(s.Style.light), Radius: 2.4, Shape: shape}, at)
	if s.Hollow {
		c.DrawGlyph(draw.GlyphStyle{Color: color.White, Radius: 1.5, Shape: shape}, at)
	}
}

// DataRange keeps the axes as set.
func (lp linesPlotter) DataRange() (xmin, xmax, ymin, ymax float64) {
	return 1, math.Max(float64(lp.l.XMax), 1), lp.l.YMin, lp.l.YMax
}

// glyph is the marker as gonum/plot draws it.
func (m marker) glyph() draw.GlyphDrawer {
	switch m {
	case square:
		return draw.BoxGlyph{}
	case triangle:
		return draw.PyramidGlyph{}
	case downTriangle, diamond:
		return polygonGlyph(m)
	case cross:
		return draw.CrossGlyph{}
	case plus:
		return draw.PlusGlyph{}
	}
	return draw.CircleGlyph{}
}

// polygonGlyph draws the markers that gonum/plot lacks.
type polygonGlyph marker

// DrawGlyph implements draw.GlyphDrawer.
func (g polygonGlyph) DrawGlyph(c *draw.Canvas, st draw.GlyphStyle, at vg.Point) {
	r := st.Radius * 1.25
	pts := []vg.Point{{X: at.X, Y: at.Y + r}, {X: at.X + r, Y: at.Y}, {X: at.X, Y: at.Y - r}, {X: at.X - r, Y: at.Y}}
	if marker(g) == downTriangle {
		pts = []vg.Point{{X: at.X - r, Y: at.Y + r*0.7}, {X: at.X + r, Y: at.Y + r*0.7}, {X: at.X, Y: at.Y - r}}
	}
	c.FillPolygon(st.Color, pts)
}

// plot adds the heat map to p and returns the picture's size.
func (h *heat) plot(p *plot.Plot) (width, height vg.Length) {
	p.X.Label.Text, p.Y.Label.Text = h.ColLabel, h.RowLabel
	side := 0.3 * vg.Inch
	if n := len(h.Cols); n > 20 {
		side = 6 * vg.Inch / vg.Length(n)
	}
	var xt, yt fixedTicks
	every := max(1, int(math.Ceil(float64(10/side))))
	for j, name := range h.Cols {
		if j%every == 0 {
			xt = append(xt, plot.Tick{Value: float64(j), Label: name})
		}
	}
	for i, name := range h.Rows {
		if i%every == 0 {
			yt = append(yt, plot.Tick{Value: -float64(i), Label: name})
		}
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = xt, yt
	p.Add(heatPlotter{h, side})
	p.X.Padding, p.Y.Padding = 2, 2
	return max(side*vg.Length(len(h.Cols))+0.9*vg.Inch, 5.6*vg.Inch), side*vg.Length(len(h.Rows)) + 1.1*vg.Inch
}

// heatPlotter draws the cells and the numbers in them.
type heatPlotter struct {
	h    *heat
	side vg.Length
}

// Plot implements plot.Plotter.
func (hp heatPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	if hp.h.Image {
		x0, x1 := tx(-0.5), tx(float64(len(hp.h.Cols))-0.5)
		y0, y1 := ty(0.5-float64(len(hp.h.Rows))), ty(0.5)
		c.FillPolygon(heatColor(0, false), []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
	}
	for i, row := range hp.h.V {
		for j, v := range row {
			x0, x1 := tx(float64(j)-0.48), tx(float64(j)+0.48)
			y0, y1 := ty(-float64(i)-0.48), ty(-float64(i)+0.48)
			mid := vg.Point{X: (x0 + x1) / 2, Y: (y0 + y1) / 2}
			if math.IsNaN(v) {
				c.FillText(label(8, mutedColor, draw.XCenter, draw.YCenter), mid, "·")
				continue
			}
			if hp.h.Image && heatStep(v) == 0 {
				continue // the ground has its colour
			}
			col := heatColor(heatStep(v), false)
			c.FillPolygon(col, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
			if x1-x0 > 14 && y1-y0 > 9 {
				c.FillText(label(8, inkOn(col), draw.XCenter, draw.YCenter), mid, fmt.Sprintf("%.0f", 100*v))
			}
		}
	}
}

// DataRange implements plot.DataRanger.
func (hp heatPlotter) DataRange() (xmin, xmax, ymin, ymax float64) {
	return -0.5, float64(len(hp.h.Cols)) - 0.5, 0.5 - float64(len(hp.h.Rows)), 0.5
}

// plot adds the bars to p and returns the picture's height.
func (l *bars) plot(p *plot.Plot) vg.Length {
	p.X.Label.Text = l.XLabel
	longest := 0.0
	for _, b := range l.Bars {
		longest = math.Max(longest, total(b.Parts))
	}
	if longest == 0 {
		longest = 1
	}
	step := tickStep(longest, 6)
	var xt fixedTicks
	for i := 0.0; i*step <= longest*1.0001; i++ {
		xt = append(xt, plot.Tick{Value: i * step, Label: num(i * step)})
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = xt, fixedTicks{}
	p.Add(barsPlotter{l, longest})
	p.X.Min = 0
	return vg.Length(len(l.Bars))*0.5*vg.Inch + 1.2*vg.Inch
}

// barsPlotter draws stacked bars with their words above them.
type barsPlotter struct {
	l       *bars
	longest float64
}

// Plot implements plot.Plotter.
func (bp barsPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	for i, b := range bp.l.Bars {
		at := -float64(i)
		c.FillText(label(9, inkColor, draw.XLeft, draw.YBottom), vg.Point{X: tx(0), Y: ty(at+0.02) + 2}, b.Label+": "+b.Text)
		x := 0.0
		for k, v := range b.Parts {
			if !(v > 0) {
				continue
			}
			col := parseHex(b.Style.light)
			col.A = uint8(255 * partOpacity[k%len(partOpacity)])
			y0, y1 := ty(at-0.38), ty(at)
			c.FillPolygon(col, []vg.Point{{X: tx(x), Y: y0}, {X: tx(x + v), Y: y0}, {X: tx(x + v), Y: y1}, {X: tx(x), Y: y1}})
			x += v
		}
	}
}

// DataRange implements plot.DataRanger.
func (bp barsPlotter) DataRange() (xmin, xmax, ymin, ymax float64) {
	return 0, bp.longest, -float64(len(bp.l.Bars)) + 0.5, 0.5
}

var (
	_ plot.DataRanger  = linesPlotter{}
	_ plot.DataRanger  = heatPlotter{}
	_ plot.DataRanger  = barsPlotter{}
	_ draw.GlyphDrawer = polygonGlyph(0)
)
