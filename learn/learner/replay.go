package learner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/augment"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/rng"
)

// Replay is the general learner with a memory (survey §methods, alg:algo_er). The lines of the algorithm that methods
// change are fields:
//
//	repeat Iterations times
//	  B_M ← Retrieve(B_n, M)         line 3
//	  θ ← Step(B_n ∪ B_M, θ)         line 4
//	M ← Update(B_n, M)               line 5, once a batch
//
// A nil field means what ER, experience replay, does. Without memory Replay is Finetune. Samples of the current task
// are replayed too, from the first step after a sample was stored. The tricks of the survey (§trick_detail) are
// values of Criterion, Iterations, Classes, Teacher and Review. Replay draws from the sources "memory/retrieve" and
// "memory/update" of Seed, and with Augment from "replay/augment". Net, WS and Opt belong to the learner. Set the
// fields before the first call.
//
// With Augment, all images that the network is trained on are cropped and flipped first: B_n again for each step,
// each B_M, and each batch of a review. M holds images as they arrived, so each replay of a sample shows another crop
// of it. Retrieve and Update, which judge samples by [memory.Probe], see images as they arrived too. So a score
// depends on the sample and not on one crop, has no noise from a draw, and keeps its meaning when it is stored. θ^v
// of MIR comes from the step on the augmented B_n, which is the step that is taken. A teacher sees the same images as
// the network.
type Replay struct {
	Net        *nn.Network
	WS         *nn.Workspace
	Opt        optim.Optimizer
	Memory     *memory.Store    // M; nil means none
	Retrieve   memory.Retriever // nil is memory.Random{Size: DefaultReplayBatch}
	Step       Stepper          // nil is Summed
	Update     memory.Updater   // nil is memory.Reservoir
	Criterion  loss.Criterion   // nil is loss.CrossEntropy; used by several goroutines at once
	Iterations int              // steps on each incoming batch; 0 is 1
	Augment    bool             // crop and flip what is learned, at each draw
	Seed       uint64

	// The following need the boundaries of tasks. A Replay with one of them is used as [Bounded], unless it is part
	// of a learner that is TaskAware anyway and calls it. It refuses to observe before a task has begun.
	Classes *Classes // old and new classes, for Criterion; nil does not know them
	Teacher *Teacher // its logits, for Criterion; nil means none
	Review  *Review  // of the memory, at each task's end; nil means none

	// Seen are the classes observed so far, for Criterion and Step; nil does not keep them.
	Seen *Seen

	// Recent counts the labels of the last steps, for Criterion; nil does not count them.
	Recent *Recent
	// Mean predicts in place of Net, and may be the teacher of each step; nil has Net predict.
	Mean *Mean
	// Transform changes images in place of cropping and flipping, where Augment is set; nil crops and flips.
	Transform augment.Transform

	owner                  string // of the Replay, if it needs the boundaries of tasks itself
	boundaries             boundaries
	retrieveEnv, updateEnv memory.Env
	probe                  probe
	augment                augmentation
	incoming               ocl.Batch // B_n as it came, while Observe learns it
	shown                  ocl.Batch // B_n as the network sees it in this step
	train                  trainer
	meter                  meter
	steps                  int64            // batches observed
	slots                  []int            // that Update chose
	draws                  []*memory.Buffer // one for each Draw of a step
	drawn                  int              // of them in this step
	joined                 memory.Buffer
	named                  map[string]*rng.Source // of Rand
	kept                   tensor.Tensor          // of Keep
	keeps                  bool                   // kept is of this batch
	labels                 []ocl.Label            // copy of B_n, by which a stepper that changes it is found
	pixels                 []byte
}

// DefaultReplayBatch is the size of B_M where nothing else is said: the survey's 10 (§exp_setup).
const DefaultReplayBatch = 10

var (
	_ ocl.Learner = (*Replay)(nil)
	_ ocl.Watched = (*Replay)(nil)
)

