package learner

import (
	"context"
	"fmt"
	"math"

	"ocl"
	"ocl/checkpoint"
	"ocl/internal/rng"
	"ocl/loss"
	"ocl/memory"
	"ocl/nn"
	"ocl/optim"
	"ocl/tensor"
)

// Replay is the generic online memory-based learner (survey §methods, alg:algo_er) with its open lines as fields:
//
//	repeat Iterations times
//	  B_M ← Retrieve(B_n, M)         line 3
//	  θ ← Step(B_n ∪ B_M, θ)         line 4
//	M ← Update(B_n, M)               line 5, once a batch
//
// A nil field is the choice of ER, experience replay. Without memory Replay is Finetune. Rows of the current task are
// replayed too, from the first step with a stored sample on. It draws from the sources "memory/retrieve" and
// "memory/update" of Seed. Net, WS and Opt belong to the learner. Set the fields before the first call.
type Replay struct {
	Net        *nn.Network
	WS         *nn.Workspace
	Opt        optim.Optimizer
	Memory     *memory.Store    // M; nil is none
	Retrieve   memory.Retriever // nil is memory.Random{Size: DefaultReplayBatch}
	Step       Stepper          // nil is Summed
	Update     memory.Updater   // nil is memory.Reservoir
	Criterion  loss.Criterion   // nil is loss.CrossEntropy
	Iterations int              // steps on each incoming batch; 0 is 1
	Seed       uint64

	retrieveEnv, updateEnv memory.Env
	steps                  int64 // batches observed
	slots                  []int
	replayed, joined       batch
	dlogits                tensor.Tensor
}

// DefaultReplayBatch is the size of B_M where nothing else is said: the survey's 10 (§exp_setup).
const DefaultReplayBatch = 10

var (
	_ ocl.Learner        = (*Replay)(nil)
	_ ocl.MemoryReporter = (*Replay)(nil)
)

// prepare fills the fields that were left to ER's choice.
func (r *Replay) prepare() {
	if r.retrieveEnv.Rand != nil {
		return
	}
	r.retrieveEnv.Rand = rng.New(r.Seed, "memory/retrieve")
	r.updateEnv.Rand = rng.New(r.Seed, "memory/update")
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
}

// Observe implements [ocl.Learner]. It looks at ctx once, before it changes anything, so that a batch is learned wholly
// or not at all; a step takes milliseconds. Loss is the mean over the iterations and Replay counts the rows of all of
// them. After an error the learner must not be used further.
func (r *Replay) Observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	stats := ocl.StepStats{Samples: b.Len()}
	if err := ctx.Err(); err != nil || b.Len() == 0 {
		return stats, err
	}
	r.prepare()
	r.steps++
	for i := range r.Iterations {
		g, err := r.Step.Gradient(r, b)
		if err != nil {
			return stats, fmt.Errorf("learner: step %d: %w", r.steps, err)
		}
		if i == 0 {
			stats.Correct = g.Correct
		}
		stats.Loss += g.Loss / float64(r.Iterations)
		stats.Replay += g.Replay
		if math.IsNaN(g.Loss) || math.IsInf(g.Loss, 0) {
			return stats, fmt.Errorf("%w: %v at step %d; use a smaller learning rate", ocl.ErrDiverged, g.Loss, r.steps)
		}
		r.Opt.Step(r.Net)
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

// Predict implements [ocl.Learner]: the class of the largest logit, batch norm by its running statistics. Any number of
// rows may be predicted at once.
func (r *Replay) Predict(dst []ocl.Label, x *tensor.Tensor) error {
	if len(dst) != x.Dim(0) {
		return fmt.Errorf("learner: predict: room for %d labels, want one for each of %d images", len(dst), x.Dim(0))
	}
	if len(dst) == 0 {
		return nil
	}
	logits := r.Net.Predict(r.WS, x)
	for i := range dst {
		dst[i] = argmax(logits.Row(i))
	}
	return nil
}

// retrieve is line 3: the replay batch in the learner's buffer, or an empty one.
func (r *Replay) retrieve(b ocl.Batch) (ocl.Batch, error) {
	if r.Memory == nil || r.Memory.Len() == 0 {
		return ocl.Batch{}, nil
	}
	var err error
	if r.slots, err = r.Retrieve.Retrieve(r.slots[:0], r.Memory, b, r.retrieveEnv); err != nil {
		return ocl.Batch{}, fmt.Errorf("memory retrieval: %w", err)
	}
	c, h, w := r.Net.Input()
	r.replayed.resize(len(r.slots), c, h, w)
	r.Memory.Gather(&r.replayed.x, r.replayed.y, r.slots)
	return ocl.Batch{X: &r.replayed.x, Y: r.replayed.y}, nil
}

// pass runs forward and backward on one batch in training mode and adds the gradient of its mean loss to the network's.
// It counts the rows among the first few whose label the network predicted.
func (r *Replay) pass(b ocl.Batch, few int) (mean float64, correct int, err error) {
	logits := r.Net.Forward(r.WS, b.X, nn.Train)
	for i, y := range b.Y[:few] {
		if argmax(logits.Row(i)) == y {
			correct++
		}
	}
	d := &r.dlogits
	d.Shape = append(d.Shape[:0], logits.Shape...)
	if cap(d.Data) < len(logits.Data) {
		d.Data = make([]float32, len(logits.Data))
	}
	d.Data = d.Data[:len(logits.Data)]
	if mean, err = r.Criterion.Eval(d, loss.Input{Logits: logits, Y: b.Y}); err != nil {
		return 0, 0, err
	}
	r.Net.Backward(r.WS, d)
	return mean, correct, nil
}

// MemoryCounts implements [ocl.MemoryReporter]; it is empty without memory.
func (r *Replay) MemoryCounts() map[ocl.Label]int {
	if r.Memory == nil {
		return nil
	}
	return r.Memory.Counts()
}

// MemoryBytes implements [ocl.MemoryReporter].
func (r *Replay) MemoryBytes() int64 {
	if r.Memory == nil {
		return 0
	}
	return r.Memory.Bytes()
}

// SaveState implements [ocl.State]: network, optimiser, memory, sources and the number of batches observed.
func (r *Replay) SaveState(e *checkpoint.Encoder) error {
	r.prepare()
	e.Int64s("steps", r.steps)
	if err := r.Net.SaveState(e.Sub("net")); err != nil {
		return err
	}
	if err := r.Opt.SaveState(e.Sub("opt")); err != nil {
		return err
	}
	if r.Memory == nil {
		return nil
	}
	if err := r.Memory.SaveState(e.Sub("memory")); err != nil {
		return err
	}
	if err := saveBinary(e, "rng/retrieve", r.retrieveEnv.Rand); err != nil {
		return err
	}
	return saveBinary(e, "rng/update", r.updateEnv.Rand)
}

// LoadState implements [ocl.State].
func (r *Replay) LoadState(d *checkpoint.Decoder) error {
	r.prepare()
	if err := d.Int64s("steps", &r.steps); err != nil {
		return err
	}
	if err := r.Net.LoadState(d.Sub("net")); err != nil {
		return err
	}
	if err := r.Opt.LoadState(d.Sub("opt")); err != nil {
		return err
	}
	if r.Memory == nil {
		return nil
	}
	if err := r.Memory.LoadState(d.Sub("memory")); err != nil {
		return err
	}
	if err := loadBinary(d, "rng/retrieve", r.retrieveEnv.Rand); err != nil {
		return err
	}
	return loadBinary(d, "rng/update", r.updateEnv.Rand)
}
