// Package experiment wires a config into streams and learners, runs them, evaluates, checkpoints and writes results. It
// deliberately knows no method by name. Start at [Open] and [Experiment.Run]; [Run] is both in one call.
package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ocl"
	"ocl/config"
	"ocl/data"
	"ocl/data/embed"
	_ "ocl/data/gofonts" // the data set glyphs
	"ocl/internal/cause"
	"ocl/internal/origin"
	"ocl/internal/samebits"
	"ocl/nn"
	"ocl/nn/weights"
	"ocl/run/build"
	"ocl/run/identity"
	"ocl/run/result"
	"ocl/run/train"
	"ocl/run/trained"
)

// Options say where and how an experiment is run. No result depends on them.
type Options struct {
	Out             string // experiment folder; "" writes nothing
	Force           bool   // remove the experiment that is in Out, the same or another, and start again
	Workers         int    // goroutines of one run; 0 chooses
	Concurrency     int    // runs at once; 0 chooses, and is 1 for a job that is run by itself
	CheckpointEvery int    // seconds; 0 is 60, negative only at task ends
	KeepCheckpoint  bool   // keep the last checkpoint of a finished run
	DataDir         string // where the data lie on this machine; "" is Config.Data.Dir
	// the data of the config, open already, as where another machine has lent them; nil opens them
	Data     *data.Set
	Backbone string // where the pretrained network lies on this machine; "" is Config.Data.Backbone
	Init     string // where the first weights lie on this machine; "" is Config.Network.Init
	ReadOnly bool   // write no cache of decoded images, for a plan (data.Spec.ReadOnly)
	// NewClasses lets a run learn on from a parent although classes of its data are classes of the parent with other names
	// (trained.Parent.Moved). Runs that are resumed or repeated were allowed to.
	NewClasses bool
	Whole      bool // a person's own images may be too few to be learned, to be examined (data.Spec.Whole)
	OneClass   bool // a person's own images may be of one class, for a measurement (data.Spec.OneClass)

	// What results say about the program: its version, its revision ("" takes that of the build) and its command line.
	Program, Revision string
	Command           []string
	Tuning            *result.Tuning // how the settings were chosen, for results; nil is nothing

	// Events returns the observers of a job; nil is no observer. The goroutine of the run calls it when the job begins,
	// and once more when it tries again a run that another process had locked.
	Events func(Job) Events

	// Images hears of the images before embeddings are made of them; an error ends it. It may be nil.
	Images func(*data.Set) error

	// Embedding is called before embeddings are made that no cache has, with what it will take; an error ends it. It may
	// be nil.
	Embedding func(embed.Work) error

	// Progress hears of long work before the first run begins, such as decoding images into a cache; may be nil.
	Progress func(what string, done, total int)

	resumed bool // runs that have a checkpoint do not need their first weights
	hooks   hooks
}

// hooks are for tests.
type hooks struct {
	checkpointSteps int                                        // train.Spec.SaveSteps
	learner         func(ocl.Learner, *nn.Network) ocl.Learner // train.Spec.WrapLearner
	stream          func(build.Stream) build.Stream            // replaces the stream of a run
}

// A run, what it is going to do, and what its observers see.
type (
	Job       = train.Job
	RunIn     = train.RunIn
	Plan      = train.Plan
	Events    = train.Events
	Evaluated = train.Evaluated
)

// ErrBusy is wrapped by errors about a run or an experiment that another process or another call of this process runs.
var ErrBusy = train.ErrBusy

// ErrVanished is wrapped by errors about a folder that was removed or moved while it was in use.
var ErrVanished = train.ErrVanished

// ErrData is wrapped by errors of [Open] about data that cannot be opened on this machine.
var ErrData = errors.New("the data cannot be opened here")

// ErrCache is wrapped by errors about a cache of decoded images whose bytes have changed while it was in use.
var ErrCache = data.ErrCache