// prepare fills the fields that are nil with what ER does.
func (r *Replay) prepare() {
	if r.retrieveEnv.Rand != nil {
		return
	}
	r.retrieveEnv.Rand = rng.New(r.Seed, "memory/retrieve")
	r.updateEnv.Rand = rng.New(r.Seed, "memory/update")
	r.probe.r = r
	r.retrieveEnv.Probe, r.updateEnv.Probe = &r.probe, &r.probe
	if r.Retrieve == nil {
		r.Retrieve = memory.Random{Size: DefaultReplayBatch}
	}
	if r.Step == nil {
		r.Step = Summed{}
	}
	if r.Update == nil {
		r.Update = memory.Reservoir{}
	}
	if r.Criterion == nil {
		r.Criterion = loss.CrossEntropy{}
	}
	r.Iterations = max(r.Iterations, 1)
	r.train = trainer{net: r.Net, ws: r.WS, criterion: r.Criterion, classes: r.Classes, seen: r.Seen,
		recent: r.Recent, teacher: r.Teacher}
	if r.Augment {
		r.augment.begin(r.Seed, r.Transform)
	}
	if r.Mean != nil {
		r.Mean.of(r.Net)
	}
	if r.Teacher != nil {
		r.Teacher.ws = r.WS.Beside()
	}
	if r.Review != nil {
		r.Review.belong(r.Net, r.WS, r.Opt, r.Memory, &r.augment, r.Seed)
	}
}

// Observe implements [ocl.Learner]. It checks ctx once, before it changes anything, so a batch is learned completely
// or not at all; a step takes milliseconds. Loss is the mean over the iterations, and Replay counts the rows of all
// iterations. After an error that wraps ctx.Err() the learner is as it was; after any other one it must not be used any
// more.
func (r *Replay) Observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	stats := ocl.StepStats{Samples: b.Len()}
	if err := ctx.Err(); err != nil || b.Len() == 0 {
		return stats, err
	}
	r.prepare()
	if err := r.checkBound(); err != nil {
		return stats, err
	}
	defer r.meter.since(r.WS, r.WS.FLOPs())
	r.steps++
	if err := checkClasses(b, r.Net.Info().Classes); err != nil {
		return stats, fmt.Errorf("learner: step %d: %w", r.steps, err)
	}
	r.incoming, r.keeps = b, false
	defer r.forget()
	for i := range r.Iterations {
		r.shown = r.augment.of(b)
		r.drawn = 0
		if r.Recent != nil {
			r.Recent.begin()
		}
		r.Net.ZeroGrads()
		r.labels, r.pixels = append(r.labels[:0], b.Y...), append(r.pixels[:0], b.Pixels...)
		g, err := r.Step.Gradient(r, r.shown)
		skip := errors.Is(err, SkipStep)
		if err != nil && !skip {
			return stats, fmt.Errorf("learner: step %d: %w", r.steps, err)
		}
		if !slices.Equal(r.labels, b.Y) || !bytes.Equal(r.pixels, b.Pixels) {
			return stats, fmt.Errorf("learner: step %d: the stepper %T changed labels or pixels of the incoming batch, which the memory would store. "+
				"Let it change a copy (Pass.View)", r.steps, r.Step)
		}
		if i == 0 {
			stats.Correct = g.Correct
		}
		stats.Loss += g.Loss / float64(r.Iterations)
		stats.Replay += g.Replay
		if err := r.train.diverged(r.steps, g.Loss); err != nil {
			before := r.steps
			if i == 0 {
				before--
			}
			return stats, r.broken(err, before)
		}
		if !skip {
			r.Opt.Step(r.Net, r.WS)
		}
		if r.Mean != nil {
			r.Mean.follow(r.Net)
		}
		if m, looks := r.Step.(looking); looks && !skip {
			if err := m.stepped(r); err != nil {
				return stats, fmt.Errorf("learner: step %d: %w", r.steps, err)
			}
		}
	}
	if r.Seen != nil {
		r.Seen.add(b.Y)
	}
	if r.Memory == nil {
		return stats, nil
	}
	numbers, err := r.carried(b.Len())
	if err != nil {
		return stats, err
	}
	if r.slots, err = r.Update.Update(r.slots[:0], r.Memory, b, r.updateEnv); err != nil {
		return stats, fmt.Errorf("learner: step %d: memory update: %w", r.steps, err)
	}
	if err := checkUpdated(r.slots, b.Len(), r.Memory.Len(), r.Memory.Cap()); err != nil {
		return stats, fmt.Errorf("learner: step %d: %T.Update %w", r.steps, r.Update, err)
	}
	r.Memory.PutWith(b, r.slots, numbers)
	return stats, nil
}

