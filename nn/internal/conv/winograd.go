package conv

import (
	"ocl/internal/kernel"
	"ocl/internal/largepages"
)

// byNumber leaves the gradient of single images, which have few positions, to the direct kernels. Winograd's begins at
// the first image.
type byNumber struct{ single, many gradientRunner }

func (b byNumber) run(team Team, dst, y, x []float32, first, limit int) {
	if first > 0 || limit == 1 {
		b.single.run(team, dst, y, x, first, limit)
		return
	}
	b.many.run(team, dst, y, x, first, limit)
}

// scratch is the working memory of the convolutions of a pass, which run one after the other. Nothing in it is needed
// after a call. It is shared by role, so that it stays in the caches.
type scratch map[string]*area

// area is memory of any content, as large as the largest of its users wants it.
type area struct{ floats []float32 }

// area is the one of a role, with at least n floats.
func (s scratch) area(role string, n int) *area {
	if s[role] == nil {
		s[role] = &area{}
	}
	s[role].first(n)
	return s[role]
}

// first is the first n floats.
func (a *area) first(n int) []float32 {
	if len(a.floats) < n {
		a.floats = largepages.Floats(n)
	}
	return a.floats[:n]
}

// winogradPad keeps the 24 arrays of products apart in the sets of the first-level cache.
const winogradPad = 80

// winogradStep is the distance of arrays of n floats.
func winogradStep(n int) int {
	n = roundUp(n, ChannelPad) + winogradPad
	if n%1024 == 0 {
		n += winogradPad
	}
	return n
}

// tilesAlong is the number of tiles that cover a side; the last one may overhang.
func tilesAlong(side, tile int) int { return (side + tile - 1) / tile }

// winogradBlocks transforms weights [in][tap][out] for blocks of outputs: product j of input c lies at
// dst[j·step + b.w + c·width + v]. The last block may reach beyond the outputs: its taps are copied to edge first.
func winogradBlocks(s *kernel.Set, dst, w []float32, edge *[]float32, blocks []outputBlock, step, ins, outs int) {
	for _, b := range blocks {
		width := b.vecs * s.Lanes
		a := kernel.WinogradWeights{U: dst[b.w:], W: w[b.first:], Rows: ins, Width: width,
			Step: step, URow: width, WRow: 9 * outs, WTap: outs}
		if b.first+width > outs {
			a.W, a.WRow, a.WTap = room(edge, ins*9*width), 9*width, width
			for i := range ins * 9 {
				copy(a.W[i*width:][:outs-b.first], w[i*outs+b.first:])
			}
		}
		s.WinogradWeights(&a)
	}
}
