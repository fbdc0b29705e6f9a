package learner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/loss"
	"ocl/nn/tensor"
	"ocl/rng"
)

// Incoming is the pass of B_n as the network sees it: cropped and flipped if Augment is set, with new draws in each
// iteration. It holds until Gradient returns.
func (r *Replay) Incoming() Pass { return Pass{Batch: r.shown, Role: loss.Incoming} }

// Accumulate runs the passes through the network in training mode, each with its own batch-norm statistics, and adds
// the gradients of their mean losses to Net.Grads in their order: Σ_p ∇ℓ_p(θ). All have the same parameters, so they
// run at the same time if there are workers. Running statistics move in the order of the passes. A teacher answers
// first, in evaluation mode or as [Teacher.Training] says. Passes without rows are left out. The bits do not depend on
// the number of workers.
//
// Loss is the sum of the mean losses, Correct counts rows of B_n (-1 if no output belongs to a class), and Replay rows
// of B_M; views of rows do not count. A criterion that makes a gradient of its own or changes what it was given is an
// error, also one that finds a gradient that is not finite with a loss that is (ErrDiverged). A loss that is not finite
// is an error of Observe. A [Mean] that teaches puts a second pass of each behind them.
func (r *Replay) Accumulate(passes ...Pass) (ocl.StepStats, error) {
	if r.Mean != nil && r.Mean.Teaches {
		var err error
		if passes, err = r.taught(passes); err != nil {
			return ocl.StepStats{}, err
		}
	}
	return r.train.accumulate(nil, passes...)
}

// AccumulateApart is [Replay.Accumulate], but the gradient of pass i > 0 is written to apart[i-1] [P] instead, which
// has as many numbers as the network has parameters. Each pass must have rows.
func (r *Replay) AccumulateApart(apart [][]float32, passes ...Pass) (ocl.StepStats, error) {
	return r.train.accumulate(apart, passes...)
}

// AccumulateTogether is [Replay.Accumulate] for one loss over several passes, such as one that compares two views of
// the same images: all passes run forward, f is called once, and all run back. Loss is that of f, and [Pass.Criterion]
// is not asked. All passes keep their activations until the end, so this takes more memory. Where f is a sum over the
// passes, the bits are those of Accumulate.
func (r *Replay) AccumulateTogether(f TogetherLoss, passes ...Pass) (ocl.StepStats, error) {
	return r.train.accumulateTogether(r.Step, f, passes...)
}

// Passes returns the passes of the last Accumulate with their results, in the order in which they were given. They hold
// until the next Accumulate, or until Gradient returns.
func (r *Replay) Passes() []Pass { return r.train.passes }

// Keep sets the numbers [B_n,F] that the memory carries with the rows of B_n if Update stores them, such as the outputs
// of the network ([memory.Store.Carry]; with [memory.Store.CarryOutputs] there may be fewer columns). They are copied.
// Of several calls for a batch the last one counts, also over iterations. A memory that carries numbers needs a call
// for each batch: without one, or with another shape, Observe returns an error.
func (r *Replay) Keep(rows *tensor.Tensor) {
	r.kept.Resize(rows.Shape...)
	copy(r.kept.Data, rows.Data)
	r.keeps = true
}

// carried returns the numbers that the memory will carry with the n rows of a batch, nil if it carries none. It is an
// error if Keep was not called as the memory needs it.
func (r *Replay) carried(n int) (*tensor.Tensor, error) {
	f := r.Memory.Floats()
	switch {
	case f == 0 && !r.keeps:
		return nil, nil
	case f == 0:
		return nil, fmt.Errorf("learner: step %d: %T keeps numbers, but the memory carries none. Call Carry or CarryOutputs of the memory first",
			r.steps, r.Step)
	case !r.keeps:
		return nil, fmt.Errorf("learner: step %d: the memory carries %d numbers with each sample, but %T keeps none. Call Keep in Gradient",
			r.steps, f, r.Step)
	case !r.Memory.Carries(&r.kept, n):
		return nil, fmt.Errorf("learner: step %d: %T keeps numbers of shape %v for %d rows. Keep %d of each row", r.steps,
			r.Step, r.kept.Shape, n, f)
	}
	return &r.kept, nil
}

