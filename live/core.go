package live

import (
	"context"
	"fmt"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
	"ocl/internal/count"
	"ocl/internal/limit"
	"ocl/learn/calibrate"
	"ocl/learn/learner"
	"ocl/nn"
	"ocl/run/build"
	"ocl/run/train"
)

// core is a learner with its network, and what it knows of tasks and classes. One goroutine uses it at a time.
type core struct {
	config  config.Config
	inputs  inputs
	stream  ocl.StreamInfo // shape of what it takes, pixel values, and in Classes how many outputs the head has
	process Process        // of which it uses how many goroutines learn, and with what priority

	net     *nn.Network
	ws      *nn.Workspace
	learner ocl.Learner
	latents *learner.Latents       // makes what it observes of images; nil: it observes them as they are
	tested  *calibrate.Calibration // of a network, by images that it has not learned; nil where there were none
	// class means that a classifier of the config predicts by; nil where the learner's own rule decides
	ncm *learner.NCM

	classes int         // the active outputs
	task    bool        // a task has begun and not ended
	current []ocl.Label // its classes, rising
	tasks   int         // that have ended
	batches int64
	images  int64
}

// newCore makes the learner of a config for such images. With inherited > 0 it can load the state of one with so many
// outputs.
func newCore(c config.Config, of inputs, capacity, inherited int, p Process) (*core, error) {
	k := &core{config: c, process: p, inputs: of, stream: of.stream(c, capacity)}
	if err := checkMethod(c); err != nil {
		return nil, err
	}
	var err error
	if k.net, err = build.NewNetwork(k.stream, c, inherited); err != nil {
		return nil, inFields(err)
	}
	k.ws = nn.NewNiceWorkspace(k.net, p.Workers, p.Nice)
	err = train.Caught(func() (err error) {
		if k.learner, err = build.NewLearner(k.net, k.ws, k.stream, c); err != nil {
			return err
		}
		return checkLearner(c, k.learner, k.net)
	})
	if err != nil {
		k.ws.Close()
		return nil, err
	}
	k.latents = build.Latents(k.net, k.ws, c)
	if byMeans(c) {
		k.ncm = &learner.NCM{}
	}
	return k, nil
}

// outline is the network that newCore would make, without its parameters.
func outline(c config.Config, of inputs, capacity int) (net *nn.Network, err error) {
	err = train.Caught(func() (err error) { // for Learn, which asks for it too
		net, err = build.Outline(of.stream(c, capacity), c)
		return err
	})
	return net, inFields(err)
}

// parts are the network, the memory and the rule of the learner, which checkLearner has seen.
func (k *core) parts() learner.Parts { return k.learner.(learner.Open).Parts() }

// means are the class means that it predicts by; nil where it predicts by logits.
func (k *core) means() *learner.NCM {
	if k.ncm != nil {
		return k.ncm
	}
	return k.parts().Means
}

// observe learns a batch, whose classes may be new ones.
func (k *core) observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	k.activate(max(k.classes, int(slices.Max(b.Y))+1))
	if err := k.tell(b.Y); err != nil {
		return ocl.StepStats{}, err
	}
	b, err := k.latents.Of(b)
	if err != nil {
		return ocl.StepStats{}, err
	}
	stats, err := k.learner.Observe(ctx, b)
	if err != nil {
		return stats, err
	}
	k.batches++
	k.images += int64(b.Len())
	return stats, nil
}

// activate makes the first classes outputs of the head active.
func (k *core) activate(classes int) {
	if classes != k.classes {
		k.classes = classes
		k.net.SetActive(classes)
	}
}