// Schema is the schema of configs with the methods, tricks and data sets of this program.
func Schema() *config.Schema { return build.Schema() }

// Experiment is a config with its data in memory: a list of jobs, each of which can be run by itself, also in another
// process. Several goroutines may use it.
type Experiment struct {
	opts    Options
	config  config.Config // resolved
	set     *data.Set
	jobs    []Job
	chosen  []Job // what Run runs
	network map[kind]network
	weights *weights.Start // what networks start from besides drawn weights; nil is nothing, or absent
	// of a resumed experiment, why those weights cannot be used; only runs without a checkpoint need them
	absent  error
	parent  *trained.Parent // nil without
	classes trained.Union   // of the parent and the data; unused without a parent
	notes   []string
	making  int64 // estimated peak of memory while embeddings are made; 0 where the cache has them
	ready   bool  // the folder is set up
}

// Open checks a config, opens and hashes its data once, and plans its jobs. It writes nothing but a cache of images
// that have to be decoded, and with Options.ReadOnly not even that. It is an error if something is wrong with the
// config or the data, if they do not fit together, or if this machine does not have the engine. Opening data may take
// long the first time; it ends when ctx does.
func Open(ctx context.Context, c config.Config, o Options) (*Experiment, error) {
	c, p, err := check(o.Place(c), o)
	if err != nil {
		return nil, err
	}
	making, tell := int64(0), o.Embedding
	o.Embedding = func(w embed.Work) error {
		making = w.Memory
		if tell == nil {
			return nil
		}
		return tell(w)
	}
	set, err := OpenData(ctx, c, o)
	if err != nil {
		return nil, cause.As(err, ErrData)
	}
	x, err := newExperiment(c, o, set, p)
	if err == nil {
		x.making = making
	}
	return x, err
}

// Place sets where data, the pretrained network and first weights lie on this machine.
func (o Options) Place(c config.Config) config.Config {
	c.Data.Dir, c.Data.Backbone, c.Network.Init = cmp.Or(o.DataDir, c.Data.Dir), cmp.Or(o.Backbone, c.Data.Backbone),
		cmp.Or(o.Init, c.Network.Init)
	return c
}

// With is another experiment over the data that x has opened. Its config has the same keys of data.
func (x *Experiment) With(c config.Config, o Options) (*Experiment, error) {
	c, p, err := check(c, o)
	if err != nil {
		return nil, err
	}
	if c.Data.BackboneDigest == "" {
		c.Data.BackboneDigest = x.config.Data.BackboneDigest
	}
	if c.Data != x.config.Data {
		return nil, errors.New("experiment: the config names other data than those that are open. Use Open for it")
	}
	y, err := newExperiment(c, o, x.set, p)
	if err == nil {
		y.making = x.making
	}
	return y, err
}

// check checks a config by itself and opens the parent that it names, whose choices it fills in.
func check(c config.Config, o Options) (config.Config, *trained.Parent, error) {
	if err := Schema().Validate(c); err != nil {
		return c, nil, err
	}
	if o.Workers < 0 || o.Concurrency < 0 {
		return c, nil, fmt.Errorf("experiment: %d workers and %d runs at the same time are out of range. Use 1 or more, or 0 for an automatic choice",
			o.Workers, o.Concurrency)
	}
	if c.Tune.Grid != "" {
		return c, nil, errors.New("experiment: the config has to be tuned first (tune.grid), which is not done here. " +
			"Run it with `ocl run`, or package tune; `ocl run --resume` takes the folder of the whole experiment")
	}
	p, err := trained.OpenParent(c.Parent, false)
	if err != nil {
		return c, nil, fmt.Errorf("experiment: %w", err)
	}
	if p != nil {
		c = p.Complete(c)
	}
	return c, p, nil
}

