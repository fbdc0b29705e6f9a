// Package experiment wires a config into streams and learners, runs them, evaluates, checkpoints and writes results. It
// deliberately knows no method by name. Start at [Open] and [Experiment.Run]; [Run] is both in one call.
package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"ocl"
	"ocl/config"
	"ocl/data"
	"ocl/experiment/result"
	"ocl/nn"
)

// Options are how an experiment is run; no result depends on them.
type Options struct {
	Out             string // experiment folder; "" writes nothing
	Force           bool   // remove the experiment that is in Out, the same or another, and start again
	Workers         int    // goroutines of one run; 0 chooses
	Concurrency     int    // runs at once; 0 chooses, and is 1 for a job that is run by itself
	CheckpointEvery int    // seconds; 0 is 60, negative only at task ends
	KeepCheckpoint  bool   // keep the last checkpoint of a finished run
	DataDir         string // where the data lie on this machine; "" is Config.Data.Dir
	Init            string // where the first weights lie on this machine; "" is Config.Network.Init
	ReadOnly        bool   // write no cache of decoded images, for a plan (data.Spec.ReadOnly)

	// What results say about the program: its version, its revision ("" takes that of the build) and its command line.
	Program, Revision string
	Command           []string
	Tuning            *result.Tuning // how the settings were chosen, for results; nil is nothing

	// Events returns the observers of a job; nil is no observer. The goroutine of the run calls it when the job begins,
	// and once more when it tries again a run that another process had locked.
	Events func(Job) Events

	// Progress hears of long work before the first run begins, such as decoding images into a cache; nil is nobody.
	Progress func(what string, done, total int)

	resumed bool // runs that have a checkpoint do not need their first weights
	hooks   hooks
}

// hooks are for tests.
type hooks struct {
	checkpointSteps int // also save after every so many steps, and wait until it is written; 0 does not
	learner         func(ocl.Learner, *nn.Network) ocl.Learner
	stream          func(view) view
}

// Events are the observers of a run; nil fields do nothing, and no observer can change the run. The goroutine of the
// run calls them in order and waits for them. Simultaneous runs call theirs at the same time, so observers must lock
// what they share. A run that is kept because it had finished before calls only Begin, Note and End.
type Events struct {
	Begin        func(Job, ocl.StreamInfo, Plan)
	TaskBegin    func(ocl.TaskInfo)
	StepBegin    func() // the images of the batch are there
	StepEnd      func(step int, s ocl.StepStats)
	Working      func(done, total int) // long work in one piece; only of learners that tell
	Tested       func(done, total int) // samples of the evaluation under way, 0 of them when it begins
	Evaluated    func(Evaluated)
	Checkpointed func(path string)                // the file is safe on the disk
	End          func(Job, *result.Result, error) // the result is nil if there is none
	Note         func(text string)                // something worth saying aloud: a damaged checkpoint was skipped, …
}

// Evaluated is what an evaluation found.
type Evaluated struct {
	Task     int        // the task that was just learned, or is being learned
	Step     int        // learner steps taken
	Between  bool       // in the middle of the task (Config.EvalEvery), and not at its end
	Accuracy []*float64 // by test set, nil where not evaluated
}

// Experiment is a config with its data in memory: a list of jobs, each of which can be run by itself, also in another
// process. Several goroutines may use it.
type Experiment struct {
	opts    Options
	config  config.Config // resolved
	set     *data.Set
	jobs    []Job
	chosen  []Job          // what Run runs
	network map[bool]facts // by whether the method makes its networks itself
	start   start
	parent  *parent // nil without
	classes union   // of the parent and the data; without a parent nobody asks
	notes   []string
	crowd   crowd

	setup sync.Mutex
	ready bool // the folder is set up
}

// Open checks a config, opens and hashes its data once, and plans its jobs. It writes nothing but a cache of images that have to be
// decoded, and with Options.ReadOnly not even that. It is an error if
// something is wrong with the config or the data, if they do not fit together, or if this machine does not have the
// engine. Opening data may take long the first time; it ends when ctx does.
func Open(ctx context.Context, c config.Config, o Options) (*Experiment, error) {
	if o.DataDir != "" {
		c.Data.Dir = o.DataDir
	}
	if o.Init != "" {
		c.Network.Init = o.Init
	}
	c, p, err := check(c, o)
	if err != nil {
		return nil, err
	}
	set, err := OpenData(ctx, c, o)
	if err != nil {
		return nil, err
	}
	return plan(c, o, set, p)
}

// OpenData opens the data of a config, with Options.Progress and Options.ReadOnly.
func OpenData(ctx context.Context, c config.Config, o Options) (*data.Set, error) {
	spec := DataSpec(c)
	spec.Progress, spec.ReadOnly = o.Progress, o.ReadOnly
	return data.Open(ctx, spec)
}