// tell tells a learner that uses boundaries of a task that begins with these labels, or of further classes of the task.
func (k *core) tell(labels []ocl.Label) error {
	aware, ok := k.learner.(ocl.Extending)
	if !ok {
		return nil
	}
	var further []ocl.Label
	for _, y := range labels {
		if !k.task || !slices.Contains(k.current, y) {
			further = append(further, y)
		}
	}
	slices.Sort(further)
	further = slices.Compact(further)
	if k.task {
		if len(further) == 0 {
			return nil
		}
		k.current = append(k.current, further...)
		slices.Sort(k.current)
		return aware.ExtendTask(further)
	}
	k.task, k.current = true, further
	return aware.BeginTask(ocl.TaskInfo{Index: k.tasks, Classes: slices.Clone(further)})
}

// boundary ends the task, if one has begun.
func (k *core) boundary(ctx context.Context) error {
	aware, ok := k.learner.(ocl.TaskAware)
	if !ok || !k.task {
		return nil
	}
	if err := aware.EndTask(ctx); err != nil {
		return err
	}
	k.task, k.current = false, nil
	k.tasks++
	return nil
}

// learned says that there was a batch.
func (k *core) learned() bool { return k.batches > 0 }

// stored is the number of samples in the memory.
func (k *core) stored() int {
	if m := k.parts().Memory; m != nil {
		return m.Len()
	}
	return 0
}

// found says that class means are there that no memory can give: those of a file of weights.
func (k *core) found() bool {
	means := k.means()
	return means != nil && means.Fitted() && k.stored() == 0
}

// predicts says that there is something to predict with.
func (k *core) predicts() bool {
	if e, sums := k.learner.(learner.Sums); sums && e.Empty() {
		return false
	}
	return k.learned() && (k.means() == nil || k.stored() > 0 || k.found())
}

// prepare finds the class means for predictions, where there are any: a pass over the memory.
func (k *core) prepare(ctx context.Context) error {
	if k.found() {
		return nil
	}
	if p, ok := k.learner.(ocl.Preparer); ok {
		if err := p.Prepare(ctx); err != nil {
			return err
		}
	}
	if k.ncm == nil {
		return nil
	}
	p := k.parts()
	return k.ncm.Fit(ctx, p.Net, p.WS, p.Memory)
}

// calibration says how sure the learner may be, after prepare; nil where nobody knows.
func (k *core) calibration(ctx context.Context) (*learner.Calibration, error) {
	c, _, err := learner.CalibrationOf(ctx, k.learner)
	if c == nil && err == nil && k.tested != nil {
		c = &learner.Calibration{Calibration: k.tested}
	}
	return c, err
}

// unprepare drops what prepare has found from the state of the learner, so that a state says nothing of when
// predictions were published.
func (k *core) unprepare() {
	if k.found() {
		return
	}
	if means := k.parts().Means; means != nil {
		means.Forget()
	}
	if p, ok := k.learner.(learner.Sums); ok {
		p.Unprepare()
	}
}

// place is the place of the next image.
func (k *core) place() int64 {
	if m := k.parts().Memory; m != nil {
		return int64(m.Seen())
	}
	return k.images
}

// grown is the learner with twice the outputs, until there are as many as classes. The old one is closed.
func (k *core) grown(classes int) (*core, error) {
	capacity := k.stream.Classes
	for capacity < classes {
		capacity *= 2
	}
	state := checkpoint.NewContainer()
	if err := k.SaveState(state.Encoder()); err != nil {
		return nil, err
	}
	larger, err := newCore(k.config, k.inputs, capacity, k.stream.Classes, k.process)
	if err != nil {
		return nil, err
	}
	if err := larger.LoadState(state.Decoder()); err != nil {
		larger.close()
		return nil, err
	}
	larger.tested = k.tested
	k.close()
	return larger, nil
}

func (k *core) close() { k.ws.Close() }

// SaveState implements [ocl.State].
func (k *core) SaveState(e *checkpoint.Encoder) error {
	k.unprepare()
	return k.state().SaveState(e)
}

// LoadState implements [ocl.State].
func (k *core) LoadState(d *checkpoint.Decoder) error {
	return train.Caught(func() error { return k.state().LoadState(d) })
}

