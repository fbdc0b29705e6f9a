package experiment

import (
	"fmt"
	"path/filepath"
	"time"

	"ocl"
	"ocl/checkpoint"
	"ocl/data"
	"ocl/experiment/result"
	"ocl/internal/rng"
	"ocl/method"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/optim"
	"ocl/stream"
)

// run is one job at work: the parts it is wired from and how far it is. It belongs to one goroutine.
type run struct {
	*experimentRun
	job    Job
	config Config // of this run alone
	ev     Events
	id     identity
	plan   Plan
	begun  bool // it has told that it begins; what fails before has no step

	stream  view
	net     *nn.Network
	ws      *nn.Workspace
	learner ocl.Learner

	classifiers classifiers

	folder      string          // "" writes nothing
	checkpoints *checkpoint.Dir // nil without folder
	log         *stepLog
	every       time.Duration // between checkpoints in the middle of a task; 0 is never
	saved       time.Time

	progress
}

// build wires the parts of the run from its config. Random choices come from sources named after their use.
func (r *run) build() error {
	r.config = runConfig(r.experimentRun.config, r.job)
	var err error
	if r.stream, err = newStream(r.set, r.config); err != nil {
		return err
	}
	info := r.stream.Info()
	if r.config.Eval == "" {
		r.config.Eval = defaultEval(info.Scenario)
	}
	if r.net, err = newNetwork(info, r.config); err != nil {
		return err
	}
	r.ws = r.net.NewWorkspace(r.workers)
	r.learner, err = newLearner(r.net, r.ws, info, r.config)
	if err != nil {
		return err
	}
	r.id = identity{
		config: r.config.canonical(), data: info.Digest,
		numbers: result.Numbers, kernel: r.net.KernelName(), convolution: r.net.ConvolutionName(),
	}
	if r.classifiers, err = newClassifiers(r.config.Classifiers, r.learner); err != nil {
		return err
	}
	r.progress = newProgress(len(r.config.Classifiers), len(info.Tasks), info.Classes)
	r.task = r.stream.Start()
	r.plan = newPlan(r.stream, r.net, r.set, r.config)
	r.every = r.interval()
	if w, ok := r.learner.(ocl.Watched); ok {
		w.Watch(r.ev.Preparing)
	}
	if r.Out != "" {
		r.folder = filepath.Join(r.Out, r.job.Folder)
	}
	return nil
}

// interval is the time between checkpoints in the middle of a task, 0 for none there.
func (o Options) interval() time.Duration {
	if o.CheckpointEvery == 0 {
		return defaultCheckpointEvery
	}
	return max(0, time.Duration(o.CheckpointEvery)*time.Second)
}

func (r *run) close() {
	if r.ws != nil {
		r.ws.Close()
	}
	_ = r.log.close() // what matters was synced with the last checkpoint
	r.log = nil
}

// defaultEval is what is tested after each task when the config does not say.
func defaultEval(s ocl.Scenario) string {
	if s == ocl.DomainIncremental {
		return EvalAll
	}
	return EvalSeen
}

// view is a stream as a run goes through it.
type view interface {
	ocl.Stream
	ocl.Seeker
	Start() int            // the first task that is learned
	Original(task int) int // its place in the whole stream
	Batches(task int) int  // that Train delivers
}

// newStream splits the data; a method that learns offline gets all tasks at once, in the epochs and batches of its options.
func newStream(set *data.Set, c Config) (view, error) {
	keep, err := stream.Protocol(c.Protocol, c.Stream.Tasks)
	if err != nil {
		return nil, err
	}
	o := stream.Options{
		Tasks: c.Stream.Tasks, Batch: c.Stream.Batch, Keep: keep,
		DropLast: *c.Stream.DropLast, Augment: c.Stream.Augment,
		Mean: c.Stream.Mean, Std: c.Stream.Std, Seed: c.Seed,
	}
	switch order := c.Stream.ClassOrder.(type) {
	case string:
		o.Order = order
	case []int:
		o.Order, o.ClassOrder = stream.List, order
	}
	name := c.Methods[0]
	if !infoOf(name).Offline {
		return stream.Split(set, o)
	}
	o.DropLast = false // of a task: the view drops its own
	tasks, err := stream.Split(set, o)
	if err != nil {
		return nil, err
	}
	options := c.Method[name]
	return tasks.Offline(options[method.Epochs].(int), options[method.Batch].(int), *c.Stream.DropLast)
}

// newNetwork draws the parameters from the source "network/init" of the seed.
func newNetwork(info ocl.StreamInfo, c Config) (*nn.Network, error) {
	size := arch.Config{
		Channels: info.Channels, Height: info.Height, Width: info.Width, Classes: info.Classes,
		NF: c.Network.Width, Hidden: c.Network.Hidden,
	}
	src := rng.New(c.Seed, "network/init")
	if c.Network.Name == "mlp" {
		return arch.MLP(size, src)
	}
	return arch.ResNet18(size, src)
}

func newLearner(net *nn.Network, ws *nn.Workspace, info ocl.StreamInfo, c Config) (ocl.Learner, error) {
	name := c.Methods[0]
	s := c.setup()
	s.Net, s.WS, s.Opt = net, ws, newOptimizer(c.Optimizer)
	s.Shape, s.Pixels, s.Classes = [3]int{info.Channels, info.Height, info.Width}, info.Pixels, info.Classes
	return infoOf(name).New(s)
}

// setup is what the config of one run says of its method.
func (c Config) setup() method.Setup {
	return method.Setup{
		Memory: c.Memory, ReplayBatch: c.Replay.Batch, Iterations: c.Replay.Iterations, Joint: c.Replay.Joint,
		Training: c.Replay.Teacher == TeacherTraining,
		Seed:     c.Seed, InitSeed: c.Seed, Options: c.Method[c.Methods[0]], Tricks: c.trickSets()[0],
	}
}

func newOptimizer(c OptimizerConfig) optim.Optimizer {
	if c.Name == "adam" {
		return optim.NewAdam(optim.Adam{LR: c.LR, WeightDecay: c.WeightDecay})
	}
	return optim.NewSGD(optim.SGD{LR: c.LR, WeightDecay: c.WeightDecay, Momentum: c.Momentum})
}

// openFolder makes the folder of the run and continues from its newest whole checkpoint, if it has one. Without one it
// saves the state at step 0, so that a folder without room is found before anything is learned.
func (r *run) openFolder() error {
	var err error
	if r.checkpoints, err = checkpoint.OpenDir(filepath.Join(r.folder, CheckpointDir)); err != nil {
		return fmt.Errorf("%w; want a folder that can be written; choose another --out", err)
	}
	length, err := r.load()
	if err != nil {
		return err
	}
	path := filepath.Join(r.folder, StepsFile)
	found := false
	if r.log, found, err = openStepLog(path, length); err != nil {
		return fmt.Errorf("%s cannot be written: %w; want a folder with room; make room or choose another --out", path, err)
	}
	if !found {
		r.note(fmt.Sprintf("%s: its first %d steps are missing; the numbers do not depend on it", path, r.step))
	}
	r.saved = time.Now()
	if r.step == 0 {
		return r.save()
	}
	return nil
}