// looking steppers look at the network after each step of the optimiser.
type looking interface{ stepped(r *Replay) error }

// Draw is line 3, B_M ← Retrieve(B_n, M): a pass of copies of the samples that Retrieve chooses, with their slots and
// what these carry. It has no rows if nothing is stored, or nothing is retrieved. Each call draws anew, first from the
// source "memory/retrieve" (as Retrieve does), and then, if Augment is set, from "replay/augment": three numbers for
// each row, in their order. Retrieve sees B_n as it arrived.
//
// The pass holds until Gradient returns, also where it draws again.
func (r *Replay) Draw() (Pass, error) {
	if r.Memory == nil || r.Memory.Len() == 0 {
		return Pass{Role: loss.Replayed}, nil
	}
	if r.drawn == len(r.draws) {
		r.draws = append(r.draws, &memory.Buffer{})
	}
	dst := r.draws[r.drawn]
	r.drawn++
	var err error
	if dst.Slots, err = r.Retrieve.Retrieve(dst.Slots[:0], r.Memory, r.incoming, r.retrieveEnv); err != nil {
		return Pass{}, fmt.Errorf("memory retrieval: %w", err)
	}
	if err := checkRetrieved(dst.Slots, r.Memory.Len()); err != nil {
		return Pass{}, fmt.Errorf("%T.Retrieve %w", r.Retrieve, err)
	}
	dst.Gather(r.Memory, dst.Slots)
	r.augment.apply(&dst.X)
	return gathered(dst), nil
}

// checkRetrieved says whether a retriever chose slots of a memory with so many filled ones.
func checkRetrieved(slots []int, filled int) error {
	if len(slots) > filled {
		return fmt.Errorf("returned %d slots, but %d are filled. Return none twice", len(slots), filled)
	}
	for _, slot := range slots {
		if slot < 0 || slot >= filled {
			return fmt.Errorf("returned the slot %d. Return slots from 0 to %d", slot, filled-1)
		}
	}
	return nil
}

// checkUpdated says whether an updater gave each of so many rows a slot that a memory with so many filled ones has.
func checkUpdated(slots []int, rows, filled, capacity int) error {
	if len(slots) != rows {
		return fmt.Errorf("returned %d slots for %d rows. Append one for each row, -1 to drop it", len(slots), rows)
	}
	for i, slot := range slots {
		switch {
		case slot == filled && slot < capacity:
			filled++
		case slot < -1 || slot >= filled:
			return fmt.Errorf("returned the slot %d for row %d. Return -1, or a slot from 0 to %d", slot, i,
				min(filled, capacity-1))
		}
	}
	return nil
}

// Watch implements [ocl.Watched]: the [Review] is long work, and there is no other.
func (r *Replay) Watch(f func(done, total int)) {
	if r.Review != nil {
		r.Review.watch = f
	}
}

// Predict implements [ocl.Learner]: the class of the largest logit, batch norm by its running statistics. Any number of
// rows may be predicted at once.
func (r *Replay) Predict(dst []ocl.Label, x *tensor.Tensor) error {
	if err := checkRoom(dst, x); err != nil || len(dst) == 0 {
		return err
	}
	return r.Decide(dst, nn.Outputs{Logits: r.predicting().Predict(r.WS, x).Logits})
}

// predicting is the network that predicts.
func (r *Replay) predicting() *nn.Network {
	if r.Mean != nil {
		return r.Mean.predicting(r.Net)
	}
	return r.Net
}

// Decide implements [Open]: the class of the largest logit. It is an error if no output of the network belongs to a
// class.
func (r *Replay) Decide(dst []ocl.Label, o nn.Outputs) error {
	if head := r.Net.Info().Head; !head.PerClass() {
		return fmt.Errorf("learner: no output of a %s head is that of a class, so a Replay cannot predict by it. Use learner.Nearest",
			head.Kind)
	}
	return r.broken(largest(dst, o.Logits), r.steps)
}

