package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"math"

	"ocl/report/chart"
)

// heatImage draws a heat map of many cells as an image inside the page, a pixel a cell, in light and in dark colours: a
// table would be larger than all the rest.
func (f *figure) heatImage() string {
	h := f.Heat
	return fmt.Sprintf(`<p class="note">%s ↓, %s →</p><picture><source media="(prefers-color-scheme:dark)" srcset="%s"/><img class="pixels" src="%s" alt="%s"/></picture>`,
		template.HTMLEscapeString(h.RowLabel), template.HTMLEscapeString(h.ColLabel), h.dataURI(true), h.dataURI(false), template.HTMLEscapeString(f.Alt))
}

// dataURI is the PNG of the cells; those without a value are clear.
func (h *heat) dataURI(dark bool) string {
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
	return string(embedded(img))
}

// embedded is an image as a PNG inside the page.
func embedded(img image.Image) template.URL {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic("report: an image in memory cannot be written: " + err.Error())
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()))
}
