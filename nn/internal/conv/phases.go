package conv

import (
	"ocl/internal/kernel"
)

// Phases splits a map in planes into its four phases (even and odd rows by even and odd columns), and merges the phases
// of a gradient.
type Phases struct {
	Split Layout // of the phases
	// Clear lets a split also write the zeros around the phases, for a buffer that was used for something else since.
	Clear bool

	s                    *kernel.Set
	g                    Layout
	dst, src             []float32
	first, limit, groups int // image
	merge                bool
}

// NewPhases serves maps of layout g.
func NewPhases(s *kernel.Set, g Layout) *Phases { return &Phases{s: s, g: g, Split: phasesOf(g)} }

// phasesOf is the layout of the phases of a map: phase (py, px) of channel c holds pixels (2y+py, 2x+px) and is channel
// (2·py+px)·C + c.
func phasesOf(g Layout) Layout {
	f := PlanesLayout(4*g.C, (g.H+1)/2, (g.W+1)/2, g.N)
	f.pad = max(f.pad, overshoot(g.C)) // gradients are written a phase at a time
	return f
}

// Run writes the phases of images [first, limit) of src to dst. If merge is set, it writes the map whose phases are
// in src.
func (f *Phases) Run(team Team, dst, src []float32, first, limit int, merge bool) {
	f.dst, f.src, f.first, f.merge = dst, src, first, merge
	f.limit, f.groups = limit, min(team.Size(), limit-first)
	team.Run(f, f.groups*f.g.C)
}

// DoChunk implements [workers.Task].
func (f *Phases) DoChunk(_, chunk int) {
	c, group, images := chunk%f.g.C, chunk/f.g.C, f.limit-f.first
	for img := f.first + group*images/f.groups; img < f.first+(group+1)*images/f.groups; img++ {
		for y := range f.g.H {
			whole := f.g.RowAt(c, img, y)
			even := f.Split.RowAt((2*(y&1))*f.g.C+c, img, y/2)
			odd := even + f.g.C*f.Split.stride
			ne, no := (f.g.W+1)/2, f.g.W/2
			if f.merge {
				f.s.Merge(f.dst[whole:][:f.g.W], f.src[even:][:ne], f.src[odd:][:no])
			} else {
				f.s.Split(f.dst[even:][:ne], f.dst[odd:][:no], f.src[whole:][:f.g.W])
			}
		}
		if f.Clear && !f.merge {
			f.clear(c, img)
		}
	}
}

// clear sets what lies around the phases of an image's channel to zero.
func (f *Phases) clear(c, img int) {
	g := f.Split
	for phase := range 4 {
		rows, cols := (f.g.H+1-phase/2)/2, (f.g.W+1-phase%2)/2
		at := g.RowAt(phase*f.g.C+c, img, 0)
		for y := range rows {
			clear(f.dst[at+y*g.RowStride+cols : at+(y+1)*g.RowStride])
		}
		clear(f.dst[at+rows*g.RowStride : at+(g.H+1)*g.RowStride])
	}
}
