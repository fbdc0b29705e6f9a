package learner

import (
	"context"
	"fmt"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/rng"
)

// ICaRL is iCaRL with reservoir sampling (survey §methods, par: iCaRL). Output k of the network belongs to the k-th
// class that appeared. With σ the sigmoid, f_k the outputs, f' the outputs of the [Teacher] and C_t the classes of
// the current task, a step follows the gradient of
//
//	1/|B| Σ_{x∈B} Σ_{k seen} BCE(f_k(x), t_k(x)),   t_k(x) = [y = k] for k in C_t, σ(f'_k(x)) otherwise
//
// over B = B_n ∪ B_M in one pass with common batch statistics. B_M is drawn at random from the slots that were filled
// when the task began and were not overwritten since. So in a class-incremental stream the old classes are trained on
// the teacher alone. If classes return (domain-incremental), replayed rows of the task's classes are trained on their
// labels too. In the first task there is no teacher, and nothing is replayed. ICaRL predicts by [NCM], whose means
// [ICaRL.Prepare] computes.
//
// It draws from the sources "memory/retrieve" and "memory/update" of Seed, and with Augment from "replay/augment". Net,
// WS and Opt belong to the learner. Set the fields before the first call.
type ICaRL struct {
	Net         *nn.Network
	WS          *nn.Workspace
	Opt         optim.Optimizer
	Memory      *memory.Store
	ReplayBatch int  // rows of B_M; all where fewer slots may be replayed
	Augment     bool // crop and flip what is learned, at each draw, as [Replay] does
	Seed        uint64
	Teacher     Teacher
	// of the memory, at each task's end, by a softmax over the outputs of the classes seen; nil means none
	Review *Review

	meter            meter
	boundaries       boundaries
	augment          augmentation
	retrieve, update memory.Env
	steps            int64
	order            []ocl.Label // by output: the classes in the order in which they appeared
	column           []int       // by class: its output, -1 before it appeared
	current          []ocl.Label // classes of the task, rising
	outputs          []ocl.Label // 0, 1, …
	earlier          []int       // slots that hold samples of earlier tasks, rising
	ncm              NCM

	slots   []int         // that store chose
	drawn   memory.Buffer // B_M
	both    memory.Buffer // B_n, then B_M
	targets tensor.Tensor // t [B, classes seen]
	train   trainer
	correct int
}

var (
	_ ocl.Learner   = (*ICaRL)(nil)
	_ ocl.Extending = (*ICaRL)(nil)
	_ ocl.Preparer  = (*ICaRL)(nil)
	_ ocl.Watched   = (*ICaRL)(nil)
)

func (l *ICaRL) prepare() {
	if l.column != nil {
		return
	}
	l.retrieve.Rand, l.update.Rand = rng.New(l.Seed, "memory/retrieve"), rng.New(l.Seed, "memory/update")
	l.column = make([]int, l.Net.Info().Capacity)
	for y := range l.column {
		l.column[y] = -1
	}
	l.Teacher.ws = l.WS.Beside()
	l.train = trainer{net: l.Net, ws: l.WS, criterion: (*distilledOutputs)(l), teacher: &l.Teacher}
	if l.Augment {
		l.augment.begin(l.Seed, nil)
	}
	if l.Review != nil {
		l.Review.belong(l.Net, l.WS, l.Opt, l.Memory, &l.augment, l.Seed)
		l.Review.column = func(y ocl.Label) ocl.Label { return ocl.Label(l.column[y]) }
		l.Review.train.criterion, l.Review.train.classes = loss.Separated{}, &Classes{}
		for k := range l.column {
			l.outputs = append(l.outputs, ocl.Label(k))
		}
	}
}

// BeginTask implements [ocl.TaskAware]. New classes get the next outputs, in the order of the task's list.
func (l *ICaRL) BeginTask(task ocl.TaskInfo) error {
	l.prepare()
	if err := l.boundaries.begin("iCaRL", task); err != nil {
		return err
	}
	l.current = l.current[:0]
	if err := l.extend(task.Classes); err != nil {
		return fmt.Errorf("learner: icarl: task %d: %w", task.Index+1, err)
	}
	l.earlier = l.earlier[:0]
	for slot := range l.Memory.Len() {
		l.earlier = append(l.earlier, slot)
	}
	return nil
}

// ExtendTask implements [ocl.Extending]. New classes get the next outputs, in the order of the list.
func (l *ICaRL) ExtendTask(classes []ocl.Label) error {
	if err := l.extend(classes); err != nil {
		return fmt.Errorf("learner: icarl: further classes of the task: %w", err)
	}
	return nil
}

