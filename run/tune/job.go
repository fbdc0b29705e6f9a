package tune

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"ocl"
	"ocl/config"
	"ocl/internal/cause"
	"ocl/run/experiment"
	"ocl/run/identity"
	"ocl/run/result"
)

// Folder is the name of the folder, in that of a tuned run, with its record and its trials.
const Folder = "tuning"

// Trials is the name of the folder of trials in that of a tuning.
const Trials = "trials"

// Job is a run that is tuned before it is made, as a study knows it: nothing is tried yet.
type Job struct {
	Key    string         // result.Tuning.Key of the result that it will have
	Tuning string         // key of the tuning; runs with the same one share its choice
	Before experiment.Job // the run with the first values of the grid
	Folder string         // the name of its folder
	Trials int            // of all rounds; those of later rounds are estimated
	Steps  int            // of the trials
	FLOPs  float64        // of the trials

	spec Spec // a file is read once
	grid Grid
	run  config.Config // without Tune
	of   config.Config // that is tried
}

// Jobs are the runs of a config that asks for tuning, which has one method with its tricks. x has its data open. The
// experiment that is returned has the runs with the first values of the grid.
func Jobs(x *experiment.Experiment, c config.Config) (*experiment.Experiment, []Job, error) {
	schema := experiment.Schema()
	if err := schema.Validate(c); err != nil {
		return nil, nil, err
	}
	spec, err := SpecOf(c.Tune)
	if err != nil {
		return nil, nil, err
	}
	return jobsOf(x, c, spec)
}

// jobsOf are [Jobs] whose grid was read.
func jobsOf(x *experiment.Experiment, c config.Config, spec Spec) (*experiment.Experiment, []Job, error) {
	schema, of := experiment.Schema(), tried(c)
	plain := c.Clone()
	plain.Tune = config.Tune{}
	runs, tries := schema.Runs(plain), schema.Runs(spec.tuning(of))
	grid, err := spec.of(tries[0])
	if err != nil {
		return nil, nil, cause.As(err, ErrGrid)
	}
	before, err := withValues(x, runs[0], len(runs), grid, grid.first(), experiment.Options{})
	if err != nil {
		return nil, nil, err
	}
	trying, err := withValues(x, tries[0], len(tries), grid, grid.first(), experiment.Options{})
	if err != nil {
		return nil, nil, err
	}
	first := trying.Jobs()
	plan, err := trying.Plan(first[0])
	if err != nil {
		return nil, nil, err
	}
	repeats := spec.repeats(tries[0])
	var jobs []Job
	for i, run := range before.Jobs() {
		seeded, of := of.Clone(), first[i%len(first)]
		seeded.Seed, seeded.Runs = of.Seed, 1
		search := spec.Search.of(of.Seed)
		points, err := search.points(grid)
		if err != nil {
			return nil, nil, cause.As(err, ErrGrid)
		}
		trials, whole := search.effort(len(points), repeats)
		j := Job{Before: run, Trials: trials,
			Tuning: identity.TuningKey(of.Key, grid.Digest(), search.text(), repeats, spec.By),
			Steps:  int(whole * float64(plan.Steps)), FLOPs: whole * plan.FLOPs(),
			spec: spec, grid: grid, run: runs[i], of: seeded}
		j.Key = identity.TunedKey(run.Key, j.Tuning)
		j.Folder = folderOf(run, j.Key)
		jobs = append(jobs, j)
	}
	return before, jobs, nil
}

// withValues is an experiment over the data that x has open: n runs of the seeds from that of run on, with values of a
// grid.
func withValues(x *experiment.Experiment, run config.Config, n int, g Grid, values []string,
	o experiment.Options) (*experiment.Experiment, error) {
	c, base := run.Clone(), x.Config()
	c.Runs, c.Data, c.Network.Init = n, base.Data, base.Network.Init
	if err := g.set(&c, values); err != nil {
		return nil, err
	}
	y, err := x.With(c, o)
	if err != nil {
		return nil, fmt.Errorf("tune: %s s%d with %s: %w", c.Methods[0], c.Seed, pointText(g, values), err)
	}
	return y, nil
}

// chosen is the job's run with the values that o.Tuning has chosen.
func (j Job) chosen(x *experiment.Experiment, o experiment.Options) (*experiment.Experiment, experiment.Job, error) {
	if values := o.Tuning.Chosen; len(values) != len(j.grid.Axes) {
		return nil, experiment.Job{}, fmt.Errorf("tune: %s: the choice has %d values, but the grid has %d keys. Remove the result that it comes from",
			j.Folder, len(values), len(j.grid.Axes))
	}
	y, err := withValues(x, j.run, 1, j.grid, o.Tuning.Chosen, o)
	if err != nil {
		return nil, experiment.Job{}, err
	}
	return y, y.Jobs()[0], nil
}

// RunAt tunes a job's run and then makes it, at a place that the caller guards. Its record and its trials are in the
// folder [Folder] there. x has the data open. chosen is nil, or what the tuning of another run with the same key has
// chosen, which is then not done again. The result is nil if ctx ended before the run has begun. If all points
// diverged, the error wraps [ErrNothingChosen]. The events of the place hear of the trials, too: their jobs have the
// protocol tuning, with their place among the trials, and other keys than the run.
func (j Job) RunAt(ctx context.Context, chosen *result.Tuning, at experiment.RunIn, x *experiment.Experiment,
	o experiment.Options) (*result.Result, error) {
	var block result.Tuning
	if chosen != nil {
		block = *chosen
	} else {
		trials := o
		trials.Out, trials.Workers, trials.Concurrency = filepath.Join(at.Folder, Folder), at.Workers, 1
		t, err := Open(ctx, j.of, j.spec, Options{Options: trials, Data: x, Guarded: true,
			Events: func(r Running) experiment.Events {
				ev := at.Events
				if begin := ev.Begin; begin != nil {
					ev.Begin = func(trial experiment.Job, info ocl.StreamInfo, plan experiment.Plan) {
						trial.Index, trial.Total = r.Index, r.Total
						begin(trial, info, plan)
					}
				}
				return ev
			}})
		if err != nil {
			return nil, err
		}
		records, err := t.Run(ctx)
		if err != nil {
			return nil, err
		}
		if records[0].Chosen == nil {
			return nil, fmt.Errorf("tune: %s: %w. Use a grid with smaller learning rates", t.tunings[0].name, ErrNothingChosen)
		}
		block = *records[0].block("")
	}
	block.Key = j.Key
	o.Tuning = &block
	y, run, err := j.chosen(x, o)
	if err != nil {
		return nil, err
	}
	return y.RunJob(ctx, run, at)
}

// ErrNothingChosen is wrapped by errors about tunings whose points all diverged.
var ErrNothingChosen = errors.New("all points diverged, so nothing is chosen")
