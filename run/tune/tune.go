package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ocl/config"
	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/limit"
	"ocl/learn/method"
	"ocl/run/experiment"
	"ocl/run/identity"
	"ocl/run/metric"
	"ocl/run/result"
)

// Spec says what is tried.
type Spec struct {
	Grid    string // Paper or Authors; "" is Paper
	File    *Grid  // a grid instead of a named one
	Search  Search // the zero value is config.SearchGrid
	Repeats int    // of each point; 0 is by data and method
	By      string // the metric that scores a trial; "" is config.MetricDefault
}

// ErrGrid is wrapped by errors of [Open] about a grid or a search that does not fit the config. A person can choose
// another one.
var ErrGrid = errors.New("the grid does not fit")

// Options say how a tuning is run. No score depends on them. Of the options of an experiment, Out is the folder of
// records and trials, which Run needs, and Concurrency counts trials. Trials keep no checkpoints.
type Options struct {
	experiment.Options

	// Data has the data of the config open; nil opens them. A search that also tries fewer images opens those by itself.
	Data *experiment.Experiment
	// Archive has results that exist already; those of trials are taken over. nil means none.
	Archive *experiment.Archive
	// Guarded says that the caller keeps other processes out of Out.
	Guarded bool
	// Events returns the observers of a trial, as experiment.Options has them for a job; nil is no observer.
	Events func(Running) experiment.Events
}

// Running is a trial on its way.
type Running struct {
	Name         string // of method, tricks and seed, with the values of the point
	Index, Total int    // among the trials that are known so far; Index begins at 0
	Job          experiment.Job
}

// Tuner is a config whose runs are tuned, with its data in memory.
type Tuner struct {
	opts    Options
	spec    Spec
	tunings []*unit
	open    map[float64]*experiment.Experiment // by share of the training images
	trials  map[string]*trial                  // by key of the run: of equal ones there is one
	order   []*trial                           // in which they came
	full    int                                // training images of a class, with which the share is 1
	base    config.Config
	notes   []string
}

// unit is the tuning of one run: a method with its tricks and a seed.
type unit struct {
	config config.Config // of the run, with the protocol tuning
	name   string        // of the run
	grid   Grid
	points []*point
	record Record
	folder string // the name of its folder in Options.Out
	kept   bool   // the record was there

	images, classes int // of the tests
}

// point is one combination of values.
type point struct {
	values  []string
	outcome string
	rounds  [][]*trial
}

// trial is one run of a point.
type trial struct {
	name   string
	x      *experiment.Experiment // has it as its only run
	share  float64
	job    experiment.Job
	plan   experiment.Plan
	result *result.Result
}

// Open checks a config, the grid and the points, and opens the data. Each run of the config (seed, method, tricks) is
// tuned by itself. It writes nothing but a cache of images that have to be decoded, and with Options.ReadOnly not even
// that.
func Open(ctx context.Context, c config.Config, spec Spec, o Options) (*Tuner, error) {
	spec.Grid, spec.Search.Name = cmp.Or(spec.Grid, Paper), cmp.Or(spec.Search.Name, config.SearchGrid)
	if err := spec.Search.check(); err != nil {
		return nil, cause.As(err, ErrGrid)
	}
	if spec.Repeats < 0 || spec.Repeats > limit.Repeats {
		return nil, cause.As(fmt.Errorf("tune: %d repetitions are out of range. Use 1 to %d, or 0 for the usual number",
			spec.Repeats, limit.Repeats), ErrGrid)
	}
	if spec.By == config.MetricDefault {
		spec.By = ""
	}
	if _, err := scoredBy(spec.By); err != nil {
		return nil, cause.As(err, ErrGrid)
	}
	c = spec.tuning(o.Place(c))
	t := &Tuner{opts: o, spec: spec, base: c, open: map[float64]*experiment.Experiment{}, trials: map[string]*trial{}}
	schema := experiment.Schema()
	if err := schema.Validate(c); err != nil {
		return nil, err
	}
	runs := schema.Runs(c)
	if spec.File != nil {
		if err := spec.File.CheckRead(runs); err != nil {
			return nil, cause.As(err, ErrGrid)
		}
	}
	for _, run := range runs {
		if err := t.add(run); err != nil {
			return nil, cause.As(err, ErrGrid)
		}
	}
	for _, r := range spec.Search.rungs() {
		if err := t.openShare(ctx, r.share); err != nil {
			return nil, err
		}
	}
	for _, u := range t.tunings {
		if err := t.settle(u); err != nil {
			return nil, cause.As(err, ErrGrid)
		}
		if err := t.keep(u); err != nil {
			return nil, err
		}
	}
	if err := t.enter(spec.Search.rungs()[0].share); err != nil {
		return nil, cause.As(err, ErrGrid)
	}
	return t, nil
}

