package nn

import (
	"cmp"
	"testing"
)

// Use makes the fields of e that are not empty those of the engine that nobody chose, for the rest of a test.
func Use(t *testing.T, e Engine) {
	t.Helper()
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	before := standard
	t.Cleanup(func() { standard = before })
	standard = Engine{cmp.Or(e.Kernel, before.Kernel), cmp.Or(e.Convolution, before.Convolution)}
}

// ReadGradient copies the gradient for an image to dst [C,H,W].
func (m *Map) ReadGradient(dst []float32, img int) { read(dst, m.d, m.dg, img) }

// WriteGradient sets the gradient for an image, where a backward pass begins, from src [C,H,W]. No backward pass of
// another section may come between.
func (m *Map) WriteGradient(src []float32, img int) { write(m.d, src, m.dg, img) }
