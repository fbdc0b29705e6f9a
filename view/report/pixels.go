package report

import (
	"bytes"
	"encoding/base64"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"math"

	"ocl/view/chart"
)

// Pixels is a heat map of many cells as a PNG inside the page, a pixel a cell: a table would be larger than all the
// rest. Cells without a value are clear.
func (h *heat) Pixels(dark bool) template.URL {
	palette := color.Palette{color.Transparent}
	for step := range chart.HeatSteps {
		palette = append(palette, chart.HeatColor(step, dark))
	}
	img := image.NewPaletted(image.Rect(0, 0, len(h.Cols), len(h.Rows)), palette)
	for i, row := range h.V {
		for j, v := range row {
			if !math.IsNaN(v) {
				img.SetColorIndex(j, i, uint8(chart.HeatStep(v)+1))
			}
		}
	}
	return embedded(img)
}

// embedded is an image as a PNG inside the page.
func embedded(img image.Image) template.URL {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic("report: an image in memory cannot be written: " + err.Error())
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()))
}