// scoredBy is the metric of that name.
func scoredBy(name string) (result.Metric, error) {
	name = cmp.Or(name, config.MetricDefault)
	for _, m := range result.AllMetrics() {
		if m.Key == name {
			return m, nil
		}
	}
	return result.Metric{}, fmt.Errorf("tune: there is no metric %s. Use one of %s", cause.Shown(name),
		strings.Join(config.Metrics(), ", "))
}

// better says whether a score is better than another one, by the metric of that name.
func better(by string, score, than float64) bool {
	if m, _ := scoredBy(by); m.Lower {
		return score < than
	}
	return score > than
}

// tuning is a config as its runs are tried. Unless it is another metric that scores them, only the end is evaluated.
func (s Spec) tuning(c config.Config) config.Config {
	c = c.Clone()
	if c.Protocol != config.ProtocolTuning {
		c.Stream.HeldOut = nil // what a run is tested on says nothing of its tuning
	}
	if c.Protocol = config.ProtocolTuning; s.By != "" {
		return c
	}
	c.Eval, c.EvalEvery, c.EvalSample = config.EvalFinal, 0, 0
	c.EvalOnline, c.EvalAhead, c.EvalProbe = false, 0, 0
	return c
}

// add finds the grid and the points of one run.
func (t *Tuner) add(run config.Config) (err error) {
	u := &unit{config: run}
	if u.grid, err = t.spec.of(run); err != nil {
		return err
	}
	search := t.spec.Search.of(run.Seed)
	points, err := search.points(u.grid)
	if err != nil {
		return err
	}
	u.record = Record{Format: Format, Version: Version, Grid: GridRecord{u.grid.Name, u.grid.Digest(), u.grid.Axes},
		Search: search, Repeats: t.spec.repeats(run), By: t.spec.By}
	for _, values := range points {
		u.points = append(u.points, &point{values: values})
	}
	t.tunings = append(t.tunings, u)
	return nil
}

// of is the grid of a run.
func (s Spec) of(run config.Config) (Grid, error) {
	if s.File != nil {
		return s.File.For(run)
	}
	return Named(s.Grid, run)
}

// repeats is the number of trials of each point of a run.
func (s Spec) repeats(run config.Config) int { return cmp.Or(s.Repeats, usualRepeats(run)) }

// usualRepeats is the number of trials of each point in the authors' files (num_runs_val): 3, but 1 on CORe50, on
// NS-MiniImageNet and offline.
func usualRepeats(c config.Config) int {
	info, _ := method.Lookup(c.Methods[0])
	if info.Offline || c.Data.Name == "core50" || c.Stream.Shift.Kind != "" {
		return 1
	}
	return 3
}

// openShare opens the data with a share of the training images of each class.
func (t *Tuner) openShare(ctx context.Context, share float64) error {
	if t.open[share] != nil {
		return nil
	}
	c := t.base.Clone()
	if share < 1 {
		if t.full = c.Data.TrainPerClass; t.full == 0 {
			set, err := experiment.OpenData(ctx, c, t.opts.Options)
			if err != nil {
				return err
			}
			t.full = set.Train.Len() / set.Classes
		}
		c.Data.TrainPerClass = max(1, int(share*float64(t.full)))
	}
	var x *experiment.Experiment
	var err error
	if share == 1 && t.opts.Data != nil {
		c.Data = t.opts.Data.Config().Data
		x, err = t.opts.Data.With(c, experiment.Options{})
	} else {
		x, err = experiment.Open(ctx, c, t.opts.Options)
	}
	t.open[share] = x
	return err
}

