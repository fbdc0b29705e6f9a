// Package experiment wires a config into streams and learners, runs them, evaluates, checkpoints and writes results. It
// deliberately knows no method by name. Start at [Open] and [Experiment.Run]; [Run] is both in one call.
package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ocl"
	"ocl/config"
	"ocl/data"
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

	// What results say about the program: its version, its revision ("" takes that of the build) and its command line.
	Program, Revision string
	Command           []string

	// Events returns the observers of a job; nil is no observer. The goroutine of the run calls it when the job begins,
	// and once more when it tries again a run that another process had locked.
	Events func(Job) Events

	// Progress hears of long work before the first run begins, such as decoding images into a cache; nil is nobody.
	Progress func(what string, done, total int)

	hooks hooks
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
	StepEnd      func(step int, s ocl.StepStats)
	Working      func(done, total int) // long work in one piece; only of learners that tell
	Evaluated    func(Evaluated)
	Checkpointed func(path string) // the file is safe on the disk
	End          func(Job, error)
	Note         func(text string) // something worth saying aloud: a damaged checkpoint was skipped, …
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
	chosen  []Job // what Run runs
	network facts
	notes   []string

	setup sync.Mutex
	ready bool // the folder is set up
}

// Open checks a config, opens and hashes its data once, and plans its jobs. It writes nothing. It is an error if
// something is wrong with the config or the data, if they do not fit together, or if this machine does not have the
// engine. Opening data may take long the first time; it ends when ctx does.
func Open(ctx context.Context, c config.Config, o Options) (*Experiment, error) {
	if o.DataDir != "" {
		c.Data.Dir = o.DataDir
	}
	if err := check(c, o); err != nil {
		return nil, err
	}
	set, err := OpenData(ctx, c, o.Progress)
	if err != nil {
		return nil, err
	}
	return plan(c, o, set)
}

// OpenData opens the data of a config.
func OpenData(ctx context.Context, c config.Config, progress func(what string, done, total int)) (*data.Set, error) {
	return data.Open(ctx, data.Spec{
		Name: c.Data.Name, Dir: c.Data.Dir, Size: c.Data.Size, Channels: c.Data.Channels,
		TrainPerClass: c.Data.TrainPerClass, TestPerClass: c.Data.TestPerClass, Domains: c.Data.Domains, Seed: c.Data.Seed,
		SkipUnreadable: c.Data.Unreadable == config.UnreadableSkip, Progress: progress,
	})
}

// With is another experiment over the data that x has opened. Its config has the same keys of data.
func (x *Experiment) With(c config.Config, o Options) (*Experiment, error) {
	if c.Data != x.config.Data {
		return nil, errors.New("experiment: the config names other data than those that are open. Use Open for it")
	}
	if err := check(c, o); err != nil {
		return nil, err
	}
	return plan(c, o, x.set)
}

func check(c config.Config, o Options) error {
	if err := Schema().Validate(c); err != nil {
		return err
	}
	if o.Workers < 0 || o.Concurrency < 0 {
		return fmt.Errorf("experiment: %d workers and %d runs at the same time are out of range. Use 1 or more, or 0 for an automatic choice", o.Workers, o.Concurrency)
	}
	return nil
}

// plan lists the jobs of a config that is valid by itself.
func plan(c config.Config, o Options, set *data.Set) (*Experiment, error) {
	x := &Experiment{opts: o, config: Schema().Resolved(c), set: set, notes: slices.Clone(set.Notes)}
	settleStream(set, &x.config)
	if err := x.chooseEngine(); err != nil {
		return nil, err
	}
	x.notes = append(x.notes, gaps(set)...)
	examined := map[string]bool{} // methods with their tricks; the seed makes no difference
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
		j.Config.Eval, j.Config.Engine = x.config.Eval, x.network.engine
		j.id = x.identify(j)
		j.Key = j.id.key()
		x.jobs = append(x.jobs, j)
	}
	nameFolders(x.jobs)
	x.chosen = x.jobs
	return x, nil
}

// chooseEngine chooses the engine: that of the environment, else that of the config, else the fastest of this machine.
func (x *Experiment) chooseEngine() error {
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
			"Use another machine, or start again with another --kernel and --out; the results then differ in their last bits",
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
	st, err := newStream(x.set, j.Config)
	if err != nil {
		return err
	}
	info := st.Info()
	if text := skippedText(st); text != "" && !slices.Contains(x.notes, text) {
		x.notes = append(x.notes, text)
	}
	if err := infoOf(j.Method).CheckStream(info, j.Tricks...); err != nil {
		return err
	}
	if x.config.Eval == "" {
		x.config.Eval = defaultEval(info.Scenario)
	}
	if x.network.params > 0 {
		return nil
	}
	net, err := newNetwork(info, j.Config)
	if err != nil {
		return err
	}
	x.network = facts{
		engine: config.Engine{Kernel: net.KernelName(), Convolution: net.ConvolutionName()},
		flops:  net.FLOPs(), params: len(net.Params()),
	}
	return nil
}

// skippedText names the tasks that are left out because images are absent; "" is none.
func skippedText(st view) string {
	skipped := st.Skipped()
	if len(skipped) == 0 {
		return ""
	}
	words := make([]string, len(skipped))
	for i, t := range skipped {
		words[i] = fmt.Sprintf("task %d", t+1)
	}
	return fmt.Sprintf("left out, as their images are absent: %s", strings.Join(words, ", "))
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
