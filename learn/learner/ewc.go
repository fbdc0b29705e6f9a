package learner

import (
	"context"
	"errors"
	"fmt"

	"ocl"
	"ocl/checkpoint"
)

// EWC is EWC++, elastic weight consolidation with a running Fisher information (survey §methods). From the second
// task on a penalty pulls every parameter back to its value at the end of the last task, more strongly the more the
// parameter mattered (eq:ewc, but with λ instead of λ/2, as in the code of the survey's authors):
//
//	L(θ) = L_B(θ) + λ Σ_j F̂_j (θ_j − θ*_j)²
//
// F_tmp is the sum of (∂L/∂θ)² over steps, where L is the whole loss. Before the steps Every, 2·Every, … of a task it
// is added to the running average (eq:ewc_online) and reset to 0. The end of a task does not reset it:
//
//	F ← α F_tmp/Every + (1 − α) F
//
// At a task's end θ* ← θ and F̂ ← (F − min F)/(max F − min F + 1e-32), with the minimum and maximum over all
// parameters. With Raw, EWC follows the survey's text: λ/2, F̂ = F, and Every is 1. Without memory and with λ = 0,
// EWC is a [Replay] without memory.
type EWC struct {
	*Replay
	EWCOptions

	step     int64     // of the task
	fisher   []float32 // F [P]
	sum      []float32 // F_tmp [P]
	weight   []float32 // F̂ [P]
	anchor   []float32 // θ* [P]
	anchored bool      // there are F̂ and θ*
}

// EWCOptions are the hyperparameters of EWC.
type EWCOptions struct {
	Lambda float64 // λ, 0 or more
	Alpha  float64 // α, in [0,1]: the share of the newest batches in F
	Every  int     // steps between two refreshments of F; at least 1
	Raw    bool
}

var (
	_ ocl.Learner   = (*EWC)(nil)
	_ ocl.Extending = (*EWC)(nil)
	_ Stepper       = (*EWC)(nil)
)

// NewEWC makes r, a learner that was not used yet, an EWC.
func NewEWC(r *Replay, o EWCOptions) *EWC {
	if o.Raw {
		o.Every = 1
	}
	p := len(r.Net.Params())
	e := &EWC{
		Replay: r, EWCOptions: o,
		fisher: make([]float32, p), sum: make([]float32, p), weight: make([]float32, p), anchor: make([]float32, p),
	}
	r.Step, r.owner = e, "EWC++"
	return e
}

// BeginTask implements [ocl.TaskAware].
func (e *EWC) BeginTask(t ocl.TaskInfo) error {
	e.step = 0
	return e.beginTask(t)
}

// Observe implements [ocl.Learner]. The penalty is part of the loss; where it explodes, the error names λ.
func (e *EWC) Observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	s, err := e.Replay.Observe(ctx, b)
	if errors.Is(err, ocl.ErrDiverged) {
		err = fmt.Errorf("%w, or a smaller λ than %v", err, e.Lambda)
	}
	return s, err
}

// Gradient implements [Stepper].
func (e *EWC) Gradient(r *Replay, b ocl.Batch) (ocl.StepStats, error) {
	e.step++
	if e.step%int64(e.Every) == 0 {
		r.WS.Share((*refreshment)(e), len(e.fisher))
	}
	s, err := Summed{}.Gradient(r, b)
	if err != nil {
		return s, err
	}
	s.Loss += float64(e.strength() * r.WS.ShareSum(e, len(e.fisher)))
	return s, nil
}

// strength is the factor of the penalty.
func (e *EWC) strength() float64 {
	if e.Raw {
		return e.Lambda / 2
	}
	return e.Lambda
}

// Sum implements [nn.SumWork]. It adds the gradient of the penalty to the network's gradients, adds the squares of
// the result to F_tmp, and returns Σ F̂_j (θ_j − θ*_j)².
func (e *EWC) Sum(lo, hi int) (penalty float64) {
	g, sum := e.Net.Grads()[lo:hi], e.sum[lo:hi]
	if e.anchored && e.Lambda > 0 {
		theta, anchor, weight := e.Net.Params()[lo:hi], e.anchor[lo:hi], e.weight[lo:hi]
		slope := float32(2 * e.strength())
		for i, v := range theta {
			d := v - anchor[i]
			pull := float32(weight[i] * d)
			penalty += float64(pull) * float64(d)
			g[i] += float32(slope * pull)
		}
	}
	for i, v := range g {
		sum[i] += float32(v * v)
	}
	return penalty
}

// refreshment is the work that folds F_tmp into F.
type refreshment EWC

// Do implements [nn.Work].
func (e *refreshment) Do(lo, hi int) {
	sum, old, share := e.sum[lo:hi], float32(1-e.Alpha), float32(e.Alpha/float64(e.Every))
	for i, f := range e.fisher[lo:hi] {
		e.fisher[lo+i] = float32(old*f) + float32(share*sum[i])
	}
	clear(sum)
}

// EndTask implements [ocl.TaskAware]. It first ends the task of the Replay, so that what a review has learned is
// protected too, and then sets θ* and F̂. After an error that wraps the error of ctx it can be called again and
// continues.
func (e *EWC) EndTask(ctx context.Context) error {
	if err := e.endTask(ctx); err != nil {
		return err
	}
	copy(e.anchor, e.Net.Params())
	copy(e.weight, e.fisher)
	e.anchored = true
	if e.Raw {
		return nil
	}
	least, most := e.fisher[0], e.fisher[0]
	for _, f := range e.fisher {
		least, most = min(least, f), max(most, f) // NaN if any is
	}
	span := most - least + 1e-32
	for i, f := range e.fisher {
		e.weight[i] = (f - least) / span
	}
	return nil
}

// SaveState implements [ocl.State].
func (e *EWC) SaveState(enc *checkpoint.Encoder) error { return e.parts().SaveState(enc) }

// LoadState implements [ocl.State].
func (e *EWC) LoadState(d *checkpoint.Decoder) error { return e.parts().LoadState(d) }

func (e *EWC) parts() checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.Values("ewc/step", &e.step),
		vectorPart("ewc/fisher", e.Net, e.fisher),
		vectorPart("ewc/sum", e.Net, e.sum),
		checkpoint.Either(&e.anchored, "ewc/weight", checkpoint.Parts{
			vectorPart("ewc/weight", e.Net, e.weight),
			vectorPart("ewc/anchor", e.Net, e.anchor),
		}, nil),
		checkpoint.Inline(e.Replay),
	}
}