// settle finds what a tuning depends on besides its grid, and its key.
func (t *Tuner) settle(u *unit) error {
	x := t.open[1]
	y, err := withValues(x, u.config, 1, u.grid, u.grid.first(), experiment.Options{})
	if err != nil {
		return err
	}
	job := y.Jobs()[0]
	plan, err := y.Plan(job)
	if err != nil {
		return err
	}
	u.images, u.classes = plan.Tested, plan.Classes
	r := &u.record
	r.Key, r.Config = identity.TuningKey(job.Key, u.grid.Digest(), u.record.Search.text(), u.record.Repeats, u.record.By),
		job.Config
	r.Config.Data.Dir, r.Config.Data.Backbone, r.Config.Network.Init = "", "", "" // places
	r.DataDigest, r.Numbers, r.Kernel, r.Convolution = x.DataDigest(), result.Numbers, job.Config.Engine.Kernel,
		job.Config.Engine.Convolution
	r.GridSteps = u.grid.Count() * r.Repeats * plan.Steps
	u.name = job.String()
	u.folder = folderOf(job, r.Key)
	return nil
}

// path is the path of the record of a tuning.
func (t *Tuner) path(u *unit) string { return filepath.Join(t.opts.Out, u.folder, RecordFile) }

// keep takes over the record that a tuning has already, whatever became of its trials.
func (t *Tuner) keep(u *unit) error {
	if t.opts.Out == "" {
		return nil
	}
	r, err := Read(t.path(u))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, ErrDamaged):
		t.notes = append(t.notes, fmt.Sprintf("%s is damaged; it is written again from the trials", t.path(u)))
		return nil
	case err != nil:
		return err
	case r.Key == u.record.Key:
		u.record, u.kept = *r, true
	}
	return nil
}

// apart is the distance between the seeds of the first weights of two repetitions, far more than there are runs of an
// experiment.
const apart = 1000

// enter makes the trials of the next round, which has a share of the images, for all points that are still in the
// search.
func (t *Tuner) enter(share float64) error {
	o := t.opts.Options
	o.KeepCheckpoint = false
	for _, u := range t.tunings {
		for _, p := range u.points {
			if p.outcome != "" || u.kept {
				continue
			}
			var of []*trial
			for repeat := range u.record.Repeats {
				c := u.config.Clone()
				if repeat > 0 { // the same stream and another network
					seed := c.InitSeed() + uint64(repeat*apart)
					c.Seeds.Init = &seed
				}
				y, err := withValues(t.open[share], c, 1, u.grid, p.values, o)
				if err != nil {
					return err
				}
				job := y.Jobs()[0]
				one := t.trials[job.Key]
				if one == nil {
					one = &trial{x: y, share: share, job: job, name: trialName(u, p, repeat)}
					if one.plan, err = y.Plan(job); err != nil {
						return err
					}
					t.trials[job.Key] = one
					t.order = append(t.order, one)
				}
				of = append(of, one)
			}
			p.rounds = append(p.rounds, of)
		}
	}
	return nil
}

func trialName(u *unit, p *point, repeat int) string {
	name := u.name + " " + pointText(u.grid, p.values)
	if u.record.Repeats > 1 {
		name += fmt.Sprintf(" (%d of %d)", repeat+1, u.record.Repeats)
	}
	return name
}

// pointText is a point in words: "lr 0.1, weight_decay 0.001".
func pointText(g Grid, values []string) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = ShortKey(g.Axes[i].Key) + " " + v
	}
	return strings.Join(words, ", ")
}

// ShortKey is the last part of a key: lr for optimizer.lr.
func ShortKey(key string) string { return key[strings.LastIndex(key, ".")+1:] }

// Experiment has the data open, with all training images, and the config with all its runs.
func (t *Tuner) Experiment() *experiment.Experiment { return t.open[1] }

// Into chooses Options.Out where it was empty, once a tuning is known to be possible.
func (t *Tuner) Into(dir string) { t.opts.Out = dir }

// Notes are for the person, before the first trial.
func (t *Tuner) Notes() []string { return append(t.open[1].Notes(), t.notes...) }

