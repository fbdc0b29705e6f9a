package learner

import (
	"ocl"
	"ocl/nn"
)

// LookAhead is [Summed] for a retriever that needs to know what the step on the incoming batch alone would do to
// stored samples, as [memory.MIR] does. The incoming batch runs first, then the retriever chooses with its gradient
// at hand, then the replay batch runs. Both run with the same parameters, so the step follows ∇ℓ(B_n) + ∇ℓ(B_M).
//
// With Moves, the network's pass over the retriever's candidates updates the running statistics of batch norm, as in
// the code of the survey's authors. The copy with the parameters θ^v has no running statistics: it uses batch
// statistics only.
type LookAhead struct{ Moves bool }

// Gradient implements [Stepper].
func (l LookAhead) Gradient(r *Replay, _ ocl.Batch) (ocl.StepStats, error) {
	s, err := r.Accumulate(r.Incoming())
	if err != nil {
		return s, err
	}
	r.probe.incoming, r.probe.candidates = true, nn.BatchOnly
	if l.Moves {
		r.probe.candidates = nn.Train
	}
	replayed, err := r.Draw()
	r.probe.incoming = false
	if err != nil || replayed.Len() == 0 {
		return s, err
	}
	second, err := r.Accumulate(replayed)
	s.Loss += second.Loss
	s.Replay = second.Replay
	return s, err
}