// newExperiment lists the jobs of a config that is valid by itself.
func newExperiment(c config.Config, o Options, set *data.Set, p *trained.Parent) (*Experiment, error) {
	if err := set.CheckChannels(build.Data(c)); err != nil {
		return nil, cause.As(fmt.Errorf("experiment: %w", err), ErrUnfit)
	}
	x := &Experiment{opts: o, config: Schema().Resolved(c), set: set, parent: p, notes: slices.Clone(set.Notes),
		network: map[kind]network{}}
	if err := build.CompleteStream(set, &x.config); err != nil {
		return nil, cause.As(fmt.Errorf("experiment: %w", err), ErrUnfit)
	}
	x.completeEmbeddings()
	// nobody has chosen it
	if usual := config.Default().Stream.Batch; x.config.Stream.Batch == usual && set.Train.Len() < usual {
		x.config.Stream.Batch = max(1, set.Train.Len())
	}
	if p != nil {
		trained.FewClasses(set, c.Stream, &x.config.Stream)
		trained.FewImages(set, &x.config.Stream)
	}
	if err := x.chooseEngine(); err != nil {
		return nil, err
	}
	x.notes = append(x.notes, missingImages(set)...)
	x.notes = append(x.notes, inexact(Schema().Registered(x.config))...)
	if err := x.unite(); err != nil {
		return nil, cause.As(fmt.Errorf("experiment: %w", err), ErrUnfit)
	}
	examined := map[string]bool{}    // methods with their tricks; the seed makes no difference
	skipped := map[string][]string{} // the seeds of each note: a seed may choose the published order of the tasks
	runs := Schema().Runs(x.config)
	x.jobs = make([]Job, 0, len(runs))
	for i, run := range runs {
		var err error
		j := Job{Index: i, Total: len(runs), Config: run, Method: run.Methods[0], Tricks: build.Tricks(run), Seed: run.Seed}
		if !examined[j.Name()] {
			examined[j.Name()] = true
			if err := x.examine(j); err != nil {
				return nil, cause.As(err, ErrUnfit)
			}
		}
		if seed := fmt.Sprint(run.Seed); set.Incomplete {
			st, err := x.newStream(run)
			if err != nil {
				return nil, cause.As(err, ErrUnfit)
			}
			if text := train.SkippedText(st); text != "" && !slices.Contains(skipped[text], seed) {
				skipped[text] = append(skipped[text], seed)
			}
		}
		if j.Config, err = x.budgeted(j); err != nil {
			return nil, cause.As(fmt.Errorf("experiment: %w", err), ErrUnfit)
		}
		j.Config.Eval, j.Config.Engine, j.Config.Network.InitDigest = x.config.Eval, x.network[kindOf(j)].engine,
			x.config.Network.InitDigest
		j.Identity = x.identify(j)
		j.Key = j.Identity.Key()
		x.jobs = append(x.jobs, j)
	}
	for _, text := range slices.Sorted(maps.Keys(skipped)) {
		if seeds := skipped[text]; len(seeds) < x.config.Runs {
			text = "seed " + strings.Join(seeds, ", ") + ": " + text
		}
		x.notes = append(x.notes, text)
	}
	if p != nil {
		if err := p.Fits(x.jobs, set); err != nil {
			return nil, cause.As(fmt.Errorf("experiment: %w", err), ErrUnfit)
		}
		st, err := x.newStream(x.jobs[0].Config)
		if err != nil {
			return nil, cause.As(err, ErrUnfit)
		}
		x.notes = append(x.notes, p.StreamNotes(st.Info(), x.jobs[0].Config, c)...)
	}
	nameFolders(x.jobs)
	x.chosen = x.jobs
	if err := x.checkMemory(); err != nil {
		return nil, err
	}
	return x, nil
}

// budgeted is the config of a job with the memory and the iterations that fit what the config says in bytes and passes.
func (x *Experiment) budgeted(j Job) (config.Config, error) {
	if j.Config.MemoryBytes == 0 && j.Config.Replay.Passes == 0 {
		return j.Config, nil
	}
	st, err := x.newStream(j.Config)
	if err != nil {
		return j.Config, err
	}
	net := x.network[kindOf(j)]
	return build.Budgeted(j.Config, st.Info(), net.Stored, net.Params)
}

