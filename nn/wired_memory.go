package nn

import (
	"slices"

	"ocl/nn/internal/conv"
)

// The maps of all sections lie in one array of values and one of gradients, as long as the largest section needs them,
// because sections run one after the other and read only trunks of those before. So the memory of a wiring hardly grows
// with the number of its sections. A section that learns keeps all its values until its backward pass, and computes them
// again if another one has run since. In a section that does not learn, a map also gives way to those that are written
// after its last reader. The maps where sections end have values of their own.

// place says where a map of a section has its memory.
type place struct {
	shown, gradient *Map // whose values and whose gradient it shows; nil: its own
	trunk           bool // it shows the values of a trunk
	made            int  // layer that writes it
	last            int  // layer that reads it last; 0: none, as the first layer reads no map of the section
	at, end         int  // floats in the array of values, where it is shared
	dat             int  // in that of gradients
	shared, dshared bool
}

// lastRead notes a reader, also for the map that is shown.
func (p *place) lastRead(layer int) {
	p.last = layer
	if p.shown != nil {
		p.shown.place.lastRead(layer)
	}
}

// newMap is a map that the next layer of the section writes.
func (s *Section) newMap(c, h, w int) *Map {
	return s.mapOf(conv.ChannelLastLayout(c, h, w, s.w.n))
}

func (s *Section) mapOf(g conv.Layout) *Map {
	m := &Map{g: g, dg: g, learns: s.learns}
	m.place.made = len(s.layers)
	s.maps = append(s.maps, m)
	return m
}

// show adds a map that shows the values and the gradient of others; without values, those of the trunk in m.x.
func (s *Section) show(m *Map, values, gradient *Map) *Map {
	m.place.shown, m.place.gradient, m.place.trunk, m.place.made = values, gradient, values == nil, len(s.layers)
	s.maps = append(s.maps, m)
	return m
}

// placeMaps gives memory to the maps of all sections.
func (w *Wiring) placeMaps() {
	if w.placed {
		return
	}
	values, gradients := 0, 0
	for _, s := range w.sections {
		v, d := s.plan()
		values, gradients = max(values, v), max(gradients, d)
	}
	w.x, w.d, w.holder, w.placed = make([]float32, values), make([]float32, gradients), nil, true
	for _, s := range w.sections {
		for _, m := range s.maps {
			m.settle(w)
		}
	}
}

// plan finds places for the section's maps and returns the floats of values and of gradients that they take.
func (s *Section) plan() (values, gradients int) {
	var taken []*Map // by place
	for _, m := range s.maps {
		p := &m.place
		p.shared = p.shown == nil && !p.trunk && p.last > 0
		p.dshared = m.learns && p.gradient == nil && !m.g.InBlocks() // around a map in blocks the gradient stays zero
		if p.dshared {
			p.dat = gradients
			gradients += spaced(m.dg.Size())
		}
		if !p.shared {
			continue
		}
		if !s.learns {
			taken = slices.DeleteFunc(taken, func(t *Map) bool { return t.place.last < p.made })
		}
		p.at = 0
		i := 0
		for ; i < len(taken) && taken[i].place.at < p.at+spaced(m.g.Size()); i++ {
			p.at = taken[i].place.end
		}
		p.end = p.at + spaced(m.g.Size())
		taken = slices.Insert(taken, i, m)
		values = max(values, p.end)
	}
	return values, gradients
}

// spaced is n rounded up to whole cache lines and one more, so that maps of like shapes do not share cache sets.
func spaced(n int) int {
	return (n+conv.ChannelPad-1)/conv.ChannelPad*conv.ChannelPad + conv.ChannelPad
}

// settle gives a map its memory; those that it shows have theirs.
func (m *Map) settle(w *Wiring) {
	p := &m.place
	switch {
	case p.shown != nil:
		m.x = p.shown.x
	case p.shared:
		m.x = w.x[p.at:][:m.g.Size()]
	case m.x == nil: // not that of a trunk
		m.x = make([]float32, m.g.Size())
	}
	switch {
	case !m.learns:
	case p.gradient != nil:
		m.d = p.gradient.d
	case p.dshared:
		m.d = w.d[p.dat:][:m.dg.Size()]
	case m.d == nil:
		m.d = make([]float32, m.dg.Size())
	}
}

// clearBehind clears what convolutions take for zeros behind the maps that a layer writes; other maps were there before.
func (s *Section) clearBehind(layer int) {
	for _, m := range s.maps {
		if m.place.shared && m.place.made == layer {
			clear(m.x[m.g.Behind():])
		}
	}
}

// clearBehindGradients is the same for the gradients of the section.
func (s *Section) clearBehindGradients() {
	for _, m := range s.maps {
		if m.place.dshared {
			clear(m.d[m.dg.Behind():])
		}
	}
}