// broken adds to an error that wraps ErrDiverged which step left parameters that are not finite, if a stepper of
// somebody else made it. The loss of such a step may be finite: it is the next one, or a prediction, that finds them.
func (r *Replay) broken(err error, step int64) error {
	if !errors.Is(err, ocl.ErrDiverged) || r.Step == nil || isOurs(r.Step) ||
		!slices.ContainsFunc(r.Net.Params(), func(v float32) bool { return v-v != 0 }) {
		return err
	}
	return fmt.Errorf("%w. %T left parameters that are not finite in step %d. If a smaller rate does not help, correct what it adds to Net.Grads",
		err, r.Step, step)
}

// SaveState implements [ocl.State].
func (r *Replay) SaveState(e *checkpoint.Encoder) error { return r.parts().SaveState(e) }

// LoadState implements [ocl.State].
func (r *Replay) LoadState(d *checkpoint.Decoder) error {
	r.meter = meter{}
	return r.parts().LoadState(d)
}

// parts is the state: the number of batches observed, the network, the optimiser, what is known of the tasks, the
// memory, the sources of random numbers, and the state of the updater.
func (r *Replay) parts() checkpoint.Parts {
	r.prepare()
	parts := checkpoint.Parts{checkpoint.Values("steps", &r.steps), checkpoint.Sub("net", r.Net),
		optimiserPart(r.Opt, r.Net)}
	if r.bound() != "" { // with steps it has surely begun a task, so the section is needed only before the first step
		early := r.boundaries.begun && r.steps == 0
		parts = append(parts, checkpoint.Either(&early, "told", checkpoint.Parts{checkpoint.Values("told", &early)}, nil),
			checkpoint.Then(func() error {
				r.boundaries = boundaries{begun: early || r.steps > 0}
				return nil
			}))
	}
	if r.Classes != nil {
		parts = append(parts, checkpoint.Sub("classes", r.Classes.parts(r.Net.Info().Capacity)))
	}
	if r.Teacher != nil {
		parts = append(parts, checkpoint.Sub("teacher", r.Teacher.parts(r.Net)))
	}
	if r.Review != nil {
		parts = append(parts, checkpoint.Sub("review", r.Review.parts()))
	}
	if r.Seen != nil {
		parts = append(parts, checkpoint.Sub("seen", r.Seen.parts(r.Net)))
	}
	if r.Recent != nil {
		parts = append(parts, checkpoint.Sub("recent", r.Recent.parts(r.Net.Info().Capacity)))
	}
	if r.Mean != nil {
		parts = append(parts, checkpoint.Sub("mean", r.Mean.parts(r.Net)))
	}
	parts = append(parts, checkpoint.Inline(r.augment.parts()), checkpoint.Inline(r.namedParts()))
	if r.Memory != nil {
		parts = append(parts, r.memoryParts()...)
	}
	if _, around := r.Step.(ocl.Learner); !around { // a learner around r, as EWC is, saves itself
		parts = appendState(parts, "step", r.Step)
	}
	return appendState(parts, "criterion", r.Criterion)
}

// memoryParts is the state of the memory and of the rules that fill and read it.
func (r *Replay) memoryParts() checkpoint.Parts {
	parts := checkpoint.Parts{memoryPart(r.Memory, r.Net)}
	if r.Review != nil {
		parts = append(parts, checkpoint.Then(r.Review.fits))
	}
	parts = append(parts, checkpoint.Binary("rng/retrieve", r.retrieveEnv.Rand),
		checkpoint.Binary("rng/update", r.updateEnv.Rand))
	return appendState(appendState(parts, "update", r.Update), "retrieve", r.Retrieve)
}

// appendState appends the state of a part of a learner below a name, if it has one.
func appendState(parts checkpoint.Parts, name string, of any) checkpoint.Parts {
	if s, ok := of.(ocl.State); ok {
		parts = append(parts, checkpoint.Sub(name, s))
	}
	return parts
}
