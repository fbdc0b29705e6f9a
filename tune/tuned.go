package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"ocl/config"
	"ocl/experiment"
	"ocl/experiment/identity"
	"ocl/experiment/result"
	"ocl/experiment/train"
	"ocl/internal/cause"
)

// Tuned is an experiment whose config asks for tuning (config.Tune): each of its runs is tuned on the first two tasks, and then a fresh
// network learns the other tasks with the chosen values.
type Tuned struct {
	tuner *Tuner
	opts  Options
	whole config.Config   // with Tune
	runs  []config.Config // without, before tuning
	keep  bool

	diverged []string // names of runs
}

// SpecOf is what a config wants to have tried. A grid that is a file is read.
func SpecOf(t config.Tune) (Spec, error) {
	s := Spec{Search: Search{Name: cmp.Or(t.Search, SearchGrid), Points: t.Points}, Repeats: t.Repeats}
	if t.Grid == Paper || t.Grid == Authors {
		s.Grid = t.Grid
		return s, nil
	}
	file, err := os.Open(t.Grid)
	if err != nil {
		return s, cause.As(fmt.Errorf("tune: %q is neither %s nor %s, and no file of that name can be read. Give one of them", t.Grid, Paper, Authors), ErrGrid)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 2*maxBytes))
	if err != nil {
		return s, fmt.Errorf("tune: %w. Give a YAML file of keys and values", err)
	}
	g, err := ParseGrid(filepath.Base(t.Grid), text)
	if err != nil {
		return s, cause.As(err, ErrGrid)
	}
	s.File = &g
	return s, nil
}

// OpenTuned opens an experiment whose config asks for tuning. keep keeps the last checkpoints of its runs; those of trials are removed.
func OpenTuned(ctx context.Context, c config.Config, keep bool, o Options) (*Tuned, error) {
	schema := experiment.Schema()
	if err := schema.Validate(c); err != nil {
		return nil, err
	}
	if o.DataDir != "" {
		c.Data.Dir = o.DataDir
	}
	if o.Init != "" {
		c.Network.Init = o.Init
	}
	spec, of, err := wanted(c)
	if err != nil {
		return nil, err
	}
	plain := c.Clone()
	plain.Tune = config.Tune{}
	d := &Tuned{whole: schema.Resolved(c), opts: o, runs: schema.Runs(plain), keep: keep}
	if o.Out != "" {
		if err := d.examine(); err != nil {
			return nil, err
		}
		o.Out = filepath.Join(o.Out, Folder)
	}
	d.tuner, err = Open(ctx, of, spec, o)
	return d, err
}

// wanted is what a config wants to have tried, and the config of the runs on which it is tried, without [config.Tune].
func wanted(c config.Config) (spec Spec, of config.Config, err error) {
	if spec, err = SpecOf(c.Tune); err != nil {
		return spec, of, err
	}
	of = c.Clone()
	if of.Tune = (config.Tune{}); c.Tune.Seed != nil {
		of.Seed, of.Runs = *c.Tune.Seed, 1
	}
	return spec, of, nil
}

// Into chooses Options.Out where it was empty.
func (d *Tuned) Into(dir string) {
	d.opts.Out = dir
	d.tuner.Into(filepath.Join(dir, Folder))
}

// Tuner is the tuning of all runs.
func (d *Tuned) Tuner() *Tuner { return d.tuner }

// examine refuses a folder that has anything but this experiment.
func (d *Tuned) examine() error {
	entries, err := os.ReadDir(d.opts.Out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("tune: %w. Choose another --out", err)
	}
	text, err := os.ReadFile(filepath.Join(d.opts.Out, experiment.ConfigFile))
	switch {
	case errors.Is(err, fs.ErrNotExist) && experiment.OnlyOurs(entries):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("tune: %s: the folder has other files and no %s. Choose another --out", d.opts.Out, experiment.ConfigFile)
	case err != nil:
		return fmt.Errorf("tune: %w. Choose another --out", err)
	}
	old, err := experiment.Schema().Parse(experiment.ConfigFile, text)
	if err != nil {
		return fmt.Errorf("tune: %s: its %s cannot be read: %w. Choose another --out", d.opts.Out, experiment.ConfigFile, err)
	}
	if difference := config.Difference(old, d.whole); difference != "" {
		return fmt.Errorf("tune: %s: the folder has a different experiment: %s. Choose another --out", d.opts.Out, difference)
	}
	return nil
}

// SetUp makes Options.Out the folder of the experiment.
func (d *Tuned) SetUp() error {
	if err := d.examine(); err != nil {
		return err
	}
	return experiment.WriteConfig(d.opts.Out, d.whole, d.examine)
}

