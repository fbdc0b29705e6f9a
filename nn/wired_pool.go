package nn

import "fmt"

// MaxPool adds max-pooling by 2×2 pixels at a stride of 2, with a ReLU behind it if relu is set. The sides must be even. As
// in PyTorch the gradient goes to the first of several largest pixels.
func (s *Section) MaxPool(in *Map, relu bool) *Map {
	if in.g.H%2 != 0 || in.g.W%2 != 0 || in.skip > 0 {
		panic(fmt.Sprintf("nn: MaxPool: a map of %d×%d pixels. Use even sides", in.g.H, in.g.W))
	}
	out := s.newMap(in.g.C, in.g.H/2, in.g.W/2)
	s.layer(&maxPool{in: in, out: out, relu: relu}, in)
	return out
}

type maxPool struct {
	in, out *Map
	relu    bool
	back    bool
}

func (m *maxPool) forward(s *Section, images int) {
	m.back = false
	s.w.ws.team.Run(m, images)
}

func (m *maxPool) backward(s *Section, images int) {
	if !m.in.learns {
		return
	}
	if m.in.written {
		panic("nn: MaxPool: another layer reads the map too")
	}
	m.back = true
	s.w.ws.team.Run(m, images)
	m.in.written = true
}

// DoChunk implements [workers.Task].
func (m *maxPool) DoChunk(_, img int) {
	in, out := m.in.g, m.out.g
	for y := range out.H {
		for x := range out.W {
			var at [4]int
			for k := range at {
				at[k] = in.PixelAt(img, 2*y+k/2, 2*x+k%2)
			}
			to := out.PixelAt(img, y, x)
			a, b, c, d := m.in.x[at[0]:][:in.C], m.in.x[at[1]:][:in.C], m.in.x[at[2]:][:in.C], m.in.x[at[3]:][:in.C]
			dst := m.out.x[to:][:in.C]
			if !m.back {
				for i := range dst {
					v := max(a[i], b[i], c[i], d[i])
					if m.relu {
						v = max(v, 0)
					}
					dst[i] = v
				}
				continue
			}
			for i, v := range dst {
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
		}
	}
}

// MeanPool adds the mean of all pixels of a map, as one pixel.
func (s *Section) MeanPool(in *Map) *Map {
	if in.skip > 0 {
		panic("nn: MeanPool: a map of a trunk. Pool the map before it is joined")
	}
	out := s.newMap(in.g.C, 1, 1)
	s.layer(&meanPool{in: in, out: out}, in)
	return out
}

type meanPool struct {
	in, out *Map
	back    bool
}

func (m *meanPool) forward(s *Section, images int) {
	m.back = false
	s.w.ws.team.Run(m, images)
}

func (m *meanPool) backward(s *Section, images int) {
	if m.in.written {
		panic("nn: MeanPool: another layer reads the map too")
	}
	m.back = true
	s.w.ws.team.Run(m, images)
	m.in.written = true
}

// DoChunk implements [workers.Task].
func (m *meanPool) DoChunk(_, img int) {
	g := m.in.g
	scale := 1 / float32(g.Pixels())
	if m.back {
		from := m.out.Gradient(img)
		for p := range g.Pixels() {
			to := m.in.d[m.at(img, p):][:g.C]
			for c, v := range from {
				to[c] = v * scale
			}
		}
		return
	}
	sum := m.out.Row(img)
	clear(sum)
	for p := range g.Pixels() {
		for c, v := range m.in.x[m.at(img, p):][:g.C] {
			sum[c] += v
		}
	}
	for c := range sum {
		sum[c] *= scale
	}
}

func (m *meanPool) at(img, p int) int { return (img*m.in.g.Pixels() + p) * m.in.g.PixelStride }
