package wired

import "fmt"

// MaxPool adds max-pooling by 2×2 pixels at a stride of 2, with a ReLU behind it if relu is set. The sides must be
// even. As in PyTorch the gradient goes to the first of several largest pixels.
func (s *Section) MaxPool(in *Map, relu bool) *Map {
	if in.g.H%2 != 0 || in.g.W%2 != 0 || in.skip > 0 {
		panic(fmt.Sprintf("wired: MaxPool: a map of %d×%d pixels. Use even sides", in.g.H, in.g.W))
	}
	out := s.newMap(in.g.C, in.g.H/2, in.g.W/2)
	m := &maxPool{in: in, out: out, relu: relu}
	s.each(m.forward, m.backward, in)
	return out
}

type maxPool struct {
	in, out *Map
	relu    bool
}

// windows calls f with where each output pixel of an image lies, and the four inputs of its window.
func (m *maxPool) windows(img int, f func(to int, at [4]int)) {
	in, out := m.in.g, m.out.g
	for y := range out.H {
		for x := range out.W {
			var at [4]int
			for k := range at {
				at[k] = in.PixelAt(img, 2*y+k/2, 2*x+k%2)
			}
			f(out.PixelAt(img, y, x), at)
		}
	}
}

func (m *maxPool) forward(_, img int) {
	n := m.in.g.C
	m.windows(img, func(to int, at [4]int) {
		a, b, c, d := m.in.x[at[0]:][:n], m.in.x[at[1]:][:n], m.in.x[at[2]:][:n], m.in.x[at[3]:][:n]
		dst := m.out.x[to:][:n]
		for i := range dst {
			v := max(a[i], b[i], c[i], d[i])
			if m.relu {
				v = max(v, 0)
			}
			dst[i] = v
		}
	})
}

func (m *maxPool) backward(_, img int) {
	m.windows(img, func(to int, at [4]int) {
		for i, v := range m.out.x[to:][:m.in.g.C] {
			g := m.out.d[to+i]
			if m.relu && v <= 0 {
				g = 0
			}
			best := 0
			for k := 1; k < 4; k++ {
				if m.in.x[at[k]+i] > m.in.x[at[best]+i] {
					best = k
				}
			}
			for k := range at {
				m.in.d[at[k]+i] = 0
			}
			m.in.d[at[best]+i] = g
		}
	})
}

// MeanPool adds the mean of all pixels of a map, as one pixel.
func (s *Section) MeanPool(in *Map) *Map {
	if in.skip > 0 {
		panic("wired: MeanPool: a map of a trunk. Pool the map before it is joined")
	}
	out, g := s.newMap(in.g.C, 1, 1), in.g
	scale := 1 / float32(g.Pixels())
	s.each(func(_, img int) {
		sum := out.Row(img)
		clear(sum)
		for p := range g.Pixels() {
			for c, v := range in.x[in.at(img)+p*g.PixelStride:][:g.C] {
				sum[c] += v
			}
		}
		for c := range sum {
			sum[c] *= scale
		}
	}, func(_, img int) {
		from := out.Gradient(img)
		for p := range g.Pixels() {
			to := in.d[in.at(img)+p*g.PixelStride:][:g.C]
			for c, v := range from {
				to[c] = v * scale
			}
		}
	}, in)
	return out
}