// Run makes all trials that have no result yet, writes a record for each tuning and returns the records, in the order
// of the runs of the config. The same call again continues a tuning that was stopped at any moment, with the same
// choice. A tuning whose points all diverged has a record without a choice. A Tuner runs once. When ctx ends, the
// trials at work write checkpoints, and the error wraps ctx.Err().
func (t *Tuner) Run(ctx context.Context) ([]*Record, error) {
	if err := atomicfile.MakeFolder(t.opts.Out); err != nil {
		return nil, fmt.Errorf("tune: %w. Use --out to choose a folder that can be written", err)
	}
	rungs := t.spec.Search.rungs()
	for i, r := range rungs {
		if i > 0 {
			if err := t.enter(r.share); err != nil {
				return nil, err
			}
		}
		if err := t.runTrials(ctx); err != nil {
			return nil, err
		}
		for _, u := range t.tunings {
			if !u.kept {
				u.judge(i == len(rungs)-1, r)
			}
		}
	}
	var records []*Record
	for _, u := range t.tunings {
		if !u.kept {
			u.fill()
			err := atomicfile.MakeFolder(filepath.Dir(t.path(u)))
			if err == nil {
				err = u.record.write(t.path(u))
			}
			if err != nil {
				return records, fmt.Errorf("tune: %w. Make room on the disk, and give the same command again", err)
			}
		}
		records = append(records, &u.record)
	}
	return records, nil
}

// Luck says of each tuning none of whose points did better than guessing may ([metric.Luck]) that its choice says
// nothing. The repetitions of a point have the same test images, so their mean counts as one run. Call it after Run.
func (t *Tuner) Luck() (notes []string) {
	for _, u := range t.tunings {
		if u.classes < 2 || u.images == 0 || u.record.Chosen == nil || u.record.By != "" {
			continue
		}
		luck := float64(metric.Luck(u.images, u.classes)) / float64(u.images)
		if luck == 1 || slices.ContainsFunc(u.record.Points,
			func(p Point) bool { return p.Score != nil && *p.Score > luck+1e-9 }) {
			continue
		}
		notes = append(notes,
			fmt.Sprintf("%s: no point is better than guessing one of %s. Guessing gets %s %%, and up to %s %% by luck with %s. "+
				"So the choice says nothing. Take more images of each class, or try other values with --grid FILE.",
				u.name, count.Of(u.classes, "class"), count.Percent(1/float64(u.classes)), count.Percent(luck),
				count.Of(u.images, "test image")))
	}
	return notes
}

// judge ends a round: it gives up the points that diverged, and in all rounds but the last one those that are not among
// the best.
func (u *unit) judge(last bool, r rung) {
	var in []*point
	entered := 0
	for _, p := range u.points {
		if p.outcome != "" {
			continue
		}
		entered++
		if u.score(p) == nil {
			p.outcome = result.Diverged
			continue
		}
		in = append(in, p)
	}
	if last {
		for _, p := range in {
			p.outcome = result.Finished
		}
		return
	}
	slices.SortStableFunc(in, func(a, b *point) int {
		x, y := *u.score(a), *u.score(b)
		switch {
		case better(u.record.By, x, y):
			return -1
		case better(u.record.By, y, x):
			return 1
		}
		return 0
	})
	for _, p := range in[min(len(in), r.after(entered)):] {
		p.outcome = Stopped
	}
}

// score is the mean score of the last round; nil where a trial diverged.
func (u *unit) score(p *point) *float64 {
	return mean(u.recordsOf(p.rounds[len(p.rounds)-1]))
}

func (u *unit) recordsOf(trials []*trial) []Trial {
	out := make([]Trial, len(trials))
	for i, t := range trials {
		out[i] = Trial{Key: t.job.Key, Share: t.share, Repeat: i, Outcome: t.result.Outcome.State,
			Steps: t.result.Outcome.Step}
		if t.result.Outcome.State == result.Finished {
			out[i].Accuracy = t.result.Metrics.AverageAccuracy
			if u.record.By != "" {
				m, _ := scoredBy(u.record.By)
				out[i].Score = m.Of(t.result.Metrics)
			}
		}
	}
	return out
}

// fill completes the record from the trials.
func (u *unit) fill() {
	u.record.Points, u.record.Steps = nil, 0
	counted := map[string]bool{}
	for _, p := range u.points {
		one := Point{Values: p.values, Outcome: p.outcome, Score: u.score(p)}
		for _, round := range p.rounds {
			one.Trials = append(one.Trials, u.recordsOf(round)...)
		}
		for _, t := range one.Trials {
			if !counted[t.Key] {
				u.record.Steps += t.Steps
			}
			counted[t.Key] = true
		}
		u.record.Points = append(u.record.Points, one)
	}
	u.record.choose()
}