// DataSpec is what a config says of its data, as package data takes it.
func DataSpec(c config.Config) data.Spec {
	return data.Spec{
		Name: c.Data.Name, Dir: c.Data.Dir, Size: c.Data.Size, Channels: c.Data.Channels,
		TrainPerClass: c.Data.TrainPerClass, TestPerClass: c.Data.TestPerClass, Domains: c.Data.Domains, Seed: c.Data.Seed,
		SkipUnreadable: c.Data.Unreadable == config.UnreadableSkip, OneClass: c.Parent.Run != "",
	}
}

// With is another experiment over the data that x has opened. Its config has the same keys of data.
func (x *Experiment) With(c config.Config, o Options) (*Experiment, error) {
	c, p, err := check(c, o)
	if err != nil {
		return nil, err
	}
	if c.Data != x.config.Data {
		return nil, errors.New("experiment: the config names other data than those that are open. Use Open for it")
	}
	return plan(c, o, x.set, p)
}

// check checks a config by itself and opens the parent that it names, whose choices it fills in.
func check(c config.Config, o Options) (config.Config, *parent, error) {
	if err := Schema().Validate(c); err != nil {
		return c, nil, err
	}
	if o.Workers < 0 || o.Concurrency < 0 {
		return c, nil, fmt.Errorf("experiment: %d workers and %d runs at the same time are out of range. Use 1 or more, or 0 for an automatic choice", o.Workers, o.Concurrency)
	}
	if c.Tune.Grid != "" {
		return c, nil, errors.New("experiment: the config has to be tuned first (tune.grid), which is not done here. " +
			"Run it with `ocl run`, or package tune; `ocl run --resume` takes the folder of the whole experiment")
	}
	p, err := openParent(c.Parent)
	if err != nil {
		return c, nil, fmt.Errorf("experiment: %w", err)
	}
	if p != nil {
		c = p.settle(c)
	}
	return c, p, nil
}

// plan lists the jobs of a config that is valid by itself.
func plan(c config.Config, o Options, set *data.Set, p *parent) (*Experiment, error) {
	x := &Experiment{opts: o, config: Schema().Resolved(c), set: set, parent: p, notes: slices.Clone(set.Notes), network: map[bool]facts{}}
	settleStream(set, &x.config)
	if p != nil {
		fewClasses(set, c.Stream, &x.config.Stream)
	}
	if err := x.chooseEngine(); err != nil {
		return nil, err
	}
	x.notes = append(x.notes, gaps(set)...)
	if err := x.unite(); err != nil {
		return nil, unfit{fmt.Errorf("experiment: %w", err)}
	}
	examined := map[string]bool{}  // methods with their tricks; the seed makes no difference
	skipped := map[uint64]string{} // by seed, which may choose the published order of the tasks
	runs := Schema().Runs(x.config)
	x.jobs = make([]Job, 0, len(runs))
	for i, run := range runs {
		j := Job{Index: i, Total: len(runs), Config: run, Method: run.Methods[0], Tricks: tricksOf(run), Seed: run.Seed}
		if !examined[j.Name()] {
			examined[j.Name()] = true
			if err := x.examine(j); err != nil {
				return nil, unfit{err}
			}
		}
		if _, known := skipped[run.Seed]; !known && set.Incomplete {
			st, err := x.newStream(run)
			if err != nil {
				return nil, unfit{err}
			}
			skipped[run.Seed] = skippedText(st)
		}
		j.Config.Eval, j.Config.Engine, j.Config.Network.InitDigest = x.config.Eval, x.network[infoOf(j.Method).OwnNetworks].engine, x.config.Network.InitDigest
		j.id = x.identify(j)
		j.Key = j.id.Key()
		x.jobs = append(x.jobs, j)
	}
	x.noteSkipped(skipped)
	if p != nil {
		if err := p.fits(x.jobs, set); err != nil {
			return nil, unfit{fmt.Errorf("experiment: %w", err)}
		}
		if err := errors.Join(x.noteNew(c), x.noteOld()); err != nil {
			return nil, unfit{err}
		}
	}
	nameFolders(x.jobs)
	x.chosen = x.jobs
	return x, nil
}

// unite finds the classes of the data among those of the parent, if there is one.
func (x *Experiment) unite() (err error) {
	if x.parent == nil {
		return nil
	}
	x.notes = append(x.notes, x.parent.notes...)
	if x.classes, err = unite(x.parent.known, x.set); err == nil && x.classes.note != "" {
		x.notes = append(x.notes, x.classes.note)
	}
	return err
}

// classNames are the names of all labels; nil is none.
func (x *Experiment) classNames() []string {
	if x.parent != nil {
		return x.classes.names
	}
	return x.set.ClassNames
}

// newStream is the stream of a run, with the labels that its learner knows.
func (x *Experiment) newStream(c config.Config) (view, error) {
	v, err := newStream(x.set, c)
	if err == nil && x.parent != nil {
		v = x.classes.join(v)
	}
	return v, err
}