// Rand is the source "step/NAME" of Seed, which is saved with the learner. Ask for it each time: a load may replace it.
// A name has one line, or Rand panics.
func (r *Replay) Rand(name string) *rng.Source {
	s := r.named[name]
	if s == nil {
		if strings.Contains(name, "\n") {
			panic(fmt.Sprintf("learner: Rand: the name %q has several lines. Use one", name))
		}
		if r.named == nil {
			r.named = map[string]*rng.Source{}
		}
		s = rng.New(r.Seed, "step/"+name)
		r.named[name] = s
	}
	return s
}

// namedParts is the state of the sources of Rand, if there are any.
func (r *Replay) namedParts() checkpoint.Parts {
	names := slices.Sorted(maps.Keys(r.named))
	some, lines := len(names) > 0, strings.Join(names, "\n")
	return checkpoint.Parts{
		checkpoint.Either(&some, "rng/names", checkpoint.Parts{
			checkpoint.Bytes("rng/names", &lines),
			checkpoint.Then(func() error {
				names = strings.Split(lines, "\n")
				if sorted := slices.Compact(slices.Sorted(slices.Values(names))); !slices.Equal(sorted, names) {
					return fmt.Errorf("learner: the names of the sources of random numbers are not in order, so the state is damaged")
				}
				clear(r.named)
				return nil
			}),
			checkpoint.Later(func() (parts checkpoint.Parts) {
				for _, name := range names {
					parts = append(parts, checkpoint.Binary("rng/step/"+name, r.Rand(name)))
				}
				return parts
			}),
		}, checkpoint.Parts{checkpoint.Then(func() error { clear(r.named); return nil })}),
	}
}

// forget drops what belongs to the caller of Observe, or holds no longer.
func (r *Replay) forget() {
	r.incoming, r.shown = ocl.Batch{}, ocl.Batch{}
	r.train.forget()
}

// Summed runs the incoming and the replay batch through the network separately, each with its own batch-norm
// statistics, and adds the gradients of their mean losses, as the survey's authors do: ∇ℓ(B_n) + ∇ℓ(B_M). Loss is the
// sum of both means. Both passes have the same parameters, so they run at the same time if there are two workers.
type Summed struct{}

// Gradient implements [Stepper].
func (Summed) Gradient(r *Replay, _ ocl.Batch) (ocl.StepStats, error) {
	replayed, err := r.Draw()
	if err != nil {
		return ocl.StepStats{}, err
	}
	return r.Accumulate(r.Incoming(), replayed)
}

// Joint runs both batches through the network as one batch with common batch-norm statistics, and takes the mean loss
// over all rows, as the survey's text says: ∇ℓ(B_n ∪ B_M).
type Joint struct{}

// Gradient implements [Stepper].
func (Joint) Gradient(r *Replay, _ ocl.Batch) (ocl.StepStats, error) {
	replayed, err := r.Draw()
	if err != nil {
		return ocl.StepStats{}, err
	}
	return r.Accumulate(Join(&r.joined, r.Incoming(), replayed))
}

// Stored learns from stored samples alone, which Retrieve chooses: ∇ℓ(B_M) (Koh et al. 2022, CLIB). The incoming batch
// is learned once it is stored, in later steps. While nothing is stored there is no step.
type Stored struct{}

// Gradient implements [Stepper].
func (Stored) Gradient(r *Replay, _ ocl.Batch) (ocl.StepStats, error) {
	replayed, err := r.Draw()
	if err != nil {
		return ocl.StepStats{}, err
	}
	if replayed.Len() == 0 {
		return ocl.StepStats{Correct: -1}, SkipStep
	}
	stats, err := r.Accumulate(replayed)
	stats.Correct = -1 // nothing is known of the incoming rows
	return stats, err
}
