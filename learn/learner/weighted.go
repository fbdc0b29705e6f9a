package learner

import "ocl/checkpoint"

var (
	_ Weighted = (*Replay)(nil)
	_ Weighted = (*ICaRL)(nil)
	_ Weighted = (*ClassMeans)(nil)
	_ Weighted = (*SLDA)(nil)
	_ Weighted = (*RanPAC)(nil)
)

// Weights implements [Weighted].
func (r *Replay) Weights() checkpoint.Parts {
	r.prepare()
	return checkpoint.Parts{checkpoint.Sub("net", r.Net), optimiserPart(r.Opt, r.Net)}
}

// Weights implements [Weighted].
func (l *ICaRL) Weights() checkpoint.Parts {
	l.prepare()
	return checkpoint.Parts{checkpoint.Sub("net", l.Net), optimiserPart(l.Opt, l.Net)}
}
