package backbone

import (
	"ocl/internal/kernel"
	"ocl/nn/internal/conv"
)

// tokenRows is how many tokens a chunk of work has.
const tokenRows = 16

// tokenOp computes one kind of layer on tokens. Each chunk is some tokens of an image, or a whole image.
type tokenOp struct {
	*layer
	set      *kernel.Set
	in, out  conv.Layout
	chunks   int                               // of an image
	each     func(dst, src []float32, row int) // token row of an image, from its places in out and in
	dst, src []float32
}

// newTokenOp makes the operation of a layer whose output is tokens, one after the other.
func newTokenOp(set *kernel.Set, l *layer, in, out conv.Layout) *tokenOp {
	t := &tokenOp{layer: l, set: set, in: in, out: out, chunks: (out.H*out.W + tokenRows - 1) / tokenRows}
	c := out.C
	switch l.kind {
	case tokensLayer:
		t.each = func(dst, src []float32, row int) {
			copy(dst[:c], l.start[row*c:])
			if patch := row - l.first; patch >= 0 {
				set.Axpy(dst[:c], src[patch*in.PixelStride:], 1)
			}
		}
	case layerNormLayer:
		t.each = func(dst, src []float32, row int) {
			set.LayerNorm(dst, src[row*in.PixelStride:], l.scale, l.shift, l.epsilon)
		}
	case classLayer:
		t.each = func(dst, src []float32, _ int) { copy(dst[:c], src) }
	case classMeanLayer:
		t.each = func(dst, src []float32, _ int) {
			patches := in.H - l.first
			copy(dst[:in.C], src)
			mean := dst[in.C:][:in.C]
			clear(mean)
			set.ChannelLastSums(mean, src[l.first*in.PixelStride:], patches, in.PixelStride)
			for i := range mean {
				mean[i] /= float32(patches)
			}
		}
	default: // a product, whose sums lie in dst
		function := set.GELU
		if l.act == quickGELU {
			function = set.QuickGELU
		}
		t.each = func(dst, _ []float32, _ int) { function(dst[:c]) }
	}
	return t
}

func (t *tokenOp) forward(team conv.Team, dst, src []float32, images int, _ kernel.Finish) {
	t.dst, t.src = dst, src
	team.Run(t, images*t.chunks)
}

// DoChunk implements [workers.Task].
func (t *tokenOp) DoChunk(_, chunk int) {
	img, lo := chunk/t.chunks, chunk%t.chunks*tokenRows
	dst, src := t.dst[t.out.From(img):], t.src[t.in.From(img):]
	for row := lo; row < min(lo+tokenRows, t.out.H*t.out.W); row++ {
		t.each(dst[row*t.out.PixelStride:], src, row)
	}
}