// extend adds classes to those of the task.
func (l *ICaRL) extend(classes []ocl.Label) error {
	for _, y := range classes {
		if y < 0 || int(y) >= len(l.column) {
			return fmt.Errorf("there is class %d, but classes must be in [0, %d). Use a network with an output for each class",
				y, len(l.column))
		}
	}
	for _, y := range classes {
		if at, has := slices.BinarySearch(l.current, y); !has {
			l.current = slices.Insert(l.current, at, y)
		}
		if l.column[y] < 0 {
			l.column[y] = len(l.order)
			l.order = append(l.order, y)
		}
	}
	return nil
}

// isCurrent says whether a class is one of the task's.
func (l *ICaRL) isCurrent(y ocl.Label) bool {
	_, is := slices.BinarySearch(l.current, y)
	return is
}

// EndTask implements [ocl.TaskAware]. The memory is reviewed if Review is set, and then the network becomes the
// teacher. After an error that wraps the error of ctx it can be called again and continues.
func (l *ICaRL) EndTask(ctx context.Context) error {
	if l.Review != nil {
		l.ncm.Forget()
		l.Review.train.classes.current = l.outputs[:len(l.order)]
		if err := l.Review.run(ctx); err != nil {
			return err
		}
	}
	l.Teacher.copy(l.Net)
	l.boundaries.within = false
	return nil
}

// Observe implements [ocl.Learner]. It looks at ctx once, before it changes anything. Correct counts the rows of b
// whose output is the largest of the classes seen; predictions are by the class means. A label that is none of the
// current task's is an error. After an error the learner must not be used further.
func (l *ICaRL) Observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	stats := ocl.StepStats{Samples: b.Len()}
	if err := ctx.Err(); err != nil || b.Len() == 0 {
		return stats, err
	}
	l.prepare()
	defer l.meter.since(l.WS, l.WS.FLOPs())
	l.steps++
	for i, y := range b.Y {
		if !l.isCurrent(y) {
			return stats, fmt.Errorf("learner: icarl: step %d: row %d has label %d, which is not a class of the current task. "+
				"Call BeginTask with the classes of a task before its batches", l.steps, i, y)
		}
	}
	l.ncm.Forget()
	l.Net.ZeroGrads()
	s, err := l.train.accumulate(nil, l.draw(b))
	if err != nil {
		return stats, fmt.Errorf("learner: icarl: step %d: %w", l.steps, err)
	}
	stats.Loss, stats.Correct, stats.Replay = s.Loss, l.correct, s.Replay
	l.train.forget()
	if err := diverged(s.Loss); err != nil {
		return stats, err
	}
	l.Opt.Step(l.Net, l.WS)
	return stats, l.store(b)
}

// draw is the pass of B_n and then B_M, as the network is shown it.
func (l *ICaRL) draw(b ocl.Batch) Pass {
	slots := l.drawn.Slots[:0]
	if l.Teacher.net != nil {
		slots = memory.Sample(slots, len(l.earlier), l.ReplayBatch, l.retrieve.Rand)
	}
	for i, k := range slots {
		slots[i] = l.earlier[k]
	}
	l.drawn.Gather(l.Memory, slots)
	pass := Join(&l.both, Pass{Batch: b, Role: loss.Incoming}, gathered(&l.drawn))
	l.augment.apply(pass.X)
	return pass
}

// distilledOutputs is the loss of iCaRL and its gradient.
type distilledOutputs ICaRL

// Eval implements [loss.Criterion]. It also counts the rows of B_n that are predicted correctly by the classes seen.
func (l *distilledOutputs) Eval(d *tensor.Tensor, in loss.Input) (float64, error) {
	seen := len(l.order)
	l.targets.Resize(len(in.Y), seen)
	l.correct = 0
	for i, label := range in.Y {
		t := l.targets.Row(i)
		for k, y := range l.order {
			switch {
			case !(*ICaRL)(l).isCurrent(y):
				t[k] = float32(loss.Sigmoid(float64(in.Teacher.Row(i)[k])))
			case y == label:
				t[k] = 1
			default:
				t[k] = 0
			}
		}
		if (in.Slots == nil || in.Slots[i] < 0) && int(argmax(in.Logits.Row(i)[:seen])) == l.column[label] {
			l.correct++
		}
	}
	return loss.BCE(d, in.Logits, &l.targets), nil
}

// store is MemoryUpdate. A slot that is overwritten is not replayed any more in this task.
func (l *ICaRL) store(b ocl.Batch) (err error) {
	if l.slots, err = (memory.Reservoir{}).Update(l.slots[:0], l.Memory, b, l.update); err != nil {
		return fmt.Errorf("learner: icarl: step %d: memory update: %w", l.steps, err)
	}
	l.Memory.Put(b, l.slots)
	for _, slot := range l.slots {
		if at, found := slices.BinarySearch(l.earlier, slot); found {
			l.earlier = slices.Delete(l.earlier, at, at+1)
		}
	}
	return nil
}

