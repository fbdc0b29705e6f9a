package wired

// ReadGradient copies the gradient for an image to dst [C,H,W].
func (m *Map) ReadGradient(dst []float32, img int) { read(dst, m.d, m.dg, img) }

// WriteGradient sets the gradient for an image, where a backward pass begins, from src [C,H,W]. No backward pass of
// another section may come between.
func (m *Map) WriteGradient(src []float32, img int) { write(m.d, src, m.dg, img) }
