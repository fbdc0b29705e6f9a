package conv

import (
	"ocl/internal/kernel"
	"ocl/nn/internal/workers"
)

// Relayout turns planes into the channel-last layout and back.
type Relayout struct {
	s                   *kernel.Set
	planes, channelLast Layout
	dst, src            []float32
	back                bool
}

// NewRelayout serves activations of one shape in both layouts.
func NewRelayout(s *kernel.Set, planes, channelLast Layout) *Relayout {
	return &Relayout{s: s, planes: planes, channelLast: channelLast}
}

// Run turns images of src, in planes, into dst, or where back is set the other way round.
func (r *Relayout) Run(team *workers.Team, dst, src []float32, images int, back bool) {
	r.dst, r.src, r.back = dst, src, back
	team.Run(r, images)
}

// DoChunk implements [workers.Task].
func (r *Relayout) DoChunk(_, img int) {
	for y := range r.planes.H {
		pl, cl := r.planes.RowAt(0, img, y), r.channelLast.PixelAt(img, y, 0)
		if r.back {
			r.s.Transpose(r.dst[pl:], r.planes.stride, r.src[cl:], r.channelLast.PixelStride, r.planes.W, r.planes.C)
		} else {
			r.s.Transpose(r.dst[cl:], r.channelLast.PixelStride, r.src[pl:], r.planes.stride, r.planes.C, r.planes.W)
		}
	}
}
