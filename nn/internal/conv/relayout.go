package conv

import (
	"ocl/internal/kernel"
)

// Relayout turns planes into the channel-last layout and back.
type Relayout struct {
	s                   *kernel.Set
	planes, channelLast Layout
	dst, src            []float32
	first               int // image
	back                bool
}

// NewRelayout serves activations of one shape in both layouts.
func NewRelayout(s *kernel.Set, planes, channelLast Layout) *Relayout {
	return &Relayout{s: s, planes: planes, channelLast: channelLast}
}

// Run converts images [first, limit) of src, in planes, into dst. If back is set, it converts in the other direction.
func (r *Relayout) Run(team Team, dst, src []float32, first, limit int, back bool) {
	r.dst, r.src, r.first, r.back = dst, src, first, back
	team.Run(r, limit-first)
}

// DoChunk implements [workers.Task].
func (r *Relayout) DoChunk(_, chunk int) {
	img := r.first + chunk
	for y := range r.planes.H {
		pl, cl := r.planes.RowAt(0, img, y), r.channelLast.PixelAt(img, y, 0)
		if r.back {
			r.s.Transpose(r.dst[pl:], r.planes.stride, r.src[cl:], r.channelLast.PixelStride, r.planes.W, r.planes.C)
		} else {
			r.s.Transpose(r.dst[cl:], r.channelLast.PixelStride, r.src[pl:], r.planes.stride, r.planes.C, r.planes.W)
		}
	}
}
