// Package sheet draws contact sheets: rows of images of a data set with a label before each. Start at [Classes].
package sheet

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	"ocl/data"
)

// Options say what a contact sheet of classes shows; the zero value is a good sheet.
type Options struct {
	Samples int  // images per class; default 8, fewer where the set has fewer
	Classes int  // classes from the first on; default all, at most 200
	Test    bool // images of the test half
}

// Classes draws a contact sheet of a data set: a row of images for each class with its name before it. The images are
// the first of their class.
func Classes(set *data.Set, opts Options) (image.Image, error) {
	split := set.Train
	if opts.Test {
		split = set.Test
	}
	classes := min(cmp.Or(opts.Classes, min(set.Classes, 200)), set.Classes)
	samples := cmp.Or(opts.Samples, 8)
	places := make([][]int32, classes)
	for i, y := range split.Y {
		if int(y) < classes && len(places[y]) < samples {
			places[y] = append(places[y], int32(i))
		}
	}
	rows := make([]data.Row, classes)
	for k, at := range places {
		images, err := set.Take(split, at)
		if err != nil {
			return nil, err
		}
		rows[k] = data.Row{Label: set.ClassName(k), Images: images}
	}
	return Draw(set, rows, 0)
}

// cell is the smallest side of an image on a sheet, in pixels.
const cell = 40

// Draw draws rows of images of the set, in columns side by side; 0 columns make the sheet about square. Images are
// enlarged by whole factors without smoothing, so that every pixel can be seen.
func Draw(s *data.Set, rows []data.Row, columns int) (image.Image, error) {
	if s.Embeddings {
		return nil, errors.New("sheet: the data are embeddings, of which there is nothing to see. Preview the images of which they were made")
	}
	scale := max(1, (cell+max(s.H, s.W)-1)/max(s.H, s.W))
	w, h := s.W*scale, s.H*scale
	face, err := labelFace()
	if err != nil {
		return nil, fmt.Errorf("sheet: %w", err)
	}
	label, samples := 0, 0
	for _, row := range rows {
		label = max(label, font.MeasureString(face, row.Label).Ceil())
		samples = max(samples, len(row.Images))
	}
	const gap, margin = 4, 16
	label += 2 * gap
	block := label + samples*(w+gap) + 2*margin
	if columns <= 0 {
		for columns = 1; columns*columns*block < len(rows)*(h+gap) && columns < len(rows); columns++ {
		}
	}
	perColumn := (len(rows) + columns - 1) / columns
	sheet := image.NewRGBA(image.Rect(0, 0, columns*block, 2*margin+perColumn*(h+gap)))
	draw.Draw(sheet, sheet.Bounds(), image.NewUniform(color.Gray{250}), image.Point{}, draw.Src)
	text := font.Drawer{Dst: sheet, Src: image.NewUniform(color.Gray{30}), Face: face}
	ascent := face.Metrics().CapHeight.Ceil()
	for k, row := range rows {
		x, y := k/perColumn*block+margin, margin+k%perColumn*(h+gap)
		text.Dot = fixed.P(x+label-2*gap-font.MeasureString(face, row.Label).Ceil(), y+(h+ascent)/2)
		text.DrawString(row.Label)
		for i, pixels := range row.Images {
			paste(s, sheet, image.Pt(x+label+i*(w+gap), y), pixels, scale)
		}
	}
	return sheet, nil
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
func paste(s *data.Set, dst *image.RGBA, p image.Point, pixels []uint8, scale int) {
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
