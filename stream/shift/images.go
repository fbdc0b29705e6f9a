package shift

// Images are N images of shape [C,H,W] after Apply, as bytes or, with Options.Float, as float32.
type Images struct {
	Shape [3]int
	N     int
	bytes []uint8
	float []float32
}

func newImages(t Task, float bool) *Images {
	m := &Images{Shape: t.Shape, N: t.N}
	if float {
		m.float = make([]float32, t.N*t.size())
	} else {
		m.bytes = make([]uint8, t.N*t.size())
	}
	return m
}

func (m *Images) size() int { return m.Shape[0] * m.Shape[1] * m.Shape[2] }

// Bytes returns the C·H·W bytes of image i, 0 to N-1. They belong to m. Bytes panics if m has float32 values.
func (m *Images) Bytes(i int) []uint8 {
	n := m.size()
	return m.bytes[i*n : (i+1)*n : (i+1)*n]
}

// Floats returns the C·H·W values of image i, 0 to N-1, each in [0,1]. They belong to m. Floats panics if m has bytes.
func (m *Images) Floats(i int) []float32 {
	n := m.size()
	return m.float[i*n : (i+1)*n : (i+1)*n]
}

// put stores image i. A value is rounded to the nearest byte, halves up, so the error is at most 1/510. Values are limited to
// 1, because rounding in a blur can make them slightly larger.
func (m *Images) put(i int, x []float32) {
	if m.float != nil {
		for p, v := range x {
			x[p] = min(v, 1)
		}
		copy(m.Floats(i), x)
		return
	}
	dst := m.Bytes(i)[:len(x)]
	for p, v := range x {
		dst[p] = uint8(float32(v*255) + 0.5)
	}
}
