package wired

import "ocl/nn/internal/conv"

// The maps of all sections lie in one array of values and one of gradients, as long as the largest section needs them,
// because sections run one after the other and read only trunks of those before. So the memory of a wiring hardly grows
// with the number of its sections. A section that learns has its values until its backward pass, and computes them
// again if another one has run since. Maps that no layer of their section reads, such as logits, have values of their
// own.

// place says where a map of a section has its memory.
type place struct {
	of      *Map // whose memory it shows; nil is its own
	trunk   bool // of values it shows those of a trunk
	read    bool // by a layer of its section
	at, dat int  // in the arrays of values and of gradients
}

// newMap is a map that the next layer of the section writes.
func (s *Section) newMap(c, h, w int) *Map {
	g := conv.ChannelLastLayout(c, h, w, s.w.n)
	m := &Map{g: g, dg: g, learns: s.learns}
	s.maps = append(s.maps, m)
	return m
}

// show adds a map that shows the gradient of another one and its values, or those of a trunk, which are in m.x.
func (s *Section) show(m, of *Map) *Map {
	m.place = place{of: of, trunk: m.x != nil}
	s.maps = append(s.maps, m)
	return m
}

// markRead notes that a layer reads a map.
func (m *Map) markRead() {
	for ; m != nil; m = m.place.of {
		m.place.read = true
	}
}

// placeMaps gives memory to the maps of all sections.
func (w *Wiring) placeMaps() {
	if w.placed {
		return
	}
	values, gradients := 0, 0
	for _, s := range w.sections {
		v, d := 0, 0
		for _, m := range s.maps {
			if m.place.of == nil {
				m.place.at, m.place.dat = v, d
				v, d = v+spaced(m.g.Size()), d+spaced(m.dg.Size())
			}
		}
		values = max(values, v)
		if s.learns {
			gradients = max(gradients, d)
		}
	}
	w.x, w.d, w.holder, w.placed = make([]float32, values), make([]float32, gradients), nil, true
	for _, s := range w.sections {
		for _, m := range s.maps {
			m.settle(w)
		}
	}
}

// spaced is n rounded up to whole cache lines and one more, so that maps of like shapes do not share cache sets.
func spaced(n int) int {
	return (n+conv.ChannelPad-1)/conv.ChannelPad*conv.ChannelPad + conv.ChannelPad
}

// settle gives a map its memory; one that it shows has its own already.
func (m *Map) settle(w *Wiring) {
	p := &m.place
	switch {
	case p.trunk:
	case p.of != nil:
		m.x = p.of.x
	case p.read:
		m.x = w.x[p.at:][:m.g.Size()]
	default:
		m.x = make([]float32, m.g.Size())
	}
	switch {
	case !m.learns:
	case p.of != nil:
		m.d = p.of.d
	default:
		m.d = w.d[p.dat:][:m.dg.Size()]
	}
}

// clearBehind clears what convolutions take for zeros behind the section's maps, where other sections had theirs:
// behind their values or, if set, their gradients.
func (s *Section) clearBehind(gradients bool) {
	for _, m := range s.maps {
		switch {
		case m.place.of != nil:
		case gradients:
			clear(m.d[m.dg.Behind():])
		case m.place.read:
			clear(m.x[m.g.Behind():])
		}
	}
}