// Run tunes every run and then makes it. It returns the results that there are, in the order of the runs of the config. The same call again
// continues what was stopped at any moment, with the same numbers. A run whose points all diverged has no result; [Tuned.Diverged] names it.
func (d *Tuned) Run(ctx context.Context) ([]*result.Result, error) {
	if err := d.SetUp(); err != nil {
		return nil, err
	}
	records, err := d.tuner.Run(ctx)
	if err != nil {
		return nil, err
	}
	var todo []*tunedRun
	var errs []error
	for i := range d.runs {
		n := i % len(records) // seed by seed; of tunings by one seed there are as many as runs of a seed
		one, err := d.chosen(i, n, records[n])
		if err != nil {
			return nil, err
		}
		if one.job.Key == "" {
			d.diverged = append(d.diverged, one.name)
			continue
		}
		todo = append(todo, one)
	}
	errs = append(errs, d.runAll(ctx, todo)...)
	var results []*result.Result
	for _, one := range todo {
		if one.result != nil {
			results = append(results, one.result)
		}
	}
	if ctx.Err() != nil {
		errs = append(errs, fmt.Errorf("tune: interrupted. Continue with `ocl run --resume %s`: %w", d.opts.Out, ctx.Err()))
	}
	return results, errors.Join(errs...)
}

// Diverged names the runs that could not be made, as all points of their tuning diverged.
func (d *Tuned) Diverged() []string { return d.diverged }

// tunedRun is a run with its chosen values.
type tunedRun struct {
	x      *experiment.Experiment
	job    experiment.Job
	folder string
	name   string
	cost   float64
	result *result.Result
}

// chosen is run i with the values that tuning n has chosen, without a job if it has chosen nothing.
func (d *Tuned) chosen(i, n int, r *Record) (*tunedRun, error) {
	base, grid := d.tuner.open[1], d.tuner.tunings[n].grid
	_, before, err := withValues(base, d.runs[i], grid, grid.first(), experiment.Options{})
	if err != nil {
		return nil, err
	}
	one := &tunedRun{name: fmt.Sprintf("%s s%d", before.Name(), before.Seed)}
	if r.Chosen == nil {
		return one, nil
	}
	block := r.block(identity.TunedKey(before.Key, r.Key))
	one.x, one.job, err = withValues(base, d.runs[i], grid, block.Chosen, experiment.Options{CheckpointEvery: d.opts.CheckpointEvery, KeepCheckpoint: d.keep,
		Program: d.opts.Program, Revision: d.opts.Revision, Command: d.opts.Command, Tuning: block})
	if err != nil {
		return nil, err
	}
	one.folder = filepath.Join(d.opts.Out, folderOf(one.job, block.Key))
	plan, err := one.x.Plan(one.job)
	if err != nil {
		return nil, err
	}
	if found, err := train.Find(one.folder); err == nil { // an error is reported when it runs
		one.cost = plan.Left(found)
	}
	return one, nil
}

// folderOf names the folder of a run by the key that it has before its tuning.
func folderOf(job experiment.Job, key string) string {
	return job.Folder[:strings.LastIndex(job.Folder, "-")+1] + key[:8]
}

// withValues is the experiment of a run with values of a grid, over the data that x has open.
func withValues(x *experiment.Experiment, run config.Config, g Grid, values []string, o experiment.Options) (*experiment.Experiment, experiment.Job, error) {
	c, base := run.Clone(), x.Config()
	c.Data, c.Network.Init = base.Data, base.Network.Init
	if err := g.set(&c, values); err != nil {
		return nil, experiment.Job{}, err
	}
	y, err := x.With(c, o)
	if err != nil {
		return nil, experiment.Job{}, fmt.Errorf("tune: %s s%d: %w", c.Methods[0], c.Seed, err)
	}
	return y, y.Jobs()[0], nil
}

// block is what results say of a tuning that has chosen something.
func (r *Record) block(key string) *result.Tuning {
	b := &result.Tuning{Key: key, Grid: r.Grid.Name, GridDigest: r.Grid.Digest, Search: r.Search.Name,
		Repeats: r.Repeats, Steps: r.Steps, Chosen: r.Points[*r.Chosen].Values}
	for _, a := range r.Grid.Axes {
		b.Keys = append(b.Keys, a.Key)
	}
	for _, p := range r.Points {
		b.Points = append(b.Points, result.TuningPoint{Values: p.Values, Outcome: p.Outcome, Score: p.Score})
	}
	return b
}

// runAll makes the runs, several at a time if the last one then ends sooner.
func (d *Tuned) runAll(ctx context.Context, runs []*tunedRun) []error {
	costs := make([]float64, len(runs))
	for i, one := range runs {
		costs[i] = one.cost
	}
	workers, concurrency := experiment.Share(runtime.GOMAXPROCS(0), costs, d.opts.Workers, d.opts.Concurrency)
	errs := make([]error, len(runs))
	each(ctx, len(runs), concurrency, func(i int) {
		one := runs[i]
		place := experiment.RunIn{Folder: one.folder, Workers: workers, Concurrent: concurrency}
		if d.opts.Events != nil {
			trials := len(d.tuner.order)
			place.Events = d.opts.Events(Running{one.name, trials + i, trials + len(runs), one.job})
		}
		one.result, errs[i] = one.x.RunJob(ctx, one.job, place)
	})
	return errs
}
