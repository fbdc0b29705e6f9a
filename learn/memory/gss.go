package memory

import (
	"fmt"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/rng"
)

// GSS is GSS-Greedy (survey appendix A, alg:GSS; Aljundi et al. 2019). It keeps samples whose gradients point in
// other directions than those of others. The score of a sample is its largest cosine with the gradients G of Size
// stored samples drawn at random, plus 1:
//
//	c = max_i ⟨g, G_i⟩/(‖g‖·‖G_i‖) + 1
//
// While there is room, a sample is stored with its score. In a full memory, a sample with c < 1 draws slot i with
// probability C_i/Σ_j C_j, and replaces its sample and score with probability C_i/(C_i + c). Any other sample is
// dropped. One subset is drawn for each incoming batch and used for all its rows. A row that meets an empty memory
// has the cosine 0.1. GSS draws Size numbers for each subset, and two for each row with c < 1 that finds the memory
// full. It belongs to one store.
type GSS struct {
	Size      int  // n, stored samples to compare with
	PerSample bool // draw a subset for each row, as the algorithm does, from a memory that holds the rows before it

	scores  // C
	slots   []int
	rows    Buffer
	cosines []float64
}

var (
	_ Updater   = (*GSS)(nil)
	_ ocl.State = (*GSS)(nil)
	_ Remover   = (*GSS)(nil)
)

// noCosine is the cosine of a sample if the memory is empty, as in the authors' code.
const noCosine = 0.1

// Update implements [Updater].
func (g *GSS) Update(dst []int, m *Store, b ocl.Batch, env Env) ([]int, error) {
	if err := g.scores.belong(m); err != nil {
		return dst, err
	}
	start := len(dst)
	var shared []float64 // cosines [B,n] with the one subset
	if !g.PerSample {
		g.slots = Sample(g.slots[:0], m.Len(), g.Size, env.Rand)
		var err error
		if shared, err = g.compare(b, g.rows.Gather(m, g.slots), env); err != nil {
			return dst, err
		}
	}
	for j := range b.Len() {
		n := len(shared) / b.Len()
		cosines := shared[j*n : (j+1)*n]
		if g.PerSample {
			g.slots = Sample(g.slots[:0], len(g.scores), g.Size, env.Rand)
			refs := g.rows.gatherWith(m, g.slots, b, dst[start:])
			var err error
			if cosines, err = g.compare(b.Rows(j, j+1), refs, env); err != nil {
				return dst, err
			}
		}
		c := noCosine + 1
		if len(cosines) > 0 {
			c = slices.Max(cosines) + 1
		}
		slot := -1
		switch {
		case len(g.scores) < m.Cap():
			slot = len(g.scores)
			g.scores = append(g.scores, c)
		case c < 1 && m.Cap() > 0:
			if i := g.scores.draw(env.Rand); env.Rand.Float64() < g.scores[i]/(g.scores[i]+c) {
				slot, g.scores[i] = i, c
			}
		}
		dst = append(dst, slot)
	}
	return dst, nil
}

// compare returns the cosines [B,n] of the gradients of b and of refs, sample by sample.
func (g *GSS) compare(b, refs ocl.Batch, env Env) ([]float64, error) {
	g.cosines = slices.Grow(g.cosines[:0], b.Len()*refs.Len())[:b.Len()*refs.Len()]
	if len(g.cosines) == 0 {
		return nil, nil
	}
	return g.cosines, env.Probe.Cosines(g.cosines, Groups{b, 1}, Groups{refs, 1})
}

// scores holds one number for each filled slot of a store.
type scores []float64

// belong says whether the scores are those of m.
func (s scores) belong(m *Store) error {
	if len(s) != m.Len() {
		return fmt.Errorf("memory: gss: %d scores for %d stored samples. Give GSS a store of its own that nothing else fills",
			len(s), m.Len())
	}
	return nil
}

// draw returns slot i with probability s[i]/Σ_j s[j]. It draws one number.
func (s scores) draw(src *rng.Source) int {
	total, chosen := 0.0, 0
	for _, c := range s {
		total += c
	}
	u := src.Float64() * total
	for i, c := range s {
		if c > 0 {
			chosen = i // the last slot with a weight above 0, in case rounding leaves a rest of u
		}
		if u -= c; u < 0 {
			break
		}
	}
	return chosen
}

// Removed implements [Remover].
func (s *scores) Removed(slot, last int) { (*s)[slot], *s = (*s)[last], (*s)[:last] }

// parts is the state.
func (s *scores) parts() checkpoint.Parts {
	return checkpoint.Parts{checkpoint.List("scores", (*[]float64)(s))}
}

// SaveState implements [ocl.State].
func (s *scores) SaveState(e *checkpoint.Encoder) error { return s.parts().SaveState(e) }

// LoadState implements [ocl.State].
func (s *scores) LoadState(d *checkpoint.Decoder) error { return s.parts().LoadState(d) }
