package learnertest

import (
	"context"
	"fmt"

	"ocl"
	"ocl/checkpoint"
	"ocl/learner"
	"ocl/loss"
	"ocl/tensor"
)

// Sleeper is a Replay that works for long inside Observe, and the smallest ocl.Pausing learner: when it has learned
// every Every-th batch it makes Steps further steps on it, which can be watched and paused. Tests of what runs learners
// use it too.
type Sleeper struct {
	*learner.Replay
	Every, Steps int // both at least 1

	watch    func(done, total int)
	observed int64 // batches learned, the one that it sleeps over included
	asleep   bool
	done     int64         // steps of this sleep
	stats    ocl.StepStats // of the batch that it sleeps over
	flops    int64         // of the last Observe, its parts together
}

var _ ocl.Pausing = (*Sleeper)(nil)

// NewSleeper makes r, a learner that was not used yet and needs no boundaries of tasks, a Sleeper.
func NewSleeper(r *learner.Replay, every, steps int) *Sleeper {
	return &Sleeper{Replay: r, Every: every, Steps: steps}
}

// Observe implements [ocl.Learner] and [ocl.Pausing].
func (s *Sleeper) Observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	if !s.asleep {
		stats, err := s.Replay.Observe(ctx, b)
		if err != nil || b.Len() == 0 {
			return stats, err
		}
		s.flops = s.Replay.Cost().StepFLOPs
		s.observed++
		if s.observed%int64(s.Every) != 0 {
			return stats, nil
		}
		s.asleep, s.done, s.stats = true, 0, stats
	}
	for s.done < int64(s.Steps) {
		if err := ctx.Err(); err != nil {
			return ocl.StepStats{}, fmt.Errorf("learnertest: asleep, %d of %d steps are done: %w", s.done, s.Steps, err)
		}
		if err := s.step(b); err != nil {
			return ocl.StepStats{}, err
		}
		s.done++
		if s.watch != nil {
			s.watch(int(s.done), s.Steps)
		}
	}
	stats := s.stats
	s.asleep, s.done, s.stats = false, 0, ocl.StepStats{}
	return stats, nil
}

// step is one of a sleep.
func (s *Sleeper) step(b ocl.Batch) error {
	before := s.WS.FLOPs()
	s.Net.ZeroGrads()
	err := s.Net.Accumulate(s.WS, []*tensor.Tensor{b.X}, func(_ int, logits, d *tensor.Tensor) error {
		_, err := loss.CrossEntropy{}.Eval(d, loss.Input{Logits: logits, Y: b.Y})
		return err
	})
	if err != nil {
		return err
	}
	s.Opt.Step(s.Net, s.WS)
	s.flops += s.WS.FLOPs() - before
	return nil
}

// Paused implements [ocl.Pausing].
func (s *Sleeper) Paused() bool { return s.asleep }

// Watch implements [ocl.Watched].
func (s *Sleeper) Watch(f func(done, total int)) { s.watch = f }

// Cost implements [ocl.Learner]: a step that was paused costs what its parts cost together.
func (s *Sleeper) Cost() ocl.Cost {
	c := s.Replay.Cost()
	c.StepFLOPs = s.flops
	return c
}

// SaveState implements [ocl.State].
func (s *Sleeper) SaveState(e *checkpoint.Encoder) error { return s.parts().SaveState(e) }

// LoadState implements [ocl.State].
func (s *Sleeper) LoadState(d *checkpoint.Decoder) error {
	s.flops = 0
	return s.parts().LoadState(d)
}

func (s *Sleeper) parts() checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.Values("sleep", &s.observed, &s.asleep, &s.done),
		checkpoint.Values("sleep/stats", &s.stats.Loss, &s.stats.Correct, &s.stats.Samples, &s.stats.Replay),
		checkpoint.Inline(s.Replay),
	}
}
