package nn

import (
	"ocl/internal/kernel"
)

// winogradUse says which passes of a convolution Winograd's algorithm does; the direct kernels do the others.
type winogradUse struct{ forward, input, weights bool }

// count is the number of passes.
func (u winogradUse) count() (n int) {
	for _, by := range []bool{u.forward, u.input, u.weights} {
		if by {
			n++
		}
	}
	return n
}

// winogradPad keeps the 24 arrays of products apart in the sets of the first-level cache.
const winogradPad = 80

// winogradStep is the distance of arrays of n floats.
func winogradStep(n int) int {
	n = roundUp(n, channelPad) + winogradPad
	if n%1024 == 0 {
		n += winogradPad
	}
	return n
}

// tilesAlong is the number of tiles that cover a side; the last one may overhang.
func tilesAlong(side, tile int) int { return (side + tile - 1) / tile }

// winogradBlocks transforms weights [in][tap][out] for blocks of outputs: product j of input c lies at
// dst[j·step + b.w + c·width + v].
func winogradBlocks(s *kernel.Set, dst, w []float32, blocks []rowBlock, step, ins, outs int) {
	for _, b := range blocks {
		width := b.vecs * s.Lanes
		a := kernel.WinogradWeights{U: dst[b.w:], W: w[b.first:], Rows: ins, Width: width,
			Step: step, URow: width, WRow: 9 * outs, WTap: outs}
		if b.first+width > outs { // the last block reaches beyond the outputs
			a.W, a.WRow, a.WTap = paddedTaps(w, ins, outs, b.first, width), 9*width, width
		}
		s.WinogradWeights(&a)
	}
}

// paddedTaps copies weights [in][tap][out] of outputs from first on to [in][tap][width], with zeros beyond the last.
func paddedTaps(w []float32, ins, outs, first, width int) []float32 {
	dst := make([]float32, ins*9*width)
	for i := range ins * 9 {
		copy(dst[i*width:][:min(width, outs-first)], w[i*outs+first:])
	}
	return dst
}
