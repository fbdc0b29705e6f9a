package learner

import (
	"context"
	"fmt"

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

// GDumb is the greedy sampler and dumb learner (survey §methods). While it observes it only stores samples, by
// default so that classes are balanced. For a prediction it trains the network from scratch on the memory alone:
//
//	Observe:  M ← Greedy(B_n, M)
//	Prepare:  θ ← fresh;  Epochs times, for B ⊂ M:  θ ← θ − α·clip(∇ℓ(B))
//
// A training goes over the memory in random order, in batches of Batch samples. An incomplete last batch is left out,
// unless it is the only one. The draws of a training come from sources of Seed whose names contain the number of
// samples seen ("gdumb/order/5000", "gdumb/augment/5000"). So a prediction after a part of the stream does not depend
// on how often predictions were made before. The initial parameters of a network come from such a source of InitSeed
// ("gdumb/init/5000"). The update of the memory draws from "memory/update" of Seed.
//
// Net and WS belong to the learner. The parameters of Net are meaningful only between Prepare and the next Observe.
// Set the fields before the first call.
type GDumb struct {
	Net    *nn.Network
	WS     *nn.Workspace
	Opt    optim.Settings // of each training
	Memory *memory.Store
	Update memory.Updater // nil is a memory.Greedy
	Epochs int            // passes over the memory; 0 is 30
	Batch  int            // samples a step; 0 is 16
	Clip   float64        // most Euclidean norm of a step's gradient; 0 is 10
	Rate   Schedule       // learning rate of each epoch; nil is that of Opt throughout
	Crop   bool           // crop and flip the images at random
	CutMix float64        // probability that a batch is cut and mixed
	Seed   uint64

	InitSeed uint64 // of fresh networks

	env      memory.Env
	steps    int64
	trained  bool // Net is trained on the memory as it is
	watch    func(done, total int)
	slots    []int
	drawn    memory.Buffer // of a training step
	mixed    mixture
	crops    augment.CropFlip
	train    trainer
	gradient tensor.Tensor
}

// Schedule is the learning rate of each epoch of a training, counted from 0.
type Schedule func(epoch int) float64

// The survey's settings of GDumb (§app:exp_detail).
const (
	gdumbEpochs = 30
	gdumbBatch  = 16
	gdumbClip   = 10
)

var (
	_ ocl.Learner  = (*GDumb)(nil)
	_ ocl.Preparer = (*GDumb)(nil)
	_ ocl.Watched  = (*GDumb)(nil)
)

// prepare fills the fields that were left to the survey's choice.
func (g *GDumb) prepare() {
	if g.env.Rand != nil {
		return
	}
	g.env.Rand = rng.New(g.Seed, "memory/update")
	if g.Update == nil {
		g.Update = &memory.Greedy{}
	}
	if g.Epochs == 0 {
		g.Epochs = gdumbEpochs
	}
	if g.Batch == 0 {
		g.Batch = gdumbBatch
	}
	if g.Clip == 0 {
		g.Clip = gdumbClip
	}
	g.train = trainer{net: g.Net, ws: g.WS, criterion: (*mixedEntropy)(g)}
}

// Observe implements [ocl.Learner]: it stores, and learns nothing. Loss is 0 and Correct -1. It looks at ctx once,
// before it changes anything.
func (g *GDumb) Observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	stats := ocl.StepStats{Samples: b.Len(), Correct: -1}
	if err := ctx.Err(); err != nil || b.Len() == 0 {
		return stats, err
	}
	g.prepare()
	g.steps++
	err := checkClasses(b, g.Net.Info().Classes)
	if err != nil {
		return stats, fmt.Errorf("learner: gdumb: step %d: %w", g.steps, err)
	}
	if g.slots, err = g.Update.Update(g.slots[:0], g.Memory, b, g.env); err != nil {
		return stats, fmt.Errorf("learner: gdumb: step %d: memory update: %w", g.steps, err)
	}
	g.Memory.Put(b, g.slots)
	g.trained = false
	return stats, nil
}

// Watch implements [ocl.Watched].
func (g *GDumb) Watch(f func(done, total int)) { g.watch = f }

