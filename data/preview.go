package data

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// PreviewOptions say what a contact sheet shows; the zero value is a good sheet.
type PreviewOptions struct {
	Samples int  // images per class; default 8, fewer where the set has fewer
	Classes int  // classes from the first on; default all, at most 200
	Columns int  // blocks of classes side by side; default so that the sheet is about square
	Cell    int  // smallest side of an image on the sheet, in pixels; default 40
	Test    bool // images of the test half
}

// Preview draws a contact sheet: a row of images for each class with its name before it. The images are the first of
// their class, enlarged by whole factors without smoothing, so that every pixel can be seen.
func Preview(set *Set, opts PreviewOptions) (image.Image, error) {
	split := set.Train
	if opts.Test {
		split = set.Test
	}
	classes := min(orValue(opts.Classes, min(set.Classes, 200)), set.Classes)
	samples := orValue(opts.Samples, 8)
	rows, most := firstOfClass(split, classes, samples)
	samples = min(samples, most)
	scale := max(1, (orValue(opts.Cell, 40)+max(set.H, set.W)-1)/max(set.H, set.W))
	w, h := set.W*scale, set.H*scale
	face, err := labelFace()
	if err != nil {
		return nil, fmt.Errorf("data: preview: %w", err)
	}
	label := 0
	for k := range classes {
		label = max(label, font.MeasureString(face, set.ClassName(k)).Ceil())
	}
	const gap, margin = 4, 16
	label += 2 * gap
	block := label + samples*(w+gap) + 2*margin
	columns := opts.Columns
	if columns <= 0 {
		for columns = 1; columns*columns*block < classes*(h+gap) && columns < classes; columns++ {
		}
	}
	perColumn := (classes + columns - 1) / columns
	sheet := image.NewRGBA(image.Rect(0, 0, columns*block, 2*margin+perColumn*(h+gap)))
	draw.Draw(sheet, sheet.Bounds(), image.NewUniform(color.Gray{250}), image.Point{}, draw.Src)
	text := font.Drawer{Dst: sheet, Src: image.NewUniform(color.Gray{30}), Face: face}
	buf := make([]uint8, set.ImageLen())
	ascent := face.Metrics().CapHeight.Ceil()
	for k, row := range rows {
		x, y := k/perColumn*block+margin, margin+k%perColumn*(h+gap)
		name := set.ClassName(k)
		text.Dot = fixed.P(x+label-2*gap-font.MeasureString(face, name).Ceil(), y+(h+ascent)/2)
		text.DrawString(name)
		for s, i := range row {
			pixels, err := split.Images.Image(i, buf)
			if err != nil {
				return nil, err
			}
			set.paste(sheet, image.Pt(x+label+s*(w+gap), y), pixels, scale)
		}
	}
	return sheet, nil
}

func orValue(v, def int) int {
	if v <= 0 {
		return def
	}
	return v
}

// firstOfClass returns the indices of the first images of each class, and the length of the longest row.
func firstOfClass(split Split, classes, samples int) (rows [][]int, most int) {
	rows = make([][]int, classes)
	for i, y := range split.Y {
		if int(y) < classes && len(rows[y]) < samples {
			rows[y] = append(rows[y], i)
			most = max(most, len(rows[y]))
		}
	}
	return rows, most
}

// labelFace is large enough to be read beside an image and holds Latin, Greek and Cyrillic.
func labelFace() (font.Face, error) {
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, err
	}
	return opentype.NewFace(parsed, &opentype.FaceOptions{Size: 15, DPI: 72, Hinting: font.HintingFull})
}

// paste draws an image [C,H,W] with its corner at p, every pixel scale×scale large.
func (s *Set) paste(dst *image.RGBA, p image.Point, pixels []uint8, scale int) {
	plane := s.H * s.W
	for y := range s.H * scale {
		for x := range s.W * scale {
			i := y/scale*s.W + x/scale
			c := color.RGBA{pixels[i], pixels[i], pixels[i], 255}
			if s.C == 3 {
				c.G, c.B = pixels[plane+i], pixels[2*plane+i]
			}
			dst.SetRGBA(p.X+x, p.Y+y, c)
		}
	}
}
