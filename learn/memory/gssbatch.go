package memory

import (
	"slices"

	"ocl"
)

// GSSBatch is GSS-Greedy as in the code of the survey's authors (docs/deviations.md, GSS-Greedy). It compares with
// the gradients of up to Size disjoint batches of up to 10 stored samples drawn at random, and a score is the largest
// cosine itself. While there is room, rows are stored; rows of the batch that find no room are dropped. In a full
// memory, the gradient of the batch's mean loss is compared first: if one of its cosines is 0 or more, the batch is
// dropped. Otherwise one slot i is drawn for each row, all different, with a probability proportional to (C_i − min
// C)/(max C − min C + 0.01), and the row with score c takes it with probability (C_i + 1)/(C_i + 1 + c + 1). Rows for
// which no slot with a positive probability is left are dropped.
type GSSBatch struct {
	Size int // n, batches to compare with

	scores
	slots   []int
	weights scores
	rows    Buffer
	cosines []float64
}

// ReferenceBatch is the size of the batches in the authors' code.
const ReferenceBatch = 10

var (
	_ Updater   = (*GSSBatch)(nil)
	_ ocl.State = (*GSSBatch)(nil)
	_ Remover   = (*GSSBatch)(nil)
)

// Update implements [Updater].
func (g *GSSBatch) Update(dst []int, m *Store, b ocl.Batch, env Env) ([]int, error) {
	if err := g.scores.belong(m); err != nil {
		return dst, err
	}
	start := len(dst)
	for range b.Len() {
		dst = append(dst, -1)
	}
	put := dst[start:]
	if b.Len() == 0 || m.Cap() == 0 {
		return dst, nil
	}
	refs := g.references(m, env)
	if room := m.Cap() - m.Len(); room > 0 {
		n := min(room, b.Len())
		err := g.compare(b.Rows(0, n), 1, refs, env)
		for j := range n {
			put[j] = len(g.scores)
			g.scores = append(g.scores, g.closest(j, refs))
		}
		return dst, err
	}
	if err := g.compare(b, b.Len(), refs, env); err != nil || g.closest(0, refs) >= 0 {
		return dst, err
	}
	if err := g.compare(b, 1, refs, env); err != nil {
		return dst, err
	}
	g.candidates(b.Len(), env)
	for j, i := range g.slots {
		c := g.closest(j, refs)
		if old := g.scores[i] + 1; env.Rand.Float64() < old/(old+c+1) {
			put[j], g.scores[i] = i, c
		}
	}
	return dst, nil
}

// references draws the batches to compare with; none from an empty memory.
func (g *GSSBatch) references(m *Store, env Env) Groups {
	size := min(ReferenceBatch, m.Len())
	n := 0
	if size > 0 {
		n = min(g.Size, m.Len()/size)
	}
	g.slots = Sample(g.slots[:0], m.Len(), n*size, env.Rand)
	env.Rand.Shuffle(len(g.slots), func(i, j int) { g.slots[i], g.slots[j] = g.slots[j], g.slots[i] })
	return Groups{g.rows.Gather(m, g.slots), max(1, size)}
}

// compare finds the cosines of the groups of b with refs.
func (g *GSSBatch) compare(b ocl.Batch, size int, refs Groups, env Env) error {
	in := Groups{b, size}
	n := in.Count() * refs.Count()
	g.cosines = slices.Grow(g.cosines[:0], n)[:n]
	if n == 0 {
		return nil
	}
	return env.Probe.Cosines(g.cosines, in, refs)
}

// closest is the largest cosine of group j of the last compare.
func (g *GSSBatch) closest(j int, refs Groups) float64 {
	n := refs.Count()
	if n == 0 {
		return noCosine
	}
	return slices.Max(g.cosines[j*n : (j+1)*n])
}

// candidates draws up to n different slots, one after the other.
func (g *GSSBatch) candidates(n int, env Env) {
	least, most := slices.Min(g.scores), slices.Max(g.scores)
	g.weights, g.slots = g.weights[:0], g.slots[:0]
	positive := 0
	for _, c := range g.scores {
		if c > least {
			positive++
		}
		g.weights = append(g.weights, (c-least)/(most-least+0.01))
	}
	for range min(n, positive) {
		i := g.weights.draw(env.Rand)
		g.weights[i] = 0
		g.slots = append(g.slots, i)
	}
}