// inexact are notes about modules whose version does not name one state of their code: the numbers of two states would
// have the same keys.
func inexact(list []config.Registered) (notes []string) {
	for _, r := range list {
		note := fmt.Sprintf("the version of %s does not name one state of its code, so results of two states cannot be told apart. "+
			"Use another --out after each change of it, or build the program from a commit", r.From())
		if !origin.Exact(r.Version) && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

// unite finds the classes of the data among those of the parent, if there is one.
func (x *Experiment) unite() (err error) {
	if x.parent == nil {
		return nil
	}
	x.notes = append(x.notes, x.parent.Notes...)
	if x.classes, err = trained.Unite(x.parent.Known, x.set); err != nil {
		return err
	}
	if x.classes.Note != "" {
		x.notes = append(x.notes, x.classes.Note)
	}
	if x.opts.NewClasses || x.opts.resumed {
		return nil
	}
	notes, err := x.parent.Moved(x.classes, x.set)
	x.notes = append(x.notes, notes...)
	return err
}

// classNames are the names of all labels; nil is none.
func (x *Experiment) classNames() []string {
	if x.parent != nil {
		return x.classes.Names
	}
	return x.set.ClassNames
}

// newStream is the stream of a run, with the labels that its learner knows.
func (x *Experiment) newStream(c config.Config) (build.Stream, error) {
	v, err := build.NewStream(x.set, c)
	if err == nil && x.parent != nil {
		v = x.classes.Join(v)
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
	}{{"engine.kernel", "OCL_KERNEL", env.Kernel, &e.Kernel},
		{"engine.convolution", "OCL_CONV", env.Convolution, &e.Convolution}} {
		if v.asked == "" || samebits.Same(v.asked, *v.value) {
			continue
		}
		if *v.value != "" {
			x.notes = append(x.notes, fmt.Sprintf("%s=%s overrides %s of the config (%s)", v.variable, v.asked, v.key, *v.value))
		}
		*v.value = v.asked
	}
	e.Kernel = samebits.Among(nn.Kernels(), e.Kernel)
	if e.Kernel != "" && !slices.Contains(nn.Kernels(), e.Kernel) {
		return fmt.Errorf("experiment: engine.kernel: this machine cannot run the %s kernels, only %s. "+
			"Use another machine, or start again with another engine.kernel and --out; the results then differ by rounding, which may move an accuracy by a point or more",
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

// kind has the settings that make the networks of two runs of an experiment differ. It is a key of a map.
type kind struct {
	own  bool    // the method makes its networks itself
	of   string  // the method, if it computes its network
	head nn.Head // which a method may choose
}

func kindOf(j Job) kind {
	if build.Method(j.Method).OwnNetworks {
		return kind{own: true}
	}
	if build.Method(j.Method).Solves != nil {
		return kind{of: j.Method}
	}
	return kind{head: build.Head(j.Config)}
}

// network has the facts about a network that an experiment needs before a run begins. Runs of the same kind share it.
type network struct {
	train.Network
	engine config.Engine // what its arithmetic really is
}

// ErrUnfit is wrapped by errors of [Open] about a config that does not fit the data, such as tasks that cannot share
// its classes equally. A person can fix the config.
var ErrUnfit = errors.New("the config does not fit the data")

// examine builds the stream of a job and drops it, to find what does not fit together. The first call also sets what to
// evaluate and the facts of the network.
func (x *Experiment) examine(j Job) error {
	st, err := x.newStream(j.Config)
	if err != nil {
		return err
	}
	info := st.Info()
	if err := build.Method(j.Method).CheckStream(info, j.Tricks...); err != nil {
		return err
	}
	if j.Config.Replay.Augment && info.Embeddings {
		return fmt.Errorf("experiment: %s: replay.augment crops and flips images, and stream %s has embeddings. Remove replay.augment",
			j.Name(), info.Name)
	}
	if x.config.Eval == "" {
		x.config.Eval = defaultEval(info.Scenario)
	}
	return x.examineNetwork(j, info)
}

// checkMemory is an error if a run that has not ended yet cannot fit the memory of the process.
func (x *Experiment) checkMemory() error {
	checked := map[string]bool{} // methods with their tricks; the seed makes no difference
	for _, j := range x.jobs {
		if checked[j.Name()] {
			continue
		}
		if f, err := x.Found(j); err == nil && f.Ended() { // an error is reported when the run begins
			continue
		}
		checked[j.Name()] = true
		p, err := x.Plan(j)
		if err != nil {
			return cause.As(err, ErrUnfit)
		}
		if err := p.CheckMemory(); err != nil {
			return cause.As(fmt.Errorf("experiment: %s: %w", j.Name(), err), ErrUnfit)
		}
	}
	return nil
}

// examineNetwork makes the outline of the network of a job, for what must be known of it.
func (x *Experiment) examineNetwork(j Job, info ocl.StreamInfo) error {
	kind := kindOf(j)
	own := kind.own
	if _, known := x.network[kind]; known {
		return nil
	}
	net, err := build.Outline(info, j.Config)
	if err != nil {
		return err
	}
	convolution := net.ConvolutionsUsed()
	if own {
		convolution = net.Info().Engine.Convolution // of networks to come
	}
	x.network[kind] = network{
		train.Network{FLOPs: net.Info().FLOPs, Frozen: net.Info().Frozen.FLOPs, Latent: j.Config.Replay.Latent && !own,
			Stored: build.SampleBytes(info, net, j.Config),
			Params: net.Footprint().Params(), Features: net.Info().FeatureDim, Memory: net.Footprint()},
		config.Engine{Kernel: net.Info().Engine.Kernel, Convolution: convolution},
	}
	if own {
		return nil
	}
	return x.readStart(net)
}

// defaultEval returns the test sets that are evaluated after each task if the config does not choose.
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

// Notes are for the person, before the experiment runs: an environment variable overrides the config, images of the
// data set are absent, classes have no test images, the version of a module is not known.
func (x *Experiment) Notes() []string { return slices.Clone(x.notes) }

// Data are the images or embeddings that x has opened. The caller must not change them.
func (x *Experiment) Data() *data.Set { return x.set }

// DataDigest is the digest of the data that are open.
func (x *Experiment) DataDigest() string { return x.set.Digest }

// identify is the identity of a job whose config is complete.
func (x *Experiment) identify(j Job) identity.Identity {
	id := identity.New(Schema(), j.Config)
	id.Data, id.Numbers, id.Kernel, id.Convolution = x.set.Digest, result.Numbers, j.Config.Engine.Kernel,
		j.Config.Engine.Convolution
	return id
}

// IdentityOf is the identity of the run that left a result.
func IdentityOf(r *result.Result) identity.Identity { return identity.Of(Schema(), r) }

// Key is the key of the run that left a result.
func Key(r *result.Result) string { return IdentityOf(r).Key() }

// CheckFolder says why the experiment may not use Options.Out, as Run would, such as that the folder has another
// experiment. It writes nothing.
func (x *Experiment) CheckFolder() error {
	if x.opts.Out == "" {
		return nil
	}
	_, err := x.examineFolder()
	return err
}

// Found says how far a job is in Options.Out. It writes nothing, and is an error where the result of the job cannot be
// read. With Options.Force there is nothing, as all would be deleted.
func (x *Experiment) Found(j Job) (train.Found, error) {
	if x.opts.Out == "" || x.opts.Force {
		return train.Found{}, nil
	}
	return train.Find(filepath.Join(x.opts.Out, j.Folder))
}
