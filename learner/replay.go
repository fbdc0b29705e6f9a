package learner

import (
	"context"
	"fmt"

	"ocl"
	"ocl/checkpoint"
	"ocl/loss"
	"ocl/memory"
	"ocl/nn"
	"ocl/optim"
	"ocl/rng"
	"ocl/tensor"
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

	owner                  string // of the Replay, if it needs the boundaries of tasks itself
	boundaries             boundaries
	retrieveEnv, updateEnv memory.Env
	probe                  probe
	augment                augmentation
	incoming               ocl.Batch // B_n as it came, while Observe learns it
	meter                  meter
	steps                  int64 // batches observed
	slots                  []int
	replayed, joined       memory.Buffer
	passes                 []pass
	images                 []*tensor.Tensor // of the passes
	loss                   nn.LossFunc      // evaluate
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
	r.loss = r.evaluate
	if r.Augment {
		r.augment.begin(r.Seed)
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
// iterations. After an error the learner must not be used any more.
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
	r.incoming = b
	defer func() { r.incoming = ocl.Batch{} }() // it belongs to the caller
	for i := range r.Iterations {
		g, err := r.Step.Gradient(r, r.augment.of(b))
		if err != nil {
			return stats, fmt.Errorf("learner: step %d: %w", r.steps, err)
		}
		if i == 0 {
			stats.Correct = g.Correct
		}
		stats.Loss += g.Loss / float64(r.Iterations)
		stats.Replay += g.Replay
		if err := diverged(g.Loss); err != nil {
			return stats, err
		}
		r.Opt.Step(r.Net, r.WS)
	}
	if r.Memory == nil {
		return stats, nil
	}
	var err error
	if r.slots, err = r.Update.Update(r.slots[:0], r.Memory, b, r.updateEnv); err != nil {
		return stats, fmt.Errorf("learner: step %d: memory update: %w", r.steps, err)
	}
	r.Memory.Put(b, r.slots)
	return stats, nil
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
	return r.Decide(dst, nn.Outputs{Logits: r.Net.Predict(r.WS, x)})
}

// Decide implements [Open]: the class of the largest logit.
func (r *Replay) Decide(dst []ocl.Label, o nn.Outputs) error {
	return largest(dst, o.Logits)
}

// retrieve is line 3. It returns the replay batch in a buffer of the learner, augmented if Augment is set. The batch
// is empty if nothing is stored.
func (r *Replay) retrieve() (ocl.Batch, error) {
	if r.Memory == nil || r.Memory.Len() == 0 {
		return ocl.Batch{}, nil
	}
	var err error
	if r.slots, err = r.Retrieve.Retrieve(r.slots[:0], r.Memory, r.incoming, r.retrieveEnv); err != nil {
		return ocl.Batch{}, fmt.Errorf("memory retrieval: %w", err)
	}
	b := r.replayed.Gather(r.Memory, r.slots)
	r.augment.apply(b.X)
	return b, nil
}

// pass is a batch that goes through the network separately, and its results.
type pass struct {
	ocl.Batch
	criterion loss.Criterion // instead of the learner's, and without its teacher; nil is the learner's
	count     int            // the first rows, whose right predictions are counted
	mean      float64
	correct   int
}

// accumulate runs the passes in training mode and adds the gradients of their mean losses to the network's gradients.
// It returns the sum of the mean losses, and how many of the counted rows were predicted correctly.
func (r *Replay) accumulate() (sum float64, correct int, err error) {
	return r.finish(r.Net.Accumulate(r.WS, r.batches(), r.loss))
}

// accumulateApart is accumulate, but the gradient of pass i > 0 goes to parts[i-1] [P].
func (r *Replay) accumulateApart(parts [][]float32) (sum float64, correct int, err error) {
	return r.finish(r.Net.AccumulateApart(r.WS, r.batches(), parts, r.loss))
}

// batches returns the images of the passes. If there is a teacher, it computes its answers first.
func (r *Replay) batches() []*tensor.Tensor {
	r.images = r.images[:0]
	for i := range r.passes {
		r.images = append(r.images, r.passes[i].X)
	}
	if r.Teacher != nil {
		r.Teacher.teach(r.Net, r.images)
	}
	return r.images
}

// finish sums up the passes, unless they ended in an error.
func (r *Replay) finish(err error) (float64, int, error) {
	if err != nil {
		return 0, 0, err
	}
	sum, correct := 0.0, 0
	for i := range r.passes {
		sum += r.passes[i].mean
		correct += r.passes[i].correct
	}
	clear(r.passes) // batches belong to the caller
	clear(r.images)
	return sum, correct, nil
}

// evaluate is the loss of pass i; passes may be evaluated at the same time.
func (r *Replay) evaluate(i int, logits, d *tensor.Tensor) (err error) {
	p := &r.passes[i]
	for row, y := range p.Y[:p.count] {
		if argmax(logits.Row(row)) == y {
			p.correct++
		}
	}
	in := loss.Input{Logits: logits, Y: p.Y}
	if r.Classes != nil {
		in.Old, in.New, in.Share = r.Classes.old, r.Classes.current, r.Classes.share()
	}
	criterion := r.Criterion
	switch {
	case p.criterion != nil:
		criterion = p.criterion
	case r.Teacher != nil:
		in.Teacher = r.Teacher.target(i)
	}
	p.mean, err = criterion.Eval(d, in)
	return err
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
	parts := checkpoint.Parts{checkpoint.Values("steps", &r.steps), checkpoint.Sub("net", r.Net), optimiserPart(r.Opt, r.Net)}
	if r.bound() != "" { // with steps it has surely begun a task, so the section is needed only before the first step
		early := r.boundaries.begun && r.steps == 0
		parts = append(parts, checkpoint.Either(&early, "told", checkpoint.Parts{checkpoint.Values("told", &early)}, nil),
			checkpoint.Then(func() error {
				r.boundaries = boundaries{begun: early || r.steps > 0}
				return nil
			}))
	}
	if r.Classes != nil {
		parts = append(parts, checkpoint.Sub("classes", r.Classes.parts(r.Net.Capacity())))
	}
	if r.Teacher != nil {
		parts = append(parts, checkpoint.Sub("teacher", r.Teacher.parts(r.Net)))
	}
	if r.Review != nil {
		parts = append(parts, checkpoint.Sub("review", r.Review.parts()))
	}
	parts = append(parts, checkpoint.Inline(r.augment.parts()))
	if r.Memory == nil {
		return parts
	}
	parts = append(parts, memoryPart(r.Memory, r.Net))
	if r.Review != nil {
		parts = append(parts, checkpoint.Then(r.Review.fits))
	}
	parts = append(parts, checkpoint.Binary("rng/retrieve", r.retrieveEnv.Rand), checkpoint.Binary("rng/update", r.updateEnv.Rand))
	if s, ok := r.Update.(ocl.State); ok {
		parts = append(parts, checkpoint.Sub("update", s))
	}
	return parts
}
