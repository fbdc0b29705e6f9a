package learner

import "ocl"

// LookAhead is [Summed] for a retriever that needs to know what the step on the incoming batch alone would do to
// stored samples, as [memory.MIR] does. The incoming batch runs first, then the retriever chooses with its gradient
// at hand, then the replay batch runs. Both run with the same parameters, so the step follows ∇ℓ(B_n) + ∇ℓ(B_M).
type LookAhead struct{}

// Gradient implements [Stepper].
func (LookAhead) Gradient(r *Replay, b ocl.Batch) (s ocl.StepStats, err error) {
	r.Net.ZeroGrads()
	r.passes = append(r.passes[:0], pass{Batch: b, count: b.Len()})
	if s.Loss, s.Correct, err = r.accumulate(); err != nil {
		return s, err
	}
	r.probe.incoming = true
	replay, err := r.retrieve()
	r.probe.incoming = false
	if err != nil || replay.Len() == 0 {
		return s, err
	}
	s.Replay = replay.Len()
	r.passes = append(r.passes[:0], pass{Batch: replay})
	replayed, _, err := r.accumulate()
	s.Loss += replayed
	return s, err
}
