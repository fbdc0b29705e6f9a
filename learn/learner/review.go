package learner

import (
	"context"
	"fmt"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/rng"
)

// Review is the review trick (survey §trick_detail): at the end of every task, the last one too, one pass over the
// whole memory in random order, in batches of Batch samples, of which the last may be smaller,
//
//	θ ← θ − α/10·∇ℓ(B)
//
// with ℓ the plain cross entropy, batch norm in training mode, and α/10 for gradient and weight decay alike. It draws
// from the source "review" of the learner's seed. An empty memory changes nothing.
type Review struct {
	Batch int // 0 is DefaultReplayBatch

	train  trainer
	opt    optim.Optimizer
	memory *memory.Store
	shown  *augmentation
	column func(y ocl.Label) ocl.Label // output of a class; nil is the class itself

	watch func(done, total int) // may be nil
	rand  *rng.Source
	left  []int32 // slots to review before the task has ended
	begun bool    // the review of this task's end has begun, and left is what remains of it
	drawn memory.Buffer
}

// reviewSlowdown is the learning rate of training divided by that of a review.
const reviewSlowdown = 10

// belong gives the review the parts of its learner.
func (v *Review) belong(net *nn.Network, ws *nn.Workspace, opt optim.Optimizer, m *memory.Store, shown *augmentation,
	seed uint64) {
	v.train = trainer{net: net, ws: ws, criterion: loss.CrossEntropy{}}
	v.opt, v.memory, v.shown = opt, m, shown
	v.rand = rng.New(seed, "review")
	if v.Batch == 0 {
		v.Batch = DefaultReplayBatch
	}
}

// run reviews the memory. It checks ctx before each step and returns an error that wraps its error; if it is called
// again it continues with the samples that are left. A loss that is not a finite number is reported as ErrDiverged.
func (v *Review) run(ctx context.Context) error {
	if !v.begun {
		v.left = v.left[:0]
		for slot := range v.memory.Len() {
			v.left = append(v.left, int32(slot))
		}
		v.rand.Shuffle(len(v.left), func(i, j int) { v.left[i], v.left[j] = v.left[j], v.left[i] })
		v.begun = true
	}
	rate := v.opt.LR()
	v.opt.SetLR(rate / reviewSlowdown)
	defer v.opt.SetLR(rate)
	for len(v.left) > 0 {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("learner: review: %d of %d samples are left: %w", len(v.left), v.memory.Len(), err)
		}
		n := min(v.Batch, len(v.left))
		if err := v.step(v.left[:n]); err != nil {
			return err
		}
		v.left = v.left[n:]
		if v.watch != nil {
			steps := func(samples int) int { return (samples + v.Batch - 1) / v.Batch }
			total := steps(v.memory.Len())
			v.watch(total-steps(len(v.left)), total)
		}
	}
	v.begun = false
	return nil
}

// step is one step, on the samples in slots.
func (v *Review) step(slots []int32) error {
	v.drawn.Slots = v.drawn.Slots[:0]
	for _, slot := range slots {
		v.drawn.Slots = append(v.drawn.Slots, int(slot))
	}
	v.drawn.Gather(v.memory, v.drawn.Slots)
	v.shown.apply(&v.drawn.X)
	if v.column != nil {
		for i, y := range v.drawn.Y {
			v.drawn.Y[i] = v.column(y)
		}
	}
	v.train.net.ZeroGrads()
	s, err := v.train.accumulate(nil, gathered(&v.drawn))
	if err != nil {
		return fmt.Errorf("learner: review: %w", err)
	}
	if err := diverged(s.Loss); err != nil {
		return fmt.Errorf("learner: review at the task's end: %w", err)
	}
	v.opt.Step(v.train.net, v.train.ws)
	return nil
}

// fits checks the slots that are left against the memory, once that is loaded.
func (v *Review) fits() error { return checkSlots(v.memory, v.left) }

func (v *Review) parts() checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.Values("begun", &v.begun),
		checkpoint.Int32List("left", &v.left),
		checkpoint.Binary("rng", v.rand),
	}
}