// chooseEngine chooses the engine: that of the environment, else that of the config, else the fastest of this machine.
func (x *Experiment) chooseEngine() error {
	if err := nn.CheckEnvironment(); err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	e, env := &x.config.Engine, nn.EngineOfEnvironment()
	for _, v := range []struct {
		key, variable, asked string
		value                *string
	}{{"engine.kernel", "OCL_KERNEL", env.Kernel, &e.Kernel}, {"engine.convolution", "OCL_CONV", env.Convolution, &e.Convolution}} {
		if v.asked == "" || v.asked == *v.value {
			continue
		}
		if *v.value != "" {
			x.notes = append(x.notes, fmt.Sprintf("%s=%s overrides %s of the config (%s)", v.variable, v.asked, v.key, *v.value))
		}
		*v.value = v.asked
	}
	if e.Kernel != "" && !slices.Contains(nn.Kernels(), e.Kernel) {
		return fmt.Errorf("experiment: engine.kernel: this machine cannot run the %s kernels, only %s. "+
			"Use another machine, or start again with another --kernel and --out; the results then differ by rounding, which may move an accuracy by a point or more",
			e.Kernel, strings.Join(nn.Kernels(), ", "))
	}
	chosen := nn.DefaultEngine()
	if e.Kernel == "" {
		e.Kernel = chosen.Kernel
	}
	if e.Convolution == "" {
		e.Convolution = chosen.Convolution
	}
	return nil
}

// facts are what an experiment must know about its network before a run begins. They are the same in all runs.
type facts struct {
	engine config.Engine // what the network's arithmetic really is
	flops  int64         // to predict an image
	params int
}

// ErrUnfit is wrapped by errors of [Open] about a config that does not fit the data, such as tasks that cannot share its
// classes equally. A person can fix the config.
var ErrUnfit = errors.New("the config does not fit the data")

// unfit marks an error without changing its text.
type unfit struct{ error }

func (e unfit) Unwrap() error      { return e.error }
func (unfit) Is(target error) bool { return target == ErrUnfit }

// examine builds the stream of a job and drops it, to find what does not fit together. The first call also sets what to
// evaluate and the facts of the network.
func (x *Experiment) examine(j Job) error {
	st, err := x.newStream(j.Config)
	if err != nil {
		return err
	}
	info := st.Info()
	if err := infoOf(j.Method).CheckStream(info, j.Tricks...); err != nil {
		return err
	}
	if x.config.Eval == "" {
		x.config.Eval = defaultEval(info.Scenario)
	}
	own := infoOf(j.Method).OwnNetworks
	if _, known := x.network[own]; known {
		return nil
	}
	net, err := newNetwork(info, j.Config, x.parent)
	if err != nil {
		return err
	}
	convolution := net.ConvolutionName()
	if own {
		convolution = net.Engine().Convolution // of networks to come
	}
	x.network[own] = facts{
		engine: config.Engine{Kernel: net.KernelName(), Convolution: convolution},
		flops:  net.FLOPs(), params: len(net.Params()),
	}
	if own {
		return nil
	}
	return x.readStart(net)
}

// noteSkipped says which tasks are left out, and of which seed where the seeds differ.
func (x *Experiment) noteSkipped(bySeed map[uint64]string) {
	seeds := slices.Sorted(maps.Keys(bySeed))
	same := !slices.ContainsFunc(seeds, func(s uint64) bool { return bySeed[s] != bySeed[seeds[0]] })
	for i, seed := range seeds {
		switch text := bySeed[seed]; {
		case text == "" || same && i > 0:
		case same:
			x.notes = append(x.notes, text)
		default:
			x.notes = append(x.notes, fmt.Sprintf("seed %d: %s", seed, text))
		}
	}
}

// skippedText names the tasks that are left out because images are absent or cannot be read; "" is none.
func skippedText(st view) string {
	skipped := st.Skipped()
	if len(skipped) == 0 {
		return ""
	}
	words := make([]string, len(skipped))
	for i, t := range skipped {
		words[i] = fmt.Sprintf("task %d", t+1)
		if name := st.TaskName(t); name != "" {
			words[i] += " (" + name + ")"
		}
	}
	return fmt.Sprintf("left out, as images are absent or cannot be read: %s; the other tasks keep their numbers", strings.Join(words, ", "))
}

// defaultEval is what is tested after each task if the config does not say.
func defaultEval(s ocl.Scenario) string {
	if s == ocl.DomainIncremental {
		return config.EvalAll
	}
	return config.EvalSeen
}

// Config is the resolved config of the experiment.
func (x *Experiment) Config() config.Config { return x.config.Clone() }

// Jobs lists the runs of the experiment in the order in which they start.
func (x *Experiment) Jobs() []Job { return slices.Clone(x.jobs) }

// Notes are for the person, before the experiment runs: an environment variable overrides the config, images of the data
// set are absent, classes have no test images.
func (x *Experiment) Notes() []string { return slices.Clone(x.notes) }

// DataDigest is the digest of the data that are open.
func (x *Experiment) DataDigest() string { return x.set.Digest }