// Prepare implements [ocl.Preparer]: it trains the network from scratch, unless that was done since the last batch. It
// looks at ctx before each step and returns an error that wraps its error; the training then starts again next time. A
// loss that is not a finite number is reported as ErrDiverged.
func (g *GDumb) Prepare(ctx context.Context) error {
	g.prepare()
	if g.trained {
		return nil
	}
	stored := g.Memory.Len()
	if stored == 0 {
		return fmt.Errorf("learner: gdumb: nothing is stored, so there is nothing to train on. Observe a batch before a prediction")
	}
	source := func(seed uint64, use string) *rng.Source {
		return rng.New(seed, fmt.Sprintf("gdumb/%s/%d", use, g.Memory.Seen()))
	}
	order, augment := source(g.Seed, "order"), source(g.Seed, "augment")
	g.Net.Init(source(g.InitSeed, "init"))
	opt := g.Opt.New()
	slots := make([]int, stored)
	for i := range slots {
		slots[i] = i
	}
	size := min(g.Batch, stored)
	steps := stored / size
	for epoch := range g.Epochs {
		if g.Rate != nil {
			opt.SetLR(g.Rate(epoch))
		}
		order.Shuffle(stored, func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
		for i := range steps {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("learner: gdumb: training, epoch %d: %w", epoch+1, err)
			}
			if err := g.step(opt, slots[i*size:(i+1)*size], augment); err != nil {
				return fmt.Errorf("learner: gdumb: training, epoch %d, step %d: %w", epoch+1, i+1, err)
			}
			if g.watch != nil {
				g.watch(epoch*steps+i+1, g.Epochs*steps)
			}
		}
	}
	g.trained = true
	return nil
}

// step is one step of a training, on the samples in slots.
func (g *GDumb) step(opt optim.Optimizer, slots []int, src *rng.Source) error {
	g.drawn.Gather(g.Memory, slots)
	if g.Crop {
		g.crops.Apply(&g.drawn.X, src)
	}
	g.mixed.share = 1
	if g.CutMix > 0 && src.Float64() < g.CutMix {
		g.mixed.cut(&g.drawn, src)
	}
	g.Net.ZeroGrads()
	s, err := g.train.accumulate(nil, gathered(&g.drawn))
	if err != nil {
		return err
	}
	if err := diverged(s.Loss); err != nil {
		return err
	}
	optim.ClipNorm(g.Net, g.WS, g.Clip)
	opt.Step(g.Net, g.WS)
	return nil
}

// mixedEntropy is the mean cross entropy of a training step; of a mixed batch, that of both labels by their share of
// the image.
type mixedEntropy GDumb

// Eval implements [loss.Criterion].
func (g *mixedEntropy) Eval(d *tensor.Tensor, in loss.Input) (float64, error) {
	mean, err := loss.CrossEntropy{}.Eval(d, in)
	if err != nil || g.mixed.share == 1 {
		return mean, err
	}
	g.gradient.Resize(d.Shape...)
	in.Y = g.mixed.y
	other, err := loss.CrossEntropy{}.Eval(&g.gradient, in)
	if err != nil {
		return 0, err
	}
	share := g.mixed.share
	for i, v := range g.gradient.Data {
		d.Data[i] = float32(float64(share*float64(d.Data[i])) + float64((1-share)*float64(v)))
	}
	return float64(share*mean) + float64((1-share)*other), nil
}

// Predict implements [ocl.Learner]: the class of the largest logit of the network that Prepare trained.
func (g *GDumb) Predict(dst []ocl.Label, x *tensor.Tensor) error {
	if err := checkRoom(dst, x); err != nil || len(dst) == 0 {
		return err
	}
	return g.Decide(dst, nn.Outputs{Logits: g.Net.Predict(g.WS, x).Logits})
}

// Decide implements [Open].
func (g *GDumb) Decide(dst []ocl.Label, o nn.Outputs) error {
	if !g.trained {
		return fmt.Errorf("learner: gdumb: no network is trained on the present memory. Call Prepare after the last batch")
	}
	return largest(dst, o.Logits)
}

// SaveState implements [ocl.State].
func (g *GDumb) SaveState(e *checkpoint.Encoder) error { return g.parts().SaveState(e) }

// LoadState implements [ocl.State].
func (g *GDumb) LoadState(d *checkpoint.Decoder) error { return g.parts().LoadState(d) }

// parts is the state: memory, source, and the network while it is trained on that memory, or else what is frozen of it,
// as that was not drawn here.
func (g *GDumb) parts() checkpoint.Parts {
	g.prepare()
	return checkpoint.Parts{
		checkpoint.Values("steps", &g.steps),
		memoryPart(g.Memory, g.Net),
		checkpoint.Binary("rng/update", g.env.Rand),
		checkpoint.Either(&g.trained, "net/params", checkpoint.Parts{checkpoint.Sub("net", g.Net)}, frozenParts(g.Net)),
	}
}

// frozenParts is the state of the frozen stages alone, of a network that is drawn anew but for them; nil where none is
// frozen.
func frozenParts(net *nn.Network) checkpoint.Parts {
	f := net.Info().Frozen
	if f.Stages == 0 {
		return nil
	}
	return checkpoint.Parts{
		checkpoint.Numbers("frozen/params", net.Params()[:f.Params]),
		checkpoint.Numbers("frozen/running", net.Running()[:f.Running]),
		checkpoint.Then(func() error { net.Changed(); return nil }),
	}
}