func (k *core) state() checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.Values("live/counts", &k.classes, &k.task, &k.tasks, &k.batches, &k.images),
		checkpoint.Int32List("live/task", &k.current),
		checkpoint.Then(func() error {
			bad := k.classes < 0 || k.classes > k.stream.Classes || k.tasks < 0 || k.batches < 0 || k.images < 0 ||
				k.images > limit.Seen || !slices.IsSorted(k.current)
			for _, y := range k.current {
				bad = bad || y < 0 || int(y) >= k.classes
			}
			if bad {
				return fmt.Errorf("section live says %d classes of %d outputs, %d tasks, %d batches and %d images. Use a file that ocl wrote",
					k.classes, k.stream.Classes, k.tasks, k.batches, k.images)
			}
			if k.classes > 0 {
				k.net.SetActive(k.classes)
			}
			return nil
		}),
		checkpoint.Sub("learner", k.learner),
		k.testedPart(),
	}
}

// testedPart is the calibration by images that were not learned, below the name live.
func (k *core) testedPart() checkpoint.Part {
	return checkpoint.Sub("live", checkpoint.Parts{calibrate.Parts(&k.tested)})
}

// held returns a lower bound of the memory in bytes that a learner with a head of capacity outputs holds, and the
// number of its network's parameters. The bytes are those of parameters, gradients, packed weights, the vectors of
// optimiser and method, the published copies, the maps of a batch, the stored images, and the images that wait.
func held(c config.Config, p Process, of inputs, capacity int) (bytes int64, parameters int, err error) {
	const number, published, waiting = 4, 3, 64
	net, err := outline(c, of, capacity)
	if err != nil {
		return 0, 0, err
	}
	f := net.Footprint()
	parameters = f.Params()
	info, s := build.Method(c.Methods[0]), build.Setup(c)
	s.Shape, s.Classes = of.shape(), capacity
	vectors := 2 + 2*published + info.Vectors + build.OptimizerVectors(c.Optimizer) // each network has its gradients
	if info.TaskBoundaries || s.Taught() {                                          // a teacher
		vectors += 2
	}
	vectors += 2 * s.Networks()
	rows := p.Batch
	stored := int64(0)
	if usesMemory(c) {
		stored = int64(c.Memory)
		rows += s.ReplayBatch
	}
	maps, err := f.Pass(rows)
	if err != nil {
		return 0, 0, err
	}
	total := float64(vectors)*number*float64(parameters) + (1+float64(p.AtOnce))*f.Weights() + maps +
		float64(stored)*float64(int64(build.SampleBytes(of.stream(c, capacity), net, c))+waiting+int64(info.SlotBytes(s))) +
		float64(p.Queue)*float64(of.bytes()+waiting)
	if info.Solves != nil {
		solved := info.Solves(s)
		total += 8 * float64(solved.Numbers+solved.Solving)
	}
	return int64(min(total, 1<<62)), parameters, nil
}

// checkBounds refuses a learner that would be larger than the bounds of its options.
func (p Process) checkBounds(c config.Config, of inputs, capacity int) error {
	bytes, parameters, err := held(c, p, of, capacity)
	switch {
	case err != nil:
		return err
	case p.MaxParameters > 0 && parameters > p.MaxParameters:
		return fmt.Errorf("%w: a head of %s needs a network of %s parameters, and MaxParameters is %s. Use a smaller network or capacity, or a larger bound",
			ErrBound, count.Of(capacity, "output"), count.Number(parameters), count.Number(p.MaxParameters))
	case p.MaxBytes > 0 && bytes > p.MaxBytes:
		return fmt.Errorf("%w: a head of %s and the memory need %s, and MaxBytes is %s. Use less memory, a smaller network or capacity, or a larger bound",
			ErrBound, count.Of(capacity, "output"), count.Bytes(bytes), count.Bytes(p.MaxBytes))
	}
	return nil
}