// Watch implements [ocl.Watched]: long work is the [Review] and the class means of Prepare.
func (l *ICaRL) Watch(f func(done, total int)) {
	l.ncm.watch = f
	if l.Review != nil {
		l.Review.watch = f
	}
}

// Prepare implements [ocl.Preparer]: it finds the class means of the memory's samples by the network as it is.
func (l *ICaRL) Prepare(ctx context.Context) error {
	if l.Memory.Len() == 0 {
		return fmt.Errorf("learner: icarl: the memory is empty, so there is no class mean to predict by. " +
			"Use a memory of at least 1, and observe a batch first")
	}
	return l.ncm.Fit(ctx, l.Net, l.WS, l.Memory)
}

// Predict implements [ocl.Learner]: the class of the nearest mean. Observing another batch makes the means stale, so
// Prepare comes before it.
func (l *ICaRL) Predict(dst []ocl.Label, x *tensor.Tensor) error {
	if err := checkRoom(dst, x); err != nil || len(dst) == 0 {
		return err
	}
	return l.Decide(dst, nn.Outputs{Features: l.Net.Predict(l.WS, x).Features})
}

// Decide implements [Open].
func (l *ICaRL) Decide(dst []ocl.Label, o nn.Outputs) error {
	if !l.ncm.Fitted() {
		return fmt.Errorf("learner: icarl: there are no class means of the present network. Call Prepare after the last batch")
	}
	return l.ncm.Classify(dst, o.Features)
}

// Order implements [Ordered].
func (l *ICaRL) Order() []ocl.Label { return slices.Clone(l.order) }

// SaveState implements [ocl.State].
func (l *ICaRL) SaveState(e *checkpoint.Encoder) error { return l.parts().SaveState(e) }

// LoadState implements [ocl.State].
func (l *ICaRL) LoadState(d *checkpoint.Decoder) error {
	l.meter, l.boundaries = meter{}, boundaries{}
	return l.parts().LoadState(d)
}

// parts lists the state: the number of batches observed, the classes, network, optimiser, memory, teacher, class means
// and random sources.
func (l *ICaRL) parts() checkpoint.Parts {
	l.prepare()
	parts := checkpoint.Parts{
		checkpoint.Values("steps", &l.steps),
		checkpoint.Int32List("classes", &l.order),
		checkpoint.Then(l.arrange),
		checkpoint.Int32List("current", &l.current),
		checkpoint.Then(func() error { return checkRising(len(l.column), l.current) }),
		checkpoint.Int32List("earlier", &l.earlier),
		checkpoint.Sub("net", l.Net), optimiserPart(l.Opt, l.Net), memoryPart(l.Memory, l.Net),
		checkpoint.Sub("teacher", l.Teacher.parts(l.Net)), checkpoint.Then(l.fits),
	}
	if l.Review != nil {
		parts = append(parts, checkpoint.Sub("review", l.Review.parts()), checkpoint.Then(l.Review.fits))
	}
	return append(parts, checkpoint.Sub("ncm", l.ncm.State(l.Net.Info().FeatureDim)),
		checkpoint.Binary("rng/retrieve", l.retrieve.Rand), checkpoint.Binary("rng/update", l.update.Rand),
		checkpoint.Inline(l.augment.parts()))
}

// arrange gives the classes their outputs, in the order in which they appeared.
func (l *ICaRL) arrange() error {
	if err := checkLabels(len(l.column), l.order...); err != nil {
		return err
	}
	for y := range l.column {
		l.column[y] = -1
	}
	for k, y := range l.order {
		if l.column[y] >= 0 {
			return fmt.Errorf("learner: icarl: the state has class %d twice, so it belongs to another configuration. Use the one it was saved with", y)
		}
		l.column[y] = k
	}
	return nil
}

// fits checks that the loaded classes, memory and teacher belong together.
func (l *ICaRL) fits() error {
	for _, y := range l.order {
		if !l.isCurrent(y) && l.Teacher.net == nil {
			return fmt.Errorf("learner: icarl: the state has class %d of an earlier task but no teacher, so it belongs to another configuration. Use the one it was saved with", y)
		}
	}
	for y := range l.Memory.Counts() {
		if l.column[y] < 0 {
			return fmt.Errorf("learner: icarl: the state stores samples of class %d, which never appeared, so it belongs to another configuration. Use the one it was saved with", y)
		}
	}
	return checkSlots(l.Memory, l.earlier)
}
