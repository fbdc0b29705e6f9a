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
	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/experiment"
	"ocl/run/result"
	"ocl/run/train"
)

// Tuned is an experiment whose config asks for tuning (config.Tune): each of its runs is tuned on the first two tasks,
// and then a fresh network learns the other tasks with the chosen values.
type Tuned struct {
	tuner *Tuner
	opts  Options
	whole config.Config // with Tune

	diverged []string // names of runs
}

// SpecOf returns the grid, the search and the repetitions that a config asks for. It reads a grid that is a file, and
// fails if that is missing or damaged.
func SpecOf(t config.Tune) (Spec, error) {
	s := Spec{Search: Search{Name: cmp.Or(t.Search, config.SearchGrid), Points: t.Points}, Repeats: t.Repeats}
	if t.By != config.MetricDefault {
		s.By = t.By
	}
	if t.Grid == Paper || t.Grid == Authors {
		s.Grid = t.Grid
		return s, nil
	}
	text, err := input.ReadFile(t.Grid, input.Want{Most: limit.Grid})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, cause.As(fmt.Errorf("tune: %q is neither %s nor %s, and there is no file of that name. Give one of them",
			t.Grid, Paper, Authors), ErrGrid)
	case err != nil:
		return s, cause.As(fmt.Errorf("tune: the grid %s: %w. Give a YAML file of keys and values", cause.Shown(t.Grid),
			cause.Of(err)), ErrGrid)
	}
	g, err := ParseGrid(filepath.Base(t.Grid), text)
	if err != nil {
		return s, cause.As(err, ErrGrid)
	}
	s.File = &g
	return s, nil
}

// OpenTuned opens an experiment whose config asks for tuning. Options.KeepCheckpoint keeps the last checkpoints of its
// runs.
func OpenTuned(ctx context.Context, c config.Config, o Options) (*Tuned, error) {
	c = o.Place(c)
	schema := experiment.Schema()
	if err := schema.Validate(c); err != nil {
		return nil, err
	}
	spec, err := SpecOf(c.Tune)
	if err != nil {
		return nil, err
	}
	d := &Tuned{whole: schema.Resolved(c), opts: o}
	if o.Out != "" {
		if err := d.examine(); err != nil {
			return nil, err
		}
		o.Out = filepath.Join(o.Out, Folder)
	}
	d.tuner, err = Open(ctx, tried(c), spec, o)
	return d, err
}

// tried is the config of the runs on which settings are tried, without [config.Tune].
func tried(c config.Config) config.Config {
	of := c.Clone()
	if of.Tune = (config.Tune{}); c.Tune.Seed != nil {
		of.Seed, of.Runs = *c.Tune.Seed, 1
	}
	return of
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
	old, _, err := experiment.ReadFolder(d.opts.Out, "Choose another --out")
	if err == nil && old != nil {
		if difference := config.Difference(*old, d.whole); difference != "" {
			return fmt.Errorf("tune: %s: the folder has a different experiment: %s. Choose another --out", d.opts.Out,
				difference)
		}
	}
	return err
}

// SetUp makes Options.Out the folder of the experiment.
func (d *Tuned) SetUp() error {
	if err := d.examine(); err != nil {
		return err
	}
	return experiment.WriteConfig(d.opts.Out, d.whole, d.examine)
}

// Run tunes every run and then makes it. It returns the results that there are, in the order of the runs of the config.
// The same call again continues what was stopped at any moment, with the same numbers. A run whose points all diverged
// has no result; [Tuned.Diverged] names it.
func (d *Tuned) Run(ctx context.Context) ([]*result.Result, error) {
	if err := d.SetUp(); err != nil {
		return nil, err
	}
	records, err := d.tuner.Run(ctx)
	if err != nil {
		return nil, err
	}
	base := d.tuner.open[1]
	plain := d.whole.Clone()
	plain.Tune = config.Tune{}
	runs := experiment.Schema().Runs(plain)
	results := make([]*result.Result, len(runs))
	var todo []experiment.Turn
	var running []Running
	for i, run := range runs {
		run.Tune = d.whole.Tune
		_, jobs, err := jobsOf(base, run, d.tuner.spec)
		if err != nil {
			return nil, err
		}
		j := jobs[0]
		name := j.Before.String()
		record := records[i%len(records)] // seed by seed; of tunings by one seed there are as many as runs of a seed
		if record.Chosen == nil {
			d.diverged = append(d.diverged, name)
			continue
		}
		o := d.opts.Options
		o.Tuning = record.block(j.Key)
		x, job, err := j.chosen(base, o)
		if err != nil {
			return nil, err
		}
		plan, err := x.Plan(job)
		if err != nil {
			return nil, err
		}
		place := experiment.RunIn{Folder: filepath.Join(d.opts.Out, j.Folder)}
		found, _ := train.Find(place.Folder) // an error is reported when it runs
		at := len(todo)
		running = append(running, Running{Name: name, Job: job})
		todo = append(todo, experiment.Turn{Plan: plan, Cost: plan.Left(found), Folder: place.Folder,
			Do: func(workers, concurrency int) (err error) {
				place.Workers, place.Concurrent, place.Events = workers, concurrency, todo[at].Events
				results[i], err = x.RunJob(ctx, job, place)
				return err
			}})
	}
	for i, r := range running {
		r.Index, r.Total = len(d.tuner.order)+i, len(d.tuner.order)+len(todo)
		if d.opts.Events != nil {
			todo[i].Events = d.opts.Events(r)
		}
	}
	errs, err := experiment.RunAll(ctx, todo, d.opts.Workers, d.opts.Concurrency)
	if err != nil {
		return nil, err
	}
	results = slices.DeleteFunc(results, func(r *result.Result) bool { return r == nil })
	if ctx.Err() != nil {
		errs = append(errs, fmt.Errorf("tune: interrupted. Continue with `ocl run --resume %s`: %w", d.opts.Out, ctx.Err()))
	}
	return results, errors.Join(errs...)
}

// Diverged names the runs that could not be made, as all points of their tuning diverged.
func (d *Tuned) Diverged() []string { return d.diverged }

// folderOf names the folder of a run by the key that it has before its tuning.
func folderOf(job experiment.Job, key string) string {
	return job.Folder[:strings.LastIndex(job.Folder, "-")+1] + key[:8]
}

// block returns the part of a result that describes a tuning which has chosen a point.
func (r *Record) block(key string) *result.Tuning {
	b := &result.Tuning{Key: key, Grid: r.Grid.Name, GridDigest: r.Grid.Digest, Search: r.Search.Name,
		By: r.By, Repeats: r.Repeats, Steps: r.Steps, Chosen: r.Points[*r.Chosen].Values}
	for _, a := range r.Grid.Axes {
		b.Keys = append(b.Keys, a.Key)
	}
	for _, p := range r.Points {
		b.Points = append(b.Points, result.TuningPoint{Values: p.Values, Outcome: p.Outcome, Score: p.Score})
	}
	return b
}
