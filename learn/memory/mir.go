package memory

import (
	"cmp"
	"slices"

	"ocl"
)

// MIR is Maximally Interfered Retrieval (survey §methods, par: MIR; Aljundi et al. 2019). Of Candidates stored
// samples drawn at random it retrieves the Size samples whose loss would rise most by the step on the incoming batch
// alone,
//
//	θ^v = θ − α·∇ℓ(B_n);  s(x) = ℓ(f_θv(x), y) − ℓ(f_θ(x), y)
//
// largest s first; of equal ones the smaller slot. It calls [Probe.Interference], but not if there are no more
// candidates than Size, unless Always is set. It draws one number for each candidate.
type MIR struct {
	Size       int // rows to replay beside each incoming batch
	Candidates int // C, at least Size
	// call Probe.Interference even if all candidates are retrieved, because the call may update running statistics
	Always bool

	rows   Buffer
	scores []float64
	ranked []candidate
}

// candidate is a slot and its score.
type candidate struct {
	slot  int
	score float64
}

var _ Retriever = (*MIR)(nil)

// Retrieve implements [Retriever].
func (r *MIR) Retrieve(dst []int, m *Store, _ ocl.Batch, env Env) ([]int, error) {
	start := len(dst)
	dst = Sample(dst, m.Len(), r.Candidates, env.Rand)
	drawn := dst[start:]
	choose := len(drawn) > r.Size
	if !choose && !r.Always {
		return dst, nil
	}
	r.scores = slices.Grow(r.scores[:0], len(drawn))[:len(drawn)]
	if err := env.Probe.Interference(r.scores, r.rows.Gather(m, drawn)); err != nil || !choose {
		return dst, err
	}
	r.ranked = r.ranked[:0]
	for i, slot := range drawn {
		r.ranked = append(r.ranked, candidate{slot, r.scores[i]})
	}
	slices.SortFunc(r.ranked, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.slot, b.slot))
	})
	dst = dst[:start]
	for _, c := range r.ranked[:r.Size] {
		dst = append(dst, c.slot)
	}
	return dst, nil
}
