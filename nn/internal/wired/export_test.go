package wired

import "ocl/nn/internal/conv"

// ReadGradient copies the gradient for an image to dst [C,H,W].
func (m *Map) ReadGradient(dst []float32, img int) { read(dst, m.d, m.dg, img) }

// WriteGradient sets the gradient for an image, where a backward pass begins, from src [C,H,W]. No backward pass of
// another section may come between.
func (m *Map) WriteGradient(src []float32, img int) { write(m.d, src, m.dg, img) }

// Shape is the channels, height and width of a map.
func (m *Map) Shape() (c, h, w int) { return m.g.C, m.g.H, m.g.W }

// Read copies the values for an image to dst [C,H,W].
func (m *Map) Read(dst []float32, img int) { read(dst, m.x, m.g, img) }

func read(dst, src []float32, g conv.Layout, img int) {
	for p := range g.Pixels() {
		for c, v := range src[g.PixelAt(img, p/g.W, p%g.W):][:g.C] {
			dst[c*g.Pixels()+p] = v
		}
	}
}
