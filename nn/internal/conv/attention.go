package conv

import (
	"fmt"
	"math"

	"ocl/internal/kernel"
)

// Attention lets tokens look at each other (Vaswani et al. 2017): of each head, token i of the output is Σ_j p_ij·v_j,
// with p_i the softmax over j of q_i·k_j/√width. A map of tokens has one column. The input has the queries, the keys
// and the values of all heads side by side, the output as many channels as one of them. Both products are those of
// [kernel.ChannelLast], for which keys and values are packed like weights.
type Attention struct {
	s         *kernel.Set
	in, out   Layout
	heads     int
	width     int           // of a head
	keys      []outputBlock // of scores, one a token
	values    []outputBlock // of the width
	row       int           // scores of a query, in whole vectors
	packed    []float32     // of images and heads: the keys, then the values
	scores    [][]float32   // of each worker: attentionRows rows
	scale     []float32     // 1/√width for a block of scores
	shift     []float32     // zeros
	chunks    int           // of queries of a head
	queries   []int32       // where they begin in the input
	outputs   []int32       // where they end up in the output
	rows      []int32       // where a row of scores begins
	beginning []int32       // the one tap, with its one weight

	dst, src []float32
	pack     bool // the first round
}

// attentionRows is how many queries of a head are computed together: their scores stay in the first-level cache, and a
// block of keys serves them all.
const attentionRows = 8 * kernel.ChannelLastTile

// Attention makes one with so many heads. The output may have fewer tokens than the input: those of the first queries.
// It panics if the shapes do not fit each other.
func (m *Maker) Attention(in, out Layout, heads int) *Attention {
	if !in.ChannelLast || !out.ChannelLast || in.W != 1 || out.W != 1 || out.H > in.H || in.N != out.N || heads < 1 ||
		in.C != 3*out.C || out.C%heads != 0 {
		panic(fmt.Sprintf("conv: attention of %d heads from input %v to output %v", heads, in, out))
	}
	a := &Attention{s: m.Set, in: in, out: out, heads: heads, width: out.C / heads, beginning: []int32{0}}
	if a.width%m.Set.Lanes != 0 {
		panic(fmt.Sprintf("conv: a head of %d channels fills no vectors of %d", a.width, m.Set.Lanes))
	}
	a.keys, a.values = outputBlocks(m.Set, in.H, a.width), outputBlocks(m.Set, a.width, in.H)
	a.row = roundUp(in.H, m.Set.Lanes)
	for range m.Workers {
		a.scores = append(a.scores, make([]float32, attentionRows*a.row))
	}
	a.packed = make([]float32, in.N*heads*a.packedHead())
	a.scale, a.shift = make([]float32, Reach(a.row)), make([]float32, Reach(a.row))
	for i := range a.scale {
		a.scale[i] = float32(1 / math.Sqrt(float64(a.width)))
	}
	for i := range roundUp(out.H, kernel.ChannelLastTile) {
		token := min(i, out.H-1)
		a.queries = append(a.queries, offset("queries", in.PixelAt(0, token, 0)))
		a.outputs = append(a.outputs, offset("outputs", out.PixelAt(0, token, 0)))
	}
	a.rows = everyStride(attentionRows, a.row)
	a.chunks = (out.H + attentionRows - 1) / attentionRows
	return a
}

// packedHead is the floats of the packed keys and values of a head.
func (a *Attention) packedHead() int { return a.width * (a.row + a.in.H) }

// Memory is how many floats the attention keeps beside its input and output.
func (a *Attention) Memory() int { return len(a.packed) + len(a.scores)*attentionRows*a.row }

// Forward writes the output for some images of x.
func (a *Attention) Forward(team Team, z, x []float32, images int) {
	a.in.holds("input", x, images)
	a.out.holds("output", z, images)
	a.dst, a.src = z, x
	a.pack = true
	team.Run(a, images*a.heads)
	a.pack = false
	team.Run(a, images*a.heads*a.chunks)
}

// DoChunk implements [workers.Task].
func (a *Attention) DoChunk(worker, chunk int) {
	if a.pack {
		a.packHead(chunk)
		return
	}
	head := chunk / a.chunks
	lo := chunk % a.chunks * attentionRows
	a.attend(a.scores[worker], head, lo, min(lo+attentionRows, len(a.queries)))
}

// packHead packs the keys of a head as weights [width][block of tokens], and its values as [token][block of width].
// Heads are counted through all images.
func (a *Attention) packHead(head int) {
	src, channels := a.src[a.in.From(head/a.heads):], a.out.C
	step, first := a.in.PixelStride, head%a.heads*a.width
	keys, values := a.head(head)
	for _, b := range a.keys {
		block := b.vecs * a.s.Lanes
		n := min(block, a.in.H-b.first)
		a.s.Transpose(keys[b.w:], block, src[b.first*step+channels+first:], step, n, a.width)
	}
	for _, b := range a.values {
		block := b.vecs * a.s.Lanes
		for token := range a.in.H {
			copy(values[b.w+token*block:][:block], src[token*step+2*channels+first+b.first:])
		}
	}
}

// head is the packed keys and values of a head.
func (a *Attention) head(head int) (keys, values []float32) {
	all := a.packed[head*a.packedHead():][:a.packedHead()]
	return all[:a.width*a.row], all[a.width*a.row:]
}

// attend computes queries [lo, hi) of a head, in whole tiles.
func (a *Attention) attend(scores []float32, head, lo, hi int) {
	img, first := head/a.heads, head%a.heads*a.width
	keys, values := a.head(head)
	for _, b := range a.keys {
		a.s.ChannelLast(&kernel.ChannelLast{Out: scores[b.first:], X: a.src[a.in.From(img)+first:], W: keys[b.w:],
			OutPos: a.rows[:hi-lo], XPos: a.queries[lo:hi], TapX: a.beginning, TapW: a.beginning, C: a.width, Vecs: b.vecs,
			Finish: kernel.Finish{Scale: a.scale, Shift: a.shift}})
	}
	for i := range hi - lo {
		a.s.Softmax(scores[i*a.row:][:a.in.H])
	}
	for _, b := range a.values {
		a.s.ChannelLast(&kernel.ChannelLast{Out: a.dst[a.out.From(img)+first+b.first:], X: scores, W: values[b.w:],
			OutPos: a.outputs[lo:hi], XPos: a.rows[:hi-lo], TapX: a.beginning, TapW: a.beginning, C: a.in.H, Vecs: b.vecs})
	}
}
